// Sorts a table by the column whose heading is pressed; a second press turns it around.
"use strict";
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement;
    const table = head.closest("table");
    const body = table.tBodies[0];
    const column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.cells[column];
      const text = cell.dataset.value ?? cell.textContent;
      const number = Number(text);
      return text.trim() !== "" && !Number.isNaN(number) ? number : text;
    };
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (typeof x === "number" && typeof y === "number") return x - y;
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
      return x < y ? -1 : x > y ? 1 : 0;
    };
    const rows = [...body.rows].sort(compare);
    if (down) rows.reverse();
    body.append(...rows);
  });
}
