/* Claims on what pages of review have on the screen: renewed while a page is looked at, let go of when it is left.
   The sample or value is in the element with `data-claim`, which names the opening of the page; `data-renew` is the kind of others than samples. */
"use strict";

const RENEW_MS = 30000;
const HIDDEN_MS = 300000; /* a page in a hidden tab holds its samples this long */

let ahead = null; /* the sample to come, as a node that is not in the page */
let hiddenAt = 0;

const claimed = () => document.querySelector("[data-claim]");
const held = () => [claimed(), ahead].filter((node) => node && node.dataset.claim);

function tell(id, isTrue, sentence) {
  document.getElementById(id).hidden = !isTrue;
  if (sentence) document.querySelector(`#${id} p`).textContent = sentence;
}

function call(node, what, body) {
  return fetch(`/api/v1/review/claims/${encodeURIComponent(node.dataset.sample)}${what}`, {
    method: "POST",
    keepalive: true,
    headers: { "Content-Type": "application/json", "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value },
    body: JSON.stringify(body || {}),
  });
}

function release(nodes) {
  for (const node of nodes) call(node, `/release${node.dataset.renew || ""}`, { since: Number(node.dataset.claim) }).catch(() => {});
}

async function renew() {
  if (document.hidden && performance.now() - hiddenAt > HIDDEN_MS) return;
  for (const node of held()) {
    const answer = await call(node, node.dataset.renew || "").catch(() => null);
    if (!answer || answer.status !== 409) continue;
    if (node === ahead) fetchAhead();
    else if (node === claimed() && !node.dataset.sent) tell("review-away", true, (await answer.json()).detail);
  }
}

window.setInterval(renew, RENEW_MS);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) hiddenAt = performance.now();
  else renew();
});
/* A link that leads back here keeps the sample on the screen. */
let isComingBack = false;
document.addEventListener("click", (event) => { isComingBack = Boolean(event.target.closest("a[data-keeps-claim]")); });
window.addEventListener("pagehide", () => release(held().filter((node) => !isComingBack || node !== claimed())));
window.addEventListener("pageshow", (event) => { if (event.persisted) renew(); });
