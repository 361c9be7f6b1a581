// The theme and the keyboard. It is loaded before the page is shown, so that the theme does not flash.
"use strict";

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;

const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => !row.hidden);
const first = (selector) => document.querySelector(`main ${selector}`);
const typing = (element) => element.matches("input:not([type=checkbox]), textarea, select");

function move(step) {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("current"));
  const row = all[Math.max(0, Math.min(all.length - 1, at + step))];
  if (!row) return document.querySelector(`[data-step="${step}"]`)?.click();
  all[at]?.classList.remove("current");
  row.classList.add("current");
  (row.querySelector("a") ?? row).focus();
  row.scrollIntoView({ block: "nearest" });
}

// Moves from cell to cell. The focus is on the link of a cell, or on the cell itself.
function across(step) {
  const cells = [...(current()?.querySelectorAll("td:not(.tick, .fill, .absent)") ?? [])];
  const at = cells.findIndex((cell) => cell.contains(document.activeElement));
  const cell = cells[Math.max(0, Math.min(cells.length - 1, at + step))];
  if (!cell) return;
  const link = cell.querySelector("a");
  if (!link) cell.tabIndex = -1;
  (link ?? cell).focus();
}

const current = () => document.querySelector("[data-row].current");

const keys = {
  "/": () => (first("[data-search]") ?? first("input:not([type=hidden]), textarea"))?.focus(),
  "?": () => document.getElementById("help").showModal(),
  j: () => move(1),
  k: () => move(-1),
  h: () => across(-1),
  l: () => across(1),
  u: () => document.querySelector("[data-back]")?.click(),
  n: () => first("[data-next]")?.click(),
  e: () => editCell(document.activeElement.closest("td")) || first("[data-edit]")?.click(),
  t: () => openTab(),
  w: () => document.querySelector("#tabs .tab:has([aria-current]) button")?.click(),
  x: () => current()?.querySelector("input[type=checkbox]")?.click(),
  Enter: () => current()?.querySelector("a")?.click(),
};

// Submits a form by its button, so that the button's name and value are sent too.
const submit = (form) => form?.requestSubmit(form.querySelector("button:not([type=button])"));

document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (event.key === "Escape" && typing(at)) return at.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return submit(at.form);
  if (event.ctrlKey || event.metaKey || event.altKey || typing(at)) return;
  if (event.key === "Enter" && at.matches("a, button, summary")) return; // the focused element handles it
  if (document.querySelector("dialog[open]") || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

document.addEventListener("click", (event) => {
  const closest = (selector) => event.target.closest(selector);
  if (closest("[data-help]")) keys["?"]();
  if (closest("[data-theme-toggle]")) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  }
  const copied = closest("[data-copy]");
  if (copied) {
    navigator.clipboard.writeText(document.querySelector(copied.dataset.copy).textContent);
    copied.textContent = "Copied";
  }
  const stopped = closest("[data-stop]");
  if (stopped) {
    const going = stopped.closest(".going");
    htmx.trigger(going, "htmx:abort");
    for (const name of ["hx-get", "hx-post"]) going.removeAttribute(name);
    for (const field of going.querySelectorAll("[name=round], [name=found], [name=step]")) field.remove();
    const goOn = going.querySelector("[data-go-on]");
    if (goOn) goOn.hidden = false;
    stopped.remove();
  }
  if (closest("a[data-item]")) keepPlace(closest("a[data-item]"));
  const removed = closest("[data-remove]");
  if (removed) removed.closest(removed.dataset.remove).remove();
});

// A search field with data-filter hides the rows of a table that do not contain its text.
document.addEventListener("input", (event) => {
  const { filter } = event.target.dataset;
  if (!filter) return;
  const words = event.target.value.toLowerCase();
  for (const row of document.querySelectorAll(`${filter} tbody tr, ${filter} > :is(li, .attribute)`)) {
    const values = [...row.querySelectorAll("input, textarea")].map((field) => field.value);
    row.hidden = ![row.textContent, ...values].join(" ").toLowerCase().includes(words);
  }
});

// The boxes that select rows. Elements with data-selected show the number of selected rows; they are
// hidden if it is 0.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-all]"))
    for (const box of document.querySelectorAll("input[name=key]")) box.checked = event.target.checked;
  const count = document.querySelectorAll("input[name=key]:checked").length;
  for (const shown of document.querySelectorAll("[data-selected]")) {
    shown.hidden = !count;
    for (const number of shown.querySelectorAll("[data-count]")) number.textContent = count;
  }
});

// The list from which an item was opened: for the links to it, and to the items before and after.
const keep = (place) => sessionStorage.setItem("place", JSON.stringify(place));

function keepPlace(link) {
  const links = [...document.querySelectorAll("a[data-item]")].map((each) => each.getAttribute("href"));
  keep({ list: location.href, links, last: link.getAttribute("href") });
}

document.addEventListener("DOMContentLoaded", () => {
  const place = JSON.parse(sessionStorage.getItem("place"));
  const shown = document.querySelector("nav.place");
  const key = new URLSearchParams(location.search).get("key");
  const at = place?.links.findIndex((link) => link.endsWith(`?key=${key}`));
  if (shown && at >= 0) {
    shown.hidden = false;
    shown.querySelector("[data-back]").href = place.list;
    shown.querySelector("[data-at]").textContent = `${at + 1} of ${place.links.length} in the list`;
    for (const link of shown.querySelectorAll("[data-step]")) {
      const href = place.links[at + Number(link.dataset.step)];
      if (href) link.href = href;
      else link.hidden = true;
    }
    keep({ ...place, last: place.links[at] });
  } else if (place?.last && place.list === location.href) {
    const link = document.querySelector(`a[data-item][href="${CSS.escape(place.last)}"]`);
    link?.closest("[data-row]").classList.add("current");
    link?.focus();
    link?.scrollIntoView({ block: "center" });
  }
});

// Scrolls each bar that is wider than the window, so that the link of the current page is visible.
function seeCurrent() {
  for (const link of document.querySelectorAll(":is(.tabs, #tabs, .step-list) [aria-current]")) {
    const bar = link.closest("nav");
    bar.scrollLeft = link.offsetLeft - bar.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2;
  }
}
addEventListener("load", seeCurrent);

// An element whose content is wider than itself fades at the side on which there is more.
const hint = (box) => box.classList.toggle("more", box.scrollWidth - box.clientWidth - box.scrollLeft > 1);
const FADING = ".scroll, .code, .tabs, #tabs, .step-list";
const hints = () => document.querySelectorAll(FADING).forEach(hint);
addEventListener("scroll", ({ target }) => target.matches?.(FADING) && hint(target), true);
for (const event of ["load", "resize", "htmx:afterSettle"]) addEventListener(event, hints);
