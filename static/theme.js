/* Runs before the first paint: the theme a person chose, and a mark that scripts run. */
(function () {
  var root = document.documentElement;
  root.classList.add("js");
  try {
    var theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch (refused) {
    /* Storage is switched off: the page follows the system. */
  }
})();
