// A table whose rows stay in place while their cells change. On narrow screens its rows become blocks, so that nothing
// has to be scrolled sideways; explicit roles keep it a table for screen readers.

import { h, Keyed, setText } from "./dom.js";

export class Table {
  #columns;
  #rows;
  #body;

  // columns: {title, text(item) or node(item) or update(cell, item), class}. The first is the heading of its row. `caption` names the table.
  constructor(columns, { caption, hidden = true } = {}) {
    this.#columns = columns;
    this.#body = h("tbody", { role: "rowgroup" });
    this.element = h(
      "table",
      { role: "table" },
      h("caption", { class: hidden ? "hidden" : undefined }, caption),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          columns.map(({ title, class: name }) => h("th", { role: "columnheader", scope: "col", class: name }, title)),
        ),
      ),
      this.#body,
    );
    this.#rows = new Keyed(this.#body, {
      make: () => this.#row(),
      update: (row, item) => this.#update(row, item),
    });
  }

  // `items`: [key, item] in order.
  draw(items) {
    this.#rows.draw(items);
  }

  #row() {
    return h(
      "tr",
      { role: "row" },
      this.#columns.map(({ class: name, title }, place) =>
        place
          ? h("td", { role: "cell", class: name, "data-title": title })
          : h("th", { role: "rowheader", scope: "row", class: name }),
      ),
    );
  }

  #update(row, item) {
    this.#columns.forEach((column, place) => {
      const cell = row.children[place];
      if (column.text) {
        setText(cell, column.text(item));
        cell.classList.toggle("lengthy", cell.textContent.length > 48);
      } else if (column.update) column.update(cell, item);
      else cell.replaceChildren(...[column.node(item)].flat().filter((node) => node !== null && node !== ""));
      cell.classList.toggle("empty", !cell.textContent);
    });
  }
}
