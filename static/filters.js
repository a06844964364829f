/* Completes the line of filters of a list: an ARIA combobox over what its attribute data-offers holds, [name, label, sign, [[value, word], …]] of each filter. Without this script the line is a plain field. */
"use strict";

const MOST_OFFERS = 12;
const isLine = (node) => node instanceof HTMLElement && node.matches("[data-offers]");
const listOf = (line) => line.form.querySelector("[role=listbox]");
const chosenOf = (line) => listOf(line).querySelector("[aria-selected=true]");
const quoted = (text) => (/^[^\s"]\S*$/.test(text) ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`);

function setUp(line) {
  for (const [name, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-controls": listOf(line).id, "aria-autocomplete": "list" })) line.setAttribute(name, value);
}

/* The part of the line before the caret that is being written, with its name and sign where it has these. */
function partOf(line) {
  const before = line.value.slice(0, line.selectionStart);
  const [text] = before.match(/(?:[^\s"]|"(?:\\.|[^"\\])*"?)*$/);
  const [, name, sign, value] = text.match(/^([A-Za-z]\w*)([:：]|>=?)(.*)$/s) || [];
  return { start: before.length - text.length, text, name, sign, value };
}

/* [text to insert, its explanation] of everything that may stand here. */
function offersFor({ text, name, sign, value }, offers) {
  const holds = (part, ...words) => words.some((word) => word.toLowerCase().includes(part.toLowerCase()));
  if (name) {
    const values = offers.find((offer) => offer[0] === name.toLowerCase())?.[3] || [];
    const start = value.replace(/^"|"$/g, "");
    return values.filter(([known, word]) => holds(start, known, word)).map(([known, word]) => [`${name}${sign}${quoted(known)} `, word === known ? "" : word]);
  }
  const begins = (offer) => Number(!offer[0].startsWith(text.toLowerCase()));
  const names = offers.filter(([known, label]) => holds(text, known, label)).sort((a, b) => begins(a) - begins(b));
  return names.map(([known, label, between]) => [known + (between || " "), label]);
}

function show(line) {
  const list = listOf(line);
  const offers = offersFor(partOf(line), JSON.parse(line.dataset.offers)).slice(0, MOST_OFFERS);
  list.replaceChildren(...offers.map(([text, words], place) => {
    const option = document.createElement("li"), code = document.createElement("code");
    option.id = `${list.id}-${place}`;
    option.role = "option";
    option.dataset.text = text;
    code.textContent = text.trim();
    option.append(code, " ", words);
    return option;
  }));
  list.hidden = !offers.length;
  line.setAttribute("aria-expanded", String(!list.hidden));
  choose(line, null);
}

function hide(line) {
  listOf(line).hidden = true;
  line.setAttribute("aria-expanded", "false");
  choose(line, null);
}

function choose(line, option) {
  for (const each of listOf(line).children) each.setAttribute("aria-selected", String(each === option));
  line.setAttribute("aria-activedescendant", option ? option.id : "");
}

function accept(line, option) {
  const { start } = partOf(line);
  line.setRangeText(option.dataset.text, start, line.selectionStart, "end");
  show(line);
}

function move(line, step) {
  if (listOf(line).hidden) show(line);
  const options = [...listOf(line).children];
  const here = options.indexOf(chosenOf(line));
  if (options.length) choose(line, options[here < 0 ? (step > 0 ? 0 : options.length - 1) : (here + step + options.length) % options.length]);
}

document.addEventListener("keydown", (event) => {
  if (!isLine(event.target) || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const line = event.target, option = listOf(line).hidden ? null : chosenOf(line);
  const acts = { ArrowDown: () => move(line, 1), ArrowUp: () => move(line, -1), Escape: () => (listOf(line).hidden ? line.blur() : hide(line)) };
  if (option && !event.shiftKey) acts.Enter = acts.Tab = () => accept(line, option);
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});
document.addEventListener("input", (event) => { if (isLine(event.target)) show(event.target); });
document.addEventListener("submit", ({ target }) => {
  target.querySelectorAll("[data-offers]").forEach(hide);
  target.closest("details.boxes")?.removeAttribute("open");
});
document.addEventListener("focusout", (event) => { if (isLine(event.target) && event.target.isConnected) hide(event.target); });
/* The caret of a line that got the focus by a key stands at its end. */
document.addEventListener("focusin", ({ target }) => { if (isLine(target)) window.setTimeout(() => { if (!target.selectionEnd) target.setSelectionRange(target.value.length, target.value.length); }); });
document.addEventListener("pointerdown", (event) => {
  const option = event.target.closest(".line__offers > [role=option]");
  if (!option) return;
  event.preventDefault(); /* the focus stays in the line */
  accept(option.parentElement.parentElement.querySelector("[data-offers]"), option);
});

const setUpAll = (part) => part.querySelectorAll("[data-offers]").forEach(setUp);
setUpAll(document);
document.addEventListener("htmx:load", (event) => setUpAll(event.target.parentElement || event.target));
