"use strict";
// Elements and tables that are changed in place, so that focus, selection and scrolling stay.
// Whatever comes from clients ends up in text nodes, never in markup.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Set a text only where it is another one: else a screen reader would read it again. */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set a name, which may be broken where a namespace ends. */
function setName(node, text) {
  if (node.textContent === text) return;
  node.replaceChildren(...text.split(/(?<=:)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part])));
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/**
 * Make the children of a parent those of the items, in their order: elements are kept by key,
 * made by `make(item)` and filled by `fill(element, item)`.
 */
function keepInStep(parent, kept, items, keyOf, make, fill) {
  const seen = new Set();
  let place = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    if (seen.has(key)) continue;
    seen.add(key);
    let node = kept.get(key);
    if (!node) {
      node = make(item);
      kept.set(key, node);
    }
    fill(node, item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const [key, node] of kept) {
    if (!seen.has(key)) {
      kept.delete(key);
      node.remove();
    }
  }
}

/** Where the text of a cell goes that leads to a page, if there is one. */
function linkIn(span, address) {
  const link = span.querySelector("a");
  if (!address) {
    link?.remove();
    return span;
  }
  if (link) {
    setAttribute(link, "href", address);
    return link;
  }
  const made = element("a", { href: address });
  span.replaceChildren(made);
  return made;
}

const CALM_SECONDS = 5;
const SHORT_TABLE = 5; // as page.css has it

/** A table of rows. A column is { label, text(row), number, title(row), mark(row), link(row) }. */
class LiveTable {
  constructor(section, caption, columns, keyOf, emptyText) {
    this.columns = columns;
    // A figure that is the only one needs no place among others on a phone.
    this.alone = columns.filter((column) => column.number).length === 1;
    this.keyOf = keyOf;
    this.kept = new Map();
    this.order = new Map();
    this.sorted = -Infinity;
    this.body = element("tbody");
    const head = element("tr", {}, ...columns.map((column) => this.heading(column)));
    this.table = element(
      "table", {}, element("caption", {}, caption), element("thead", {}, head), this.body,
    );
    // A box that scrolls has to be reached by the keyboard, too.
    const scrolls = { class: "table", tabindex: "0", role: "region", "aria-label": caption };
    this.box = element("div", scrolls, this.table);
    this.empty = element("p", { class: "empty" }, emptyText);
    this.more = element("p", { class: "more", hidden: "" });
    // On a phone a table begins short (page.css): some sections would be as long as a book.
    this.all = element("button", { type: "button", class: "all", "aria-expanded": "false" });
    this.all.addEventListener("click", () => {
      const open = this.box.classList.toggle("open");
      setAttribute(this.all, "aria-expanded", open);
      this.sayHowMany(this.body.children.length);
    });
    section.append(this.box, this.all, this.empty, this.more);
  }

  sayHowMany(count) {
    this.all.hidden = count <= SHORT_TABLE;
    const open = this.box.classList.contains("open");
    setText(this.all, open ? "Show fewer rows" : `Show all ${plural(count, "row")}`);
  }

  heading(column) {
    return element("th", { scope: "col", class: column.number ? "number" : null }, column.label);
  }

  /** Rows in the order of before, for some seconds: rows that change places cannot be read. */
  inCalmOrder(rows) {
    const now = performance.now();
    if (now - this.sorted > 1000 * CALM_SECONDS) {
      this.sorted = now;
      this.order = new Map(rows.map((row, index) => [this.keyOf(row), index]));
    }
    const place = (row) => this.order.get(this.keyOf(row)) ?? this.order.size;
    return [...rows].sort((a, b) => place(a) - place(b));
  }

  show(unordered, more, noun) {
    const rows = this.inCalmOrder(unordered);
    this.box.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    this.more.hidden = !more;
    setText(this.more, more ? `and ${plural(more, noun)} more` : "");
    keepInStep(this.body, this.kept, rows, this.keyOf, () => this.makeRow(), (row, item) =>
      this.fillRow(row, item),
    );
    this.sayHowMany(rows.length);
  }

  kind(column) {
    if (!column.number) return null;
    return this.alone ? "number alone" : "number";
  }

  makeRow() {
    const cells = this.columns.map((column) =>
      element("td", { class: this.kind(column), "data-label": column.label }, element("span")),
    );
    return element("tr", {}, ...cells);
  }

  fillRow(row, item) {
    this.columns.forEach((column, index) => {
      const cell = row.cells[index];
      const text = column.text(item);
      setName(column.link ? linkIn(cell.firstElementChild, column.link(item)) : cell.firstElementChild, text);
      setAttribute(cell, "title", column.title ? column.title(item) : null);
      setAttribute(cell, "data-mark", column.mark ? column.mark(item) : null);
      cell.classList.toggle("zero", Boolean(column.number) && (text === "0" || text === NOTHING));
    });
  }
}
