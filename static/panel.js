/* The panel beside a list: the page of the chosen row. A click on a row or o opens it, o again goes into it, j and k walk and it follows, Escape closes it; Enter and every link lead to the page itself. */
"use strict";

const panel = document.getElementById("panel");
const panelBody = document.getElementById("panel-body");
const isWide = window.matchMedia("(min-width: 1100px)");
const ADDRESSES = ["href", "action", "formaction", "hx-get", "hx-post"];
let shownRow = null;
let waitingToShow = 0;

const rowOf = (node) => node instanceof Element && node.closest(`table[data-rows] > tbody > tr:has(${ROW_LINK})`);

function closePanel() {
  shownRow?.removeAttribute("aria-current");
  shownRow = null;
  panel.hidden = true;
  root.classList.remove("has-panel");
  panelBody.replaceChildren();
}

/* Addresses of the page, which may be relative to it, lead to the same places from here. */
function placeAddresses(part, address) {
  for (const form of part.querySelectorAll("form:not([action])")) form.setAttribute("action", "");
  for (const name of ADDRESSES) {
    for (const node of part.querySelectorAll(`[${name}]`)) node.setAttribute(name, new URL(node.getAttribute(name), address).href);
  }
}

async function showRow(row) {
  const link = row && row.querySelector(ROW_LINK);
  if (!link || row === shownRow || !isWide.matches) return;
  shownRow?.removeAttribute("aria-current");
  shownRow = row;
  row.setAttribute("aria-current", "true");
  const answer = await fetch(link.href).catch(() => null);
  if (answer?.redirected) { /* signed out meanwhile */
    location.assign(link.href);
    return;
  }
  const text = answer?.ok ? await answer.text() : "";
  if (row !== shownRow) return; /* another row was chosen meanwhile */
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.getElementById("main");
  if (!main) {
    closePanel();
    showFailure();
    return;
  }
  if (main.querySelector("#list-part")) { /* the row leads to a list of its own */
    location.assign(link.href);
    return;
  }
  for (const sheet of page.querySelectorAll("link[rel=stylesheet]")) {
    if (!document.querySelector(`link[href="${sheet.getAttribute("href")}"]`)) document.head.append(sheet);
  }
  placeAddresses(main, link.href);
  for (const bar of main.querySelectorAll("nav")) bar.remove();
  document.getElementById("panel-open").href = link.href;
  panelBody.replaceChildren(...main.childNodes);
  panelBody.scrollTop = 0;
  panel.hidden = false;
  root.classList.add("has-panel");
  window.htmx.process(panelBody);
  announce(panelBody.querySelector("h1")?.textContent.trim() || "");
}

document.addEventListener("click", (event) => {
  if (!event.target.closest("a, button, input, label, select, summary, textarea") && !String(window.getSelection())) showRow(rowOf(event.target));
});
document.getElementById("panel-close").addEventListener("click", closePanel);
document.addEventListener("keydown", (event) => {
  const row = rowOf(document.activeElement);
  if (event.key === "Escape" && !panel.hidden && !document.querySelector("dialog[open]")) {
    if (panel.contains(document.activeElement)) shownRow.querySelector(ROW_LINK).focus();
    closePanel();
  } else if (event.key === "o" && isShortcut(event) && row === shownRow && row) document.getElementById("panel-open").focus();
  else if (event.key === "o" && isShortcut(event)) showRow(row);
});
document.addEventListener("focusin", (event) => {
  window.clearTimeout(waitingToShow);
  const row = rowOf(event.target);
  if (row && !panel.hidden) waitingToShow = window.setTimeout(showRow, 150, row);
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "list-part") closePanel();
});
