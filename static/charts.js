/* Charts by keyboard: one tab stop each; arrows, Home and End go from point to point, in a heatmap up and down as well. */
"use strict";

function onePlaceToStop(chart) {
  const points = [...chart.querySelectorAll(".chart__point")];
  for (const point of points) point.setAttribute("tabindex", point === points[points.length - 1] ? "0" : "-1");
}

function stepInChart(event) {
  const chart = event.target.closest("[data-points]");
  if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
  const points = [...chart.querySelectorAll(".chart__point")];
  const here = points.indexOf(event.target.closest(".chart__point"));
  const row = Number(chart.dataset.points) || points.length;
  const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -row, ArrowDown: row, Home: -here, End: points.length - 1 - here };
  if (here < 0 || !(event.key in steps)) return;
  event.preventDefault();
  event.stopPropagation(); /* the arrows may mean something on the page */
  const next = points[here + steps[event.key]];
  if (!next) return;
  points[here].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

document.querySelectorAll("[data-points]").forEach(onePlaceToStop);
document.addEventListener("htmx:load", (event) => event.target.querySelectorAll("[data-points]").forEach(onePlaceToStop));
document.addEventListener("keydown", stepInChart, { capture: true });
