/* Keys, focus, copying, theme, charts. Nothing here builds HTML; every page works without it. */
"use strict";

const root = document.documentElement;
const announcer = document.getElementById("announce");

function announce(sentence) {
  announcer.textContent = "";
  window.setTimeout(() => { announcer.textContent = sentence; }, 50);
}

/* Theme: the system's, light, dark. The server keeps it and writes it into the page. */

const THEMES = ["system", "light", "dark"];

function showTheme(button) {
  const state = root.dataset.theme || "system";
  const label = button.dataset["label" + state[0].toUpperCase() + state.slice(1)];
  button.dataset.state = state;
  button.setAttribute("aria-label", label);
  button.title = label;
  return label;
}

function nextTheme(button) {
  const next = THEMES[(THEMES.indexOf(button.dataset.state) + 1) % THEMES.length];
  if (next === "system") delete root.dataset.theme;
  else root.dataset.theme = next;
  window.htmx.ajax("POST", button.dataset.themeSwitch, { source: button, values: { theme: next === "system" ? "" : next }, swap: "none" });
  announce(showTheme(button));
}

for (const button of document.querySelectorAll("[data-theme-switch]")) {
  button.hidden = false;
  showTheme(button);
  button.addEventListener("click", () => nextTheme(button));
}

/* Copying: data-copy holds the text, data-copy-from the id of the element that does. */

async function copy(button) {
  const source = document.getElementById(button.dataset.copyFrom || "");
  try {
    await navigator.clipboard.writeText(source ? source.textContent : button.dataset.copy || "");
  } catch (refused) {
    if (source) window.getSelection().selectAllChildren(source);
    return;
  }
  button.classList.add("is-done");
  announce(button.dataset.done);
  window.setTimeout(() => button.classList.remove("is-done"), 1500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (button) copy(button);
  if (event.target.closest("[data-shows-keys]")) showKeys();
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

/* Keys: j and k walk through rows, n and p through the changed places of a diff, data-key="/ f" is pressed by / and by f, data-row-key="r" by r in its row, ? lists what does something here. Enter is the browser's own. */

const ROW_LINK = "a[href]:not(.doc__text a)"; /* a document may hold links of its own, which are not where its rows lead */
const ROWS = `[data-rows] > :not(tbody, thead):has(${ROW_LINK}), table[data-rows] > tbody > tr:has(${ROW_LINK})`;
const STEPS = { j: [1, ROWS], k: [-1, ROWS], n: [1, "[data-hunk]", "start"], p: [-1, "[data-hunk]", "start"] };
const pressedBy = (key) => `[data-key~="${CSS.escape(key)}"]`;

function reach(target, shown = target, block = "nearest") {
  target.focus({ preventScroll: true });
  shown.scrollIntoView({ block });
}

function openFolds(node) {
  for (let fold = node.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

function walk(step, rows, block) {
  const all = [...document.querySelectorAll(rows)];
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step];
  if (row) reach(row.querySelector(ROW_LINK), row, block);
}

function isTyping(target) {
  return target.isContentEditable || target.closest("textarea, select, input:not([type=checkbox], [type=radio], [type=submit])");
}

/* What a key means without Caps Lock. */
function keyOf(event) {
  if (event.key.length > 1 || !event.getModifierState("CapsLock")) return event.key;
  return event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
}

function isShortcut(event) {
  return !event.isComposing && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target) && !document.querySelector("dialog[open]");
}

function showKeys() {
  const dialog = document.getElementById("keys");
  for (const term of dialog.querySelectorAll("dt")) {
    const keys = [...term.querySelectorAll("kbd")].map((key) => pressedBy(key.textContent));
    term.hidden = term.nextElementSibling.hidden = !document.querySelector(term.dataset.when || keys.join());
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details[data-menu][open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
  if (!isShortcut(event)) return;
  const key = keyOf(event);
  const row = document.activeElement.closest("tr");
  const find = () => row?.querySelector(`[data-row-key="${CSS.escape(key)}"]`) || document.querySelector(pressedBy(key));
  if (isAwaited(key)) {
    event.preventDefault();
    if (!event.repeat) waiting.push({ key, find });
    return;
  }
  const control = find();
  if (control) {
    event.preventDefault();
    if (!event.repeat) press(control);
  } else if (key in STEPS) walk(...STEPS[key]);
});

document.addEventListener("click", (event) => event.target.closest("[data-dismiss]")?.closest(".notice").remove());

/* While an answer is under way that changes what keys press (hx-indicator names an element with those in data-waits), they wait in their order; a refusal of it ends them, that of something else does not. */

const waiting = [];
const isAwaited = (key) => document.querySelector(`.htmx-request[data-waits~="${CSS.escape(key)}"]`);
function press(control) {
  if (!control.matches("summary")) openFolds(control);
  if (control.dataset.mode) control.form.elements.mode.value = control.dataset.mode; /* the field is shown in this mode only */
  if (control.matches("input, textarea, select")) control.focus();
  else control.click();
  if (control.matches("label:has([value=corrected])")) control.closest("section").querySelector(".part__corrected :is(select, input, textarea)").focus(); /* what is right is to be entered */
}

document.addEventListener("htmx:afterRequest", (event) => {
  const refused = !event.detail.successful || event.detail.xhr.status === 422;
  if (refused && !isAwaited(waiting[0]?.key)) waiting.length = 0;
  while (waiting.length && !isAwaited(waiting[0].key)) {
    const control = waiting.shift().find();
    if (control) press(control);
  }
});

/* A part of an answer whose place has left the page (a list shows other rows by now) is left out. */

document.addEventListener("htmx:beforeSwap", (event) => {
  focused = document.activeElement ? document.activeElement.id : "";
  const answer = document.createElement("template");
  answer.innerHTML = event.detail.serverResponse;
  const gone = [...answer.content.querySelectorAll("[hx-swap-oob][id]")].filter((part) => !document.getElementById(part.id));
  for (const part of gone) part.remove();
  if (gone.length) event.detail.serverResponse = answer.innerHTML;
});

/* After a swap: focus stays, or goes to what asks for it; what changed is said aloud. */

let focused = "";

document.addEventListener("htmx:afterSettle", (event) => {
  const lost = !document.activeElement || document.activeElement === document.body;
  const target = event.target.querySelector("[data-focus]") || (lost && document.getElementById(focused));
  if (target) target.focus({ preventScroll: true });
  const spoken = event.target.closest("[data-announce]") || event.target.querySelector("[data-announce]");
  if (spoken) announce(spoken.dataset.announce);
});

const showFailure = () => (document.getElementById("failed").hidden = false);

document.addEventListener("htmx:responseError", showFailure);
document.addEventListener("htmx:sendError", showFailure);
/* Hidden again once something that a person pressed works; what a page asks for by itself says nothing of that. */
document.addEventListener("htmx:afterRequest", (event) => {
  const { successful, requestConfig } = event.detail;
  if (successful && ["click", "submit"].includes(requestConfig.triggeringEvent?.type)) document.getElementById("failed").hidden = true;
});

/* Deep links: #r-<record> that is on another part of a long page is asked for once. */

function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return;
  const target = document.getElementById(id);
  if (target) {
    openFolds(target);
    const own = target.querySelector("details");
    if (own && target.matches("[data-open-target]")) own.open = true;
    return;
  }
  const asked = new URLSearchParams(location.search);
  if (id.startsWith("r-") && asked.get("record") !== id.slice(2)) {
    location.replace(location.pathname + "?record=" + encodeURIComponent(id.slice(2)) + "#" + encodeURIComponent(id));
  }
}

window.addEventListener("hashchange", openTarget);
openTarget();

/* The browser's time zone, in which the server shows times from the next page on. */

document.cookie = `openclaw_web_zone=${Intl.DateTimeFormat().resolvedOptions().timeZone};path=/;max-age=31536000;samesite=lax`;

/* Charts and the map of a session by keyboard: one tab stop each; arrows, Home and End go from point to point. */

const POINTS = ".chart__point, .map a";

function onePlaceToStop(chart) {
  const points = [...chart.querySelectorAll(POINTS)];
  const stop = chart.querySelector(".map [tabindex='0']") || points[points.length - 1];
  for (const point of points) point.setAttribute("tabindex", point === stop ? "0" : "-1");
}

function stepInChart(event) {
  const chart = event.target.closest("[data-points]");
  if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
  const points = [...chart.querySelectorAll(POINTS)];
  const here = points.indexOf(event.target.closest(POINTS));
  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -here, End: points.length - 1 - here };
  if (here < 0 || !(event.key in steps)) return;
  event.stopPropagation(); /* the arrows may mean something on the page */
  const next = points[here + steps[event.key]];
  if (!next) return;
  event.preventDefault();
  points[here].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

/* Of tabs that do not fit into their line, the current one is in sight. */
const inSight = (tab) => { tab.closest(".tabs").scrollLeft = tab.offsetLeft - tab.closest(".tabs").offsetLeft - 24; };
const arrange = (part) => { part.querySelectorAll("[data-points]").forEach(onePlaceToStop); part.querySelectorAll(".tabs > :not(.places__related) > [aria-current]").forEach(inSight); };
arrange(document);
document.addEventListener("htmx:load", (event) => arrange(event.target));
document.addEventListener("keydown", stepInChart, { capture: true });

/* A field with data-narrows leaves of that list the lines that contain its words. */

document.addEventListener("input", (event) => {
  const list = document.getElementById(event.target.dataset.narrows || "");
  if (!list) return;
  const words = event.target.value.trim().toLowerCase();
  for (const line of list.children) line.hidden = !line.textContent.toLowerCase().includes(words);
});
