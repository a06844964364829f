/* A sample on the screen: what is typed is saved by the server while it is typed, the reply and its box take turns,
   o opens the next tool call, Ctrl+Enter approves. The server makes all HTML; without this file the form posts what is in it. */
"use strict";

const SAVE_MS = 500; /* what was typed is sent this long after the first key that was not sent yet */
const RETRY_MS = 2000;
const SMALL = 10000; /* characters that a browser still sends from a page that is left */

let line = Promise.resolve(); /* what is sent goes one after the other, in the order of the presses */
let saving = null;
let underWay = 0;

const sampleNode = () => document.querySelector("[data-draft]");
const verdictForm = () => document.getElementById("verdict");

function mark(node, state) {
  const chip = node.querySelector("#draft-state");
  if (chip) chip.dataset.state = state;
}

function post(address, body) {
  return fetch(address, { method: "POST", body, headers: { "HX-Request": "true" }, keepalive: isSmall(body) });
}

async function contentOf(answer) {
  const box = document.createElement("template");
  box.innerHTML = await answer.text();
  return box.content;
}

function isSmall(body) {
  return [...body.values()].join("").length < SMALL;
}

/* Sends what was typed on a sample since it was last sent; what fails is typed still, and sent again. */
function saveDraft(node) {
  window.clearTimeout(saving);
  saving = null;
  if (!node || !node.isConnected || !node.dataset.typed) return line;
  delete node.dataset.typed;
  const body = new FormData(verdictForm()); /* now: fields of a form belong to it only while they are in the page */
  underWay += 1;
  line = line.then(() => post(node.dataset.draft, body)).then((answer) => showSaved(node, answer)).catch(() => unsaved(node));
  return line.finally(() => { underWay -= 1; });
}

async function showSaved(node, answer) {
  const found = await contentOf(answer);
  if (!answer.ok || !found.getElementById("draft-state")) throw new Error("not saved"); /* refused, signed out */
  for (const part of [...found.children]) {
    const here = node.querySelector(`#${part.id}`);
    if (here) here.replaceWith(part);
  }
  if (node.dataset.typed) mark(node, "typed");
  document.dispatchEvent(new CustomEvent("draft:saved", { detail: node }));
}

function unsaved(node) {
  node.dataset.typed = "1";
  mark(node, "failed");
  document.dispatchEvent(new CustomEvent("draft:lost", { detail: node }));
  window.clearTimeout(saving);
  saving = window.setTimeout(() => saveDraft(node), RETRY_MS);
}

document.addEventListener("input", (event) => {
  const node = event.target.closest("[data-draft]");
  if (!node || event.target.form !== verdictForm()) return;
  node.dataset.typed = "1";
  mark(node, "typed");
  if (event.target.matches("textarea, [type=text]") && !node.dataset.editing) setEditing(node, "typed");
  const corrected = event.target.closest(".part__corrected")?.closest(".part").querySelector("[value=corrected]");
  if (corrected) corrected.checked = true;
  if (saving === null) saving = window.setTimeout(() => saveDraft(node), SAVE_MS);
});

/* A page that is left cannot wait for its turn. */
function leave() {
  const node = sampleNode();
  if (!node || !node.dataset.typed) return;
  const body = new FormData(verdictForm());
  if (!isSmall(body)) return;
  delete node.dataset.typed;
  post(node.dataset.draft, body).catch(() => { node.dataset.typed = "1"; });
}

window.addEventListener("pagehide", leave);
window.addEventListener("beforeunload", (event) => {
  const node = sampleNode();
  if (!node || !node.dataset.typed) return;
  if (node.querySelector("#draft-state[data-state=failed]") || !isSmall(new FormData(verdictForm()))) event.preventDefault();
});
document.addEventListener("visibilitychange", () => { if (document.hidden) saveDraft(sampleNode()); });
/* A verdict holds all that was typed, and ends the draft; so does discarding it. */
document.addEventListener("submit", (event) => {
  const node = ["verdict", "discard"].includes(event.target.id) && sampleNode();
  if (!node) return;
  window.clearTimeout(saving);
  saving = null;
  delete node.dataset.typed;
  if (!underWay || event.target.dataset.review) return;
  event.preventDefault(); /* else the draft might arrive after its end */
  line.then(() => event.target.requestSubmit(event.submitter));
});

/* Editing: from the key that opens the first field until Escape no key is an action, wherever the focus is: only Ctrl+Enter approves.
   `data-editing`: "field" by that key, "none" where there is no field, "typed" by typing in any field, "moved" when another sample took the place. */

const FIELD = "[data-draft] :is(textarea, input, select), select[form=verdict]";
let opener = ""; /* the key that began it, as long as it is held */

function setEditing(node, state) {
  node.dataset.editing = state;
  announce(document.querySelector(`.editing [data-shown=${state}]`).textContent);
}

function edit(node) {
  const field = node.querySelector("[data-edit]");
  if (field) {
    field.closest(".part")?.classList.add("is-edited");
    openFolds(field);
    reach(field);
  }
  setEditing(node, field ? "field" : "none");
}

function endEditing(node) {
  delete node.dataset.editing;
  node.querySelector(".part.is-edited")?.classList.remove("is-edited");
  node.focus({ preventScroll: true });
  saveDraft(node).then(() => { /* closed once the reply reads as it was typed */
    const box = node.querySelector(".reply__box");
    if (box && !node.dataset.typed && !box.contains(document.activeElement)) box.open = false;
  });
}

document.addEventListener("change", ({ target }) => { /* a key said that a decision is wrong: why? Whoever walks through the choices stays there */
  if (target.matches("[name=gate_label]:not([value=correct])") && document.activeElement !== target) reach(document.querySelector("[name=gate_reason]"));
});

/* Whether a key was for the fields of a sample; what follows hears of no such key. */
function isForFields(event, node) {
  const field = event.target.closest(FIELD);
  const state = node.dataset.editing;
  if (event.isComposing || event.keyCode === 229) return field || state; /* of an input method */
  if (event.key === "Enter" && field && !field.matches("textarea")) event.preventDefault(); /* would send the form */
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && (field || ["field", "typed"].includes(state))) {
    event.preventDefault();
    if (!event.repeat) document.querySelector("[form=verdict][value=approved]").click();
  } else if (event.key === "Escape" && (field || state)) {
    endEditing(node);
  } else if (event.repeat && event.code === opener) {
    event.preventDefault();
  } else if (keyOf(event) === node.dataset.editKey && !state && !event.repeat && isShortcut(event)) {
    event.preventDefault();
    opener = event.code;
    edit(node);
  } else return state;
  return true;
}

document.addEventListener("keydown", (event) => {
  const node = sampleNode();
  if (node && !document.querySelector("dialog[open]") && isForFields(event, node)) event.stopImmediatePropagation();
}, { capture: true });
document.addEventListener("keyup", () => { opener = ""; });

/* A button or a way to the next sample that has the focus is pressed by keys as well. */
document.addEventListener("click", (event) => {
  const state = sampleNode()?.dataset.editing;
  if (!state || state === "typed" || event.detail || !event.isTrusted || !event.target.closest("button, [rel=next], [rel=prev]")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  setEditing(sampleNode(), state);
}, { capture: true });

/* The event comes late: whoever has gone on to somewhere else meanwhile is left there. */
document.addEventListener("toggle", (event) => {
  if (!event.target.matches(".reply__box[open]")) return;
  const here = document.activeElement;
  if (here !== document.body && !event.target.contains(here)) return;
  reach(event.target.querySelector("textarea"));
}, { capture: true });

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-open-next]")) return;
  const next = document.querySelector(".doings .call:not([open])");
  if (!next) return;
  next.open = true;
  reach(next.querySelector("summary"), next);
});

/* What is selected in the question or the reply is the text of a finding that is added. */
document.addEventListener("submit", (event) => {
  const selection = window.getSelection();
  const part = selection.anchorNode?.parentElement?.closest("[data-part]");
  if (!event.target.matches("[data-selection]") || !part || selection.isCollapsed) return;
  event.target.elements.text.value = selection.toString();
  event.target.elements.part.value = part.dataset.part;
});
