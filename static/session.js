/* The session page: jumps by key, and records that arrive while it is open. Nothing here builds HTML. */
"use strict";

const transcript = document.getElementById("transcript");

/* Jumps: within what is loaded first, then to the server's own answer to “the next one”. */

const MARKS = {
  turn: ".turn[id] > .turn__head h2 a",
  error: ".call--failed > summary, .record--failed > .record__gutter",
  compaction: ".record--compaction > .record__gutter",
  tool: ".call > summary",
};
const JUMPS = { n: ["turn", 1], p: ["turn", -1], e: ["error", 1], E: ["error", -1], c: ["compaction", 1],
                C: ["compaction", -1], t: ["tool", 1], T: ["tool", -1] };

function ahead(kind, step) {
  const marks = [...transcript.querySelectorAll(MARKS[kind])];
  const here = document.activeElement;
  if (here && here !== transcript && transcript.contains(here)) {
    const side = step > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING;
    const beyond = marks.filter((mark) => mark !== here && here.compareDocumentPosition(mark) & side);
    return step > 0 ? beyond[0] : beyond[beyond.length - 1];
  }
  const line = 60;
  if (step > 0) return marks.find((mark) => mark.getBoundingClientRect().bottom > line);
  return marks.filter((mark) => mark.getBoundingClientRect().bottom < line).pop();
}

function jump(kind, step) {
  const mark = transcript && ahead(kind, step);
  if (mark) {
    openFolds(mark);
    reach(mark, mark, "center");
    return true;
  }
  const link = document.querySelector(`[data-jump="${kind}"][data-step="${step}"]`);
  if (!link) return false;
  const edges = document.querySelectorAll(step > 0 ? "[data-last]" : "[data-first]");
  if (edges.length) {
    const edge = edges[edges.length - 1].dataset;
    link.search = link.search.replace(/from=-?\d+/, "from=" + (step > 0 ? edge.last : edge.first));
  }
  location.assign(link.href);
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-jump]");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && jump(link.dataset.jump, Number(link.dataset.step))) {
    event.preventDefault();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key in JUMPS && isShortcut(event) && jump(...JUMPS[event.key])) event.preventDefault();
});

/* Whoever comes to a record by its address goes on from there. */

const arrived = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));

function goOnFrom(record) {
  if (document.activeElement === document.body) record.querySelector("summary, a[href]")?.focus({ preventScroll: true });
}

// Only then: going to an address with a # takes the focus away from whatever has it.
if (arrived && transcript?.contains(arrived)) window.addEventListener("load", () => window.setTimeout(goOnFrom, 0, arrived));

/* Live: ask once a second while somebody looks; less often when nothing happens, seldom when the server is away. */

const SECOND = 1000;
const PATIENCE = 60; // polls without news after which they come a little slower
let timer = 0;
let quiet = 0;
let failures = 0;
let isAsking = false;

function live() {
  const part = document.getElementById("live");
  return part && part.hasAttribute("hx-get") ? part : null;
}

function ask() {
  window.clearTimeout(timer);
  if (document.hidden || isAsking || !live()) return;
  isAsking = true;
  htmx.trigger(live(), "poll");
}

function askLater() {
  const wait = failures ? Math.min(SECOND * 2 ** failures, 30 * SECOND) : quiet > PATIENCE ? 1.5 * SECOND : SECOND;
  window.clearTimeout(timer);
  if (live()) timer = window.setTimeout(ask, wait);
}

const isPoll = (event) => event.detail.requestConfig?.elt.id === "live" || event.detail.elt?.id === "live";

document.addEventListener("htmx:beforeSwap", (event) => {
  // Whoever was signed out gets another page for an answer: show it as one.
  if (isPoll(event) && event.detail.xhr.status === 200 && !event.detail.serverResponse.includes('id="live"')) {
    event.detail.shouldSwap = false;
    location.reload();
  }
}, true);

for (const name of ["htmx:responseError", "htmx:sendError"]) {
  document.addEventListener(name, (event) => {
    if (isPoll(event)) event.stopImmediatePropagation(); // it is tried again: no reason for a notice
  }, true);
}

document.addEventListener("htmx:afterRequest", (event) => {
  if (!isPoll(event)) return;
  isAsking = false;
  failures = event.detail.successful ? 0 : failures + 1;
  quiet = event.detail.xhr.status === 204 ? quiet + 1 : 0;
  askLater();
});

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) ask();
});

/* A record that got its results takes its own place again: open folds stay open, and focus stays where it was. */

const FOCUSABLE = "a[href], summary, pre[tabindex]";
let kept = null;

document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (!target.matches("article.record")) return;
  const folds = fragment.querySelectorAll("details");
  target.querySelectorAll("details").forEach((fold, number) => { if (fold.open && folds[number]) folds[number].open = true; });
  const focused = [...target.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  if (focused >= 0) kept = { id: target.id, focused };
});

document.addEventListener("htmx:afterSettle", () => {
  if (kept) {
    const record = document.getElementById(kept.id);
    record?.querySelectorAll(FOCUSABLE)[kept.focused]?.focus({ preventScroll: true });
    kept = null;
  }
  showBelow();
});

/* “New records below”, as long as they are below what can be seen. */

let unseen = "";

function showBelow() {
  const button = document.querySelector("[data-live-new]");
  if (!button) return;
  if (unseen && document.getElementById(unseen)) button.setAttribute("href", "#" + encodeURIComponent(unseen));
  const record = document.getElementById(decodeURIComponent(button.getAttribute("href").slice(1)));
  const isBelow = Boolean(record) && record.getBoundingClientRect().top > window.innerHeight;
  unseen = isBelow ? record.id : "";
  button.hidden = !isBelow;
}

document.addEventListener("scroll", showBelow, { passive: true });

askLater();
