/* The review queue: the next sample is fetched while one is read, and a verdict puts it on the screen at once. The server
   makes all HTML; without this file every button is a plain form. */
"use strict";

const LOOK_MS = 250; /* a second press this soon was meant for the sample before */

let coming = null; /* the promise of the sample to come */
let isRejecting = false; /* the answer to a reject, which asks why, is under way */
let shownAt = 0;

const shown = () => document.getElementById("review-sample");

async function ask(address, body) {
  const answer = await (body ? post(address, body) : fetch(address, { headers: { "HX-Request": "true" } }));
  if (answer.status === 204) return { ok: true };
  const found = await contentOf(answer);
  const top = found.getElementById("review-top");
  if (!top) throw new Error("not the review page"); /* signed out, refused, broken */
  return { ok: answer.ok, top, sample: found.getElementById("review-sample") };
}

/* What is asked for waits for what was sent before. */
function inTurn(address, body, arrived, failed = showFailure) {
  line = line.then(() => ask(address, body)).then((found) => { showTop(found); arrived(found); }, failed);
  return line;
}

function show(node, said) {
  const before = shown();
  if (before.dataset.editing && !before.dataset.sent && before !== node) node.dataset.editing = "moved";
  before.replaceWith(node);
  window.htmx.process(node);
  shownAt = performance.now();
  window.scrollTo(0, 0);
  node.focus({ preventScroll: true });
  announce([said, node.dataset.spoken].filter(Boolean).join(" "));
  return before;
}

/* A sample that is put on the screen gets an address of its own, so that Back leads to it. */
function goTo(node, said) {
  const before = show(node, said);
  history.pushState({ review: true }, "", node.dataset.address);
  for (const notice of ["review-lost", "review-away", "review-unsaved", "review-soon"]) tell(notice, false);
  return before;
}

function showTop(found) {
  if (found.top) document.getElementById("review-top").replaceWith(found.top);
  showBadge();
}

/* The badge in the rail follows what the page says. */
function showBadge() {
  const badge = document.querySelector(".rail__count:not(.rail__count--urgent)");
  if (badge) badge.replaceChildren(...document.getElementById("review-badge").cloneNode(true).childNodes);
}

function keep(node) {
  const before = ahead;
  ahead = node && node.dataset.sample ? node : null;
  if (before && before !== ahead) release([before]);
}

function fetchAhead() {
  const here = shown();
  keep(null);
  if (!here.dataset.sample) return;
  const address = new URL(here.querySelector("[rel=next]").href);
  address.searchParams.set("ahead", "1");
  coming = line.then(() => ask(address)).then((found) => {
    if (shown() === here) keep(found.sample);
  }, () => {});
}

/* A press that was meant for the sample before does nothing, and the page says so. */
function isTooSoon() {
  if (performance.now() - shownAt >= LOOK_MS) return false;
  tell("review-soon", true);
  announce(document.getElementById("review-soon").textContent);
  return true;
}

/* Verdict or skip. */
async function send(form, button) {
  const here = shown();
  if (here.dataset.sent || isTooSoon()) return;
  saveDraft(here); /* of a skip: what a verdict holds is not typed any more */
  const body = new FormData(form, button);
  here.dataset.sent = "1";
  isRejecting = button.value === "rejected";
  closeReasons();
  if (!ahead) await coming;
  const next = ahead;
  ahead = null;
  if (next) {
    body.set("ahead", next.dataset.sample);
    goTo(next, button.dataset.said);
  }
  coming = inTurn(form.action, body, (found) => arrived(here, next, found, button), () => failed(here));
}

function arrived(here, next, found, button) {
  isRejecting = false;
  if (!found.ok) {
    if (found.sample && here.dataset.editing) found.sample.dataset.editing = "moved";
    bringBack(found.sample || here);
    keepTyped();
  } else if (next) {
    keep(found.sample);
  } else {
    goTo(found.sample, button.dataset.said);
    fetchAhead();
  }
}

function failed(here) {
  isRejecting = false;
  delete here.dataset.sent;
  bringBack(here);
  keepTyped();
  tell("review-lost", true);
  announce(document.getElementById("review-lost").textContent);
}

/* What a verdict would have held is a draft again. */
function keepTyped() {
  if (!shown().dataset.draft) return;
  shown().dataset.typed = "1";
  saveDraft(shown());
}

/* The sample whose verdict was not taken; what is on the screen meanwhile waits behind it, with all that was typed. */
function bringBack(node) {
  if (shown() === node) return;
  const meanwhile = shown();
  goTo(node, "");
  if (meanwhile.dataset.sample !== node.dataset.sample) keep(meanwhile);
}

async function undo(form) {
  await coming; /* a verdict or skip that waits for the next sample goes first */
  saveDraft(shown());
  delete shown().dataset.editing;
  closeReasons();
  inTurn(form.action, new FormData(form), (found) => {
    if (found.sample) {
      const meanwhile = goTo(found.sample, "");
      if (meanwhile.dataset.sample && meanwhile.dataset.sample !== found.sample.dataset.sample) keep(meanwhile);
    }
    announceTop();
  });
}

function announceTop() {
  const said = document.querySelector(".review-top__said");
  if (said) announce(said.textContent);
}

/* Why the last sample was rejected: said, or passed over by the next verdict. */

function closeReasons() {
  document.getElementById("reject-reasons")?.remove();
}

function giveReason(form, button) {
  const body = new FormData(form, button);
  closeReasons();
  inTurn(form.action, body, announceTop);
}

/* Next and previous without a verdict. */
async function step(link) {
  if (isTooSoon()) return;
  const isNext = link.rel === "next";
  const left = shown();
  saveDraft(left);
  delete left.dataset.editing;
  if (isNext && !ahead) await coming;
  if (isNext && ahead) {
    const next = ahead;
    ahead = null;
    goTo(next, "");
    release([left]);
    fetchAhead();
    return;
  }
  inTurn(link.href, null, (found) => {
    if (found.sample) goTo(found.sample, "");
    fetchAhead();
  });
}

document.addEventListener("submit", (event) => {
  const kind = event.target.dataset.review;
  if (!kind) return;
  event.preventDefault();
  if (kind === "undo") undo(event.target);
  else if (kind === "reason") giveReason(event.target, event.submitter);
  else send(event.target, event.submitter || document.querySelector(`[form="${event.target.id}"]`));
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-review=step]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  step(link);
});

/* The key of a reason right after a reject waits for the answer that asks why. */
document.addEventListener("keydown", async (event) => {
  const key = keyOf(event);
  if (!isRejecting || !isShortcut(event) || !shown().dataset.reasons?.includes(key)) return;
  event.stopImmediatePropagation();
  await coming;
  await line;
  const choice = document.querySelector(`#reject-reasons [data-key="${key}"]`);
  if (choice) choice.click();
}, { capture: true });

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !isTyping(event.target)) closeReasons();
});

document.addEventListener("draft:lost", (event) => {
  bringBack(event.detail);
  tell("review-unsaved", true);
});
document.addEventListener("draft:saved", () => tell("review-unsaved", false));

window.addEventListener("popstate", () => {
  saveDraft(shown());
  delete shown().dataset.editing;
  inTurn(location.href, null, (found) => {
    const left = found.sample && show(found.sample, "");
    if (left && left.dataset.claim && !left.dataset.sent) release([left]);
    fetchAhead();
  }, () => location.reload());
});

showBadge();
if (shown()) {
  if (shown().dataset.sample) history.replaceState({ review: true }, "", shown().dataset.address);
  fetchAhead();
}
