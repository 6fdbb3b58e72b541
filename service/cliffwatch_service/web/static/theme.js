// Before anything is drawn: the theme that was chosen here, if any; without one the system's counts.
(() => {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
