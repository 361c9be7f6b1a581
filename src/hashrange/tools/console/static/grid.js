// The grid of items: it is sorted within what the page has read, and one cell is edited at a time.
"use strict";

const cellText = (cell) => cell?.querySelector(".v")?.textContent ?? "";

// Numbers before texts; cells that are absent come last in both directions.
function compareCells(one, other, down) {
  const absent = (cell) => !cell || cell.classList.contains("absent");
  if (absent(one) || absent(other)) return absent(one) - absent(other);
  const [a, b] = [cellText(one), cellText(other)];
  const numeric = (cell) => cell.classList.contains("right");
  let order = numeric(other) - numeric(one);
  if (!order) order = numeric(one) ? Number(a) - Number(b) : 0;
  if (!order) order = a < b ? -1 : a > b ? 1 : 0;
  return down ? -order : order;
}

// The rows of the page, each with its cells by the names of their columns.
function gridRows(page) {
  return [...page.querySelectorAll("tr[data-row]")].map((row) => {
    const heads = row.closest("table").tHead.rows[0].cells;
    const cells = new Map();
    const above = row.closest(".collection")?.querySelector("h3[data-name]");
    if (above) {
      const cell = document.createElement("td");
      cell.className = "key";
      cell.append(above.querySelector("b").firstElementChild.cloneNode(true));
      cells.set(above.dataset.name, cell);
    }
    [...row.cells].forEach((cell, at) => {
      if (heads[at].dataset.name !== undefined) cells.set(heads[at].dataset.name, cell);
    });
    return { row, cells, tick: row.querySelector(".tick") };
  });
}

// One table in place of all tables of the page. A column that is the first of a table, which stays in
// sight and has the links to the items, comes before the other columns.
function oneGrid(page, name, down) {
  const rows = gridRows(page);
  const firsts = new Set(rows.map(({ row }) => row.querySelector(".first")));
  const names = [...new Set(rows.flatMap(({ cells }) => [...cells.keys()]))];
  names.sort((a, b) => hasFirst(rows, firsts, b) - hasFirst(rows, firsts, a));
  rows.sort((one, other) => compareCells(one.cells.get(name), other.cells.get(name), down));
  const table = document.createElement("table");
  table.className = "items";
  const head = table.createTHead().insertRow();
  const ticks = rows.some(({ tick }) => tick);
  if (ticks) head.append(Object.assign(document.createElement("th"), { className: "tick" }));
  for (const each of names) head.append(headOf(each, names[0], each === name, down, rows));
  head.append(Object.assign(document.createElement("td"), { className: "fill" }));
  const body = table.createTBody();
  for (const { row, cells, tick } of rows) {
    const made = [tick ?? (ticks ? document.createElement("td") : null)];
    for (const each of names) {
      const cell = cells.get(each) ?? document.createElement("td");
      cell.classList.toggle("absent", !cells.has(each) || cell.classList.contains("absent"));
      made.push(cell);
    }
    const fill = Object.assign(document.createElement("td"), { className: "fill" });
    row.replaceChildren(...made.filter(Boolean), fill);
    body.append(row);
  }
  return table;
}

const hasFirst = (rows, firsts, name) => rows.some(({ cells }) => firsts.has(cells.get(name)));

function headOf(name, firstName, sorted, down, rows) {
  const head = document.createElement("th");
  const cells = rows.map(({ cells }) => cells.get(name)).filter(Boolean);
  head.scope = "col";
  head.dataset.name = name;
  head.classList.toggle("first", name === firstName);
  head.classList.toggle("key", cells.some((cell) => cell.classList.contains("key")));
  head.classList.toggle("right", cells.every((cell) => cell.matches(".right, .absent")));
  if (sorted) head.ariaSort = down ? "descending" : "ascending";
  const button = Object.assign(document.createElement("button"), {
    type: "button",
    className: "sort",
    title: "Sort what is on this page",
  });
  button.textContent = name;
  head.append(button);
  return head;
}

function sortBy(page, name, down) {
  const table = oneGrid(page, name, down);
  const rounds = [...page.querySelectorAll(".round")];
  const box = document.createElement("div");
  Object.assign(box, { className: "scroll one-grid", tabIndex: 0, role: "group", ariaLabel: "Rows" });
  box.append(table);
  const [first] = rounds;
  for (const round of rounds)
    for (const old of round.querySelectorAll(".collection, .one-grid")) old.remove();
  first.append(box);
  page.dataset.sorted = JSON.stringify([name, down]);
}

document.addEventListener("click", (event) => {
  const head = event.target.closest("th:has(.sort)");
  if (!head || !event.target.closest(".sort")) return;
  const page = head.closest("main");
  sortBy(page, head.dataset.name, head.ariaSort === "ascending");
  page.querySelector(`th[aria-sort] .sort`)?.focus();
});

// Sorts the items of a later round of the search into the table.
document.addEventListener("htmx:afterSettle", () => {
  const page = document.querySelector("main[data-sorted]");
  if (page?.querySelector(".collection")) sortBy(page, ...JSON.parse(page.dataset.sorted));
});

// ---- counts of values: those of each round are added to those that the page shows ----

function joinCounts(counted) {
  const table = document.getElementById("facets");
  const body = table.tBodies[0];
  const known = new Map([...body.rows].map((row) => [row.dataset.text, row]));
  for (const row of counted.content.querySelectorAll("tr")) {
    const old = known.get(row.dataset.text);
    if (old) old.dataset.count = Number(old.dataset.count) + Number(row.dataset.count);
    else body.append(row);
  }
  const rows = [...body.rows].sort((a, b) => b.dataset.count - a.dataset.count);
  const most = Number(table.dataset.most);
  const left = rows.splice(most).reduce((sum, row) => sum + Number(row.dataset.count), 0);
  for (const row of rows) {
    row.querySelector(".number").textContent = Number(row.dataset.count).toLocaleString("en");
    const share = (100 * row.dataset.count) / rows[0].dataset.count;
    row.querySelector(".filled").setAttribute("width", share.toFixed(2));
  }
  body.replaceChildren(...rows);
  addTo("others", Number(counted.dataset.others) + left);
  addTo("absent", Number(counted.dataset.absent));
  counted.remove();
}

function addTo(name, count) {
  const shown = document.querySelector(`main [data-${name}]:not(template)`);
  shown.dataset[name] = Number(shown.dataset[name]) + count;
  shown.querySelector("b").textContent = Number(shown.dataset[name]).toLocaleString("en");
  shown.hidden = shown.dataset[name] === "0";
}

document.addEventListener("htmx:afterSettle", () => {
  for (const counted of document.querySelectorAll("template.counted")) joinCounts(counted);
});

// ---- one cell ----

const editable = (cell) =>
  document.body.dataset.write !== undefined &&
  cell?.matches(".items tr[data-row] > td:not(.tick, .fill, .absent, .primary)") &&
  cell.closest("tr").querySelector("a[data-item]");

function cellName(cell) {
  return cell.closest("table").tHead.rows[0].cells[cell.cellIndex].dataset.name;
}

function editCell(cell) {
  const item = editable(cell);
  if (!item) return false;
  const [path, query] = item.getAttribute("href").split("?");
  keepPlace(item);
  const name = encodeURIComponent(cellName(cell));
  htmx.ajax("GET", `${path}/cell?${query}&name=${name}`, { target: "#cell", swap: "innerHTML" });
  return true;
}

document.addEventListener("htmx:afterSwap", ({ target }) => {
  if (target.id !== "cell") return;
  if (!target.open) target.showModal();
  (target.querySelector("[autofocus]") ?? target.querySelector("button.main"))?.focus();
});

// A pen is shown in the cell under the pointer.
const pen = Object.assign(document.createElement("button"), { type: "button", className: "pen" });
pen.textContent = "✎";
pen.tabIndex = -1;
document.addEventListener("mouseover", ({ target }) => {
  const cell = target.closest?.("td");
  if (!cell || cell.contains(pen)) return;
  if (editable(cell)) {
    pen.ariaLabel = pen.title = `Edit ${cellName(cell)}`;
    cell.append(pen);
  } else if (cell.closest(".items")) pen.remove();
});
document.addEventListener("dblclick", ({ target }) => editCell(target.closest("td")));
document.addEventListener("click", (event) => {
  if (event.target === pen) editCell(pen.closest("td"));
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
});
