/* Keys, focus, copying, theme. Nothing here builds HTML; every page works without it. */
"use strict";

const root = document.documentElement;
const announcer = document.getElementById("announce");

function announce(sentence) {
  announcer.textContent = "";
  window.setTimeout(() => { announcer.textContent = sentence; }, 50);
}

/* Theme: the system's, light, dark. theme.js applies it before the first paint. */

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
  try {
    if (next === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch (refused) {
    /* Storage is switched off: the choice lasts as long as the page. */
  }
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
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

/* Keys: j and k walk through rows, ? lists the keys, data-key="a" is pressed by a. Enter is the browser's own. */

function rows() {
  const table = document.querySelectorAll("[data-rows] > *, table[data-rows] > tbody > tr");
  return [...table].filter((row) => row.tagName !== "TBODY" && row.tagName !== "THEAD" && row.querySelector("a[href]"));
}

function walk(step) {
  const all = rows();
  const here = all.findIndex((row) => row.contains(document.activeElement));
  const row = all[here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step];
  if (!row) return;
  row.querySelector("a[href]").focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

function isTyping(target) {
  return target.isContentEditable || target.closest("textarea, select, input:not([type=checkbox], [type=radio], [type=submit])");
}

function showKeys() {
  const dialog = document.getElementById("keys");
  if (dialog && !dialog.open) dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("details[data-menu][open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  const control = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (control) {
    event.preventDefault();
    if (event.repeat) return;
    const fold = control.matches("summary") ? null : control.closest("details:not([open])");
    if (fold) fold.open = true;
    if (control.matches("input, textarea, select")) control.focus();
    else control.click();
  } else if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (event.key === "?") showKeys();
});

/* After a swap: focus stays, or goes to what asks for it; what changed is said aloud. */

let focused = "";

document.addEventListener("htmx:beforeSwap", () => {
  focused = document.activeElement ? document.activeElement.id : "";
});

document.addEventListener("htmx:afterSettle", (event) => {
  const lost = !document.activeElement || document.activeElement === document.body;
  const target = event.target.querySelector("[data-focus]") || (lost && document.getElementById(focused));
  if (target) target.focus({ preventScroll: true });
  const spoken = event.target.closest("[data-announce]") || event.target.querySelector("[data-announce]");
  if (spoken) announce(spoken.dataset.announce);
});

function showFailure() {
  document.getElementById("failed").hidden = false;
}

document.addEventListener("htmx:responseError", showFailure);
document.addEventListener("htmx:sendError", showFailure);

/* Deep links: #r-<record> that is on another part of a long page is asked for once. */

function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return;
  const target = document.getElementById(id);
  if (target) {
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
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
