// Places that the browser keeps: the tabs of this window, and queries that were saved with a name.
// What is saved belongs to the database of the page and to the address of the console.
"use strict";

const database = document.body.dataset.database;
const element = (name, properties, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// ---- tabs: each has a table, or a page like PartiQL, and the address that it showed last ----

const tabsKey = `tabs:${database}`;
const readTabs = () => JSON.parse(sessionStorage.getItem(tabsKey)) ?? { at: -1, tabs: [] };
const keepTabs = (kept) => sessionStorage.setItem(tabsKey, JSON.stringify(kept));

function visitTab() {
  const place = document.body.dataset.place;
  const kept = readTabs();
  if (!place || document.querySelector("main .problem")) return kept;
  if (kept.tabs[kept.at]?.place !== place) {
    const known = kept.tabs.findIndex((tab) => tab.place === place);
    kept.at = known >= 0 ? known : kept.tabs.push({ place }) - 1;
  }
  kept.tabs[kept.at] = { place, href: location.pathname + location.search };
  keepTabs(kept);
  return kept;
}

function showTabs({ at, tabs }) {
  const bar = document.getElementById("tabs");
  if (tabs.length < 2) return;
  const twice = (place) => tabs.filter((tab) => tab.place === place).length > 1;
  const shown = document.body.dataset.place === tabs[at]?.place;
  const links = tabs.map(({ place, href }, number) => {
    const page = new URL(href, location).pathname.split("/")[3] ?? "items";
    const link = element("a", { href, textContent: twice(place) ? `${place}, ${page}` : place });
    link.dataset.tab = number;
    if (number === at && shown) link.ariaCurrent = "page";
    const close = element("button", { type: "button", textContent: "×", ariaLabel: `Close ${place}` });
    close.dataset.closeTab = number;
    close.className = "plain";
    return element("span", { className: "tab" }, link, close);
  });
  bar.replaceChildren(...links);
  bar.hidden = false;
}

function openTab() {
  const kept = readTabs();
  if (!kept.tabs[kept.at]) return;
  kept.tabs.splice(kept.at + 1, 0, { ...kept.tabs[kept.at] });
  kept.at += 1;
  keepTabs(kept);
  showTabs(kept);
}

function closeTab(number) {
  const kept = readTabs();
  kept.tabs.splice(number, 1);
  const current = number === kept.at;
  if (number <= kept.at) kept.at = Math.max(0, kept.at - 1);
  keepTabs(kept);
  if (current || kept.tabs.length < 2) location.href = current ? (kept.tabs[kept.at]?.href ?? "/") : location.href;
  else showTabs(kept);
}

// ---- saved queries: a name, the address, and the page that they belong to ----

const savedKey = `saved:${database}`;
const readSaved = () => JSON.parse(localStorage.getItem(savedKey)) ?? [];
const keepSaved = (saved) => localStorage.setItem(savedKey, JSON.stringify(saved));

// The address that shows what the form asks for.
function addressOf(form) {
  const fields = [...new FormData(form)].filter(([name, text]) => text && name !== "csrf");
  if (form.dataset.saves) fields.push(["run", "1"]);
  return `${new URL(form.action).pathname}?${new URLSearchParams(fields)}`;
}

function showSaved(box) {
  const { place } = box.dataset;
  const saved = readSaved().filter((query) => !place || query.place === place);
  const items = saved.map(({ name, href, place: of }) => {
    const remove = element("button", { type: "button", className: "plain", textContent: "×" });
    remove.ariaLabel = `Remove ${name}`;
    remove.dataset.unsave = name;
    const link = element("a", { href, textContent: name });
    return element("li", {}, link, " ", element("span", { className: "rest", textContent: place ? "" : of }), remove);
  });
  box.querySelector("ul").replaceChildren(...items);
  for (const part of box.querySelectorAll("[data-none]")) part.hidden = saved.length > 0;
  if (!place) box.hidden = !saved.length;
}

const showAllSaved = () => document.querySelectorAll("[data-saved]").forEach(showSaved);

function save(form) {
  const name = form.elements.saved.value.trim();
  if (!name) return;
  const { place } = form.closest("[data-saved]").dataset;
  const href = addressOf(document.querySelector("main form[data-saves]"));
  keepSaved([...readSaved().filter((query) => query.name !== name), { name, href, place }]);
  form.reset();
  showAllSaved();
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-save]")) return;
  event.preventDefault();
  save(event.target);
});

document.addEventListener("click", (event) => {
  const closest = (selector) => event.target.closest(selector)?.dataset;
  const to = closest("[data-tab]");
  if (to) keepTabs({ ...readTabs(), at: Number(to.tab) });
  const closed = closest("[data-close-tab]");
  if (closed) closeTab(Number(closed.closeTab));
  const name = closest("[data-unsave]")?.unsave;
  if (name) {
    keepSaved(readSaved().filter((query) => query.name !== name));
    showAllSaved();
  }
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(event.target)) menu.open = false;
});

showTabs(visitTab());
showAllSaved();
