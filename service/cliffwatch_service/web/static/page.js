// Keys, unfolding of rows, copying, the theme and live jobs. All pages are complete without this script.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const visible = (element) => element.offsetParent !== null;

const theme = document.getElementById("theme");
theme.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* no storage: the choice lasts for this page */ }
  document.dispatchEvent(new Event("themechange"));
});

// Rows: a plain click on the link of a case unfolds its details; with a modifier key it opens their page.
const rowLinks = () => all("table.rows tbody th a, a.row").filter(visible);

async function unfold(link) {
  const row = link.closest("tr");
  const open = row.nextElementSibling;
  if (open && open.classList.contains("unfolded")) {
    open.remove();
    link.setAttribute("aria-expanded", "false");
    return;
  }
  const holder = document.createElement("tr");
  holder.className = "unfolded";
  const cell = holder.appendChild(document.createElement("td"));
  cell.colSpan = row.cells.length;
  cell.textContent = "Loading…";
  row.after(holder);
  link.setAttribute("aria-expanded", "true");
  await htmx.ajax("GET", link.href, { target: cell, swap: "innerHTML" });
  if (cell.textContent === "Loading…") cell.textContent = "The service did not answer; the link opens the row's own page.";
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("table.rows tbody th a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  unfold(link);
});

// Copying.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const text = button.dataset.copy ?? (await (await fetch(button.dataset.copyFrom)).text());
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Could not copy";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
});

// Filters apply as soon as they change.
const filters = document.getElementById("filters");
if (filters) for (const chosen of all("select, input[type=checkbox]", filters)) chosen.addEventListener("change", () => filters.requestSubmit());

// Keys.
function move(step) {
  const links = rowLinks();
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  links[next].focus();
  links[next].scrollIntoView({ block: "nearest" });
}
const follow = (id) => document.getElementById(id)?.click();
const keys = {
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("newer"),
  p: () => follow("older"),
  "/": () => {
    const search = document.getElementById("search");
    const folded = search?.closest("details");
    if (folded) folded.open = true;
    search?.focus();
  },
  "?": () => document.getElementById("keys").showModal(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea") || document.querySelector("dialog[open]")) return;
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// A running job: appends events as they arrive and refreshes the phases.
const job = document.getElementById("job");
if (job?.dataset.stream && window.EventSource) {
  const source = new EventSource(job.dataset.stream);
  const after = Number(job.dataset.after);
  const list = document.getElementById("events");
  let waiting = false;
  const refresh = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(async () => {
      waiting = false;
      await htmx.ajax("GET", location.pathname, { target: "#live", swap: "outerHTML" });
    }, 300);
  };
  const tell = (event) => {
    if (Number(event.lastEventId) <= after) return;
    const posted = JSON.parse(event.data);
    if (list) {
      const item = list.appendChild(document.createElement("li"));
      const when = item.appendChild(document.createElement("time"));
      when.textContent = posted.at.slice(11, 19);
      item.append(" ");
      item.appendChild(document.createElement("b")).textContent = posted.kind;
      item.append(" ", posted.data.text ?? Object.values(posted.data).filter(Boolean).join(" "));
      list.scrollTop = list.scrollHeight;
    }
    refresh();
  };
  for (const kind of ["line", "leased", "queued", "done", "failed", "cancelled", "cancelling", "parked"]) source.addEventListener(kind, tell);
  source.addEventListener("end", () => { source.close(); location.reload(); });
}
