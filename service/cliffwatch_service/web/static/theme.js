// Runs before the first paint, so that nothing moves later. Applies the theme chosen in this browser; without
// one, the system's theme applies. Also shows the controls that need scripts.
(() => {
  const root = document.documentElement;
  let chosen = null;
  try { chosen = localStorage.getItem("theme"); } catch { /* no storage: use the system's theme */ }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  root.classList.add("scripted");
  if (navigator.clipboard) root.classList.add("clipboard");
})();
