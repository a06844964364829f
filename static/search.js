/* The field of the search on every page: / or Ctrl+K goes to it, arrows walk through the answers below it, Escape leaves it. The answers are shown while the focus is in the field or among them. */
"use strict";

const finder = () => document.querySelector("[data-find]");

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && finder() && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    finder().focus();
    finder().select();
    return;
  }
  const form = event.target.closest?.("[data-answers]");
  if (!form || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const stops = [finder(), ...form.querySelectorAll(".find__list a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && stops.length > 1) {
    event.preventDefault();
    stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
  } else if (event.key === "Escape") document.activeElement.blur();
});
