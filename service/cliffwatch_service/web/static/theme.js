// Before anything is drawn: the theme that was chosen here, if any (without one the system's counts), and what only scripts can do,
// so that nothing moves when they begin.
(() => {
  const root = document.documentElement;
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  root.classList.add("scripted");
  if (navigator.clipboard) root.classList.add("clipboard");
})();
