// Before anything is drawn: the theme that was chosen here, if any (without one the system's counts), and what only scripts can do,
// so that nothing moves when they begin.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* storage may be shut: the system's theme then */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  root.classList.add("scripted");
  if (navigator.clipboard) root.classList.add("clipboard");
})();
