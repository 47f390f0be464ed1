"use strict";
// Tables: sorted by buttons in their headings, long ones opened by a button.

// Where a row is a card, few fill a screen.
const ROWS_AT_FIRST = matchMedia("(max-width: 640px)").matches ? 5 : 12;
const LONG_TEXT = 28;
const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Compare two cells; what is unknown comes last in both directions. */
function compareCells(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  // Numbers are compared, not subtracted: a large one is a BigInt, and the next one may be none.
  const order = typeof a === "string" ? COLLATOR.compare(a, String(b)) : (a > b) - (a < b);
  return order * direction;
}

function makeCell(column, value) {
  const text = formatValue(column.kind, value);
  const cell = element("td", { role: "cell", "data-label": column.label });
  if (NUMBER_KINDS.has(column.kind)) {
    cell.className = "number";
    cell.dataset.value = value === null ? "" : value;
  }
  const exact = exactValue(column.kind, value);
  if (exact) cell.title = exact;
  if (column.kind === "flag") cell.className = value ? "flag yes" : "flag";
  if (column.kind === "command" && value !== null) {
    cell.className = "command";
    cell.append(element("code", {}, text), copyButton("Copy", () => text));
  } else {
    // A long name is broken where it has to be, a short one never.
    if (text.length > LONG_TEXT) cell.classList.add("long");
    cell.append(element("span", {}, text));
  }
  return cell;
}

function copyButton(label, text) {
  const button = element("button", { type: "button", class: "copy" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      // Clipboards are closed to some pages from files: the text can still be marked by hand.
      button.textContent = "Not allowed here: mark the text";
    }
    setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
  return button;
}

function makeHead(section, sortBy) {
  const cells = section.columns.map((column, index) => {
    const button = element("button", { type: "button" }, column.label);
    button.addEventListener("click", () => sortBy(index));
    const head = element("th", { role: "columnheader", scope: "col" }, button);
    if (NUMBER_KINDS.has(column.kind)) head.className = "number";
    return head;
  });
  const row = element("tr", { role: "row" }, ...cells);
  return { head: element("thead", { role: "rowgroup" }, row), cells };
}

/** The sentence about rows that a section does not show, "" if it shows all. */
function limitSentence(section) {
  const shown = section.rows.length;
  if (shown >= section.total) return "";
  return (
    `These are ${WHOLE.format(shown)} of ${WHOLE.format(section.total)} rows, ` +
    `${section.order}. The job's own output has them all.`
  );
}

/** A section's table with all that belongs to it. */
function makeTable(section) {
  let rows = section.rows;
  let open = rows.length <= ROWS_AT_FIRST;
  const sorted = { index: -1, direction: 1 };
  const body = element("tbody", { role: "rowgroup" });
  const more = element("button", { type: "button", class: "more" });
  const paper = element("p", { class: "paper" });

  const fill = () => {
    const shown = open ? rows : rows.slice(0, ROWS_AT_FIRST);
    body.replaceChildren(
      ...shown.map((row) =>
        element(
          "tr",
          { role: "row" },
          ...section.columns.map((column, index) => makeCell(column, row[index])),
        ),
      ),
    );
    more.textContent = open ? "Show fewer" : `Show all ${WHOLE.format(rows.length)} rows`;
    more.setAttribute("aria-expanded", String(open));
    paper.textContent =
      `On paper: the first ${WHOLE.format(shown.length)} of ${WHOLE.format(rows.length)} rows.`;
    paper.hidden = shown.length === rows.length;
  };
  const sortBy = (index) => {
    const numeric = NUMBER_KINDS.has(section.columns[index].kind);
    // The first look at a column of numbers is for the largest.
    const first = numeric || section.columns[index].kind === "flag" ? -1 : 1;
    sorted.direction = sorted.index === index ? -sorted.direction : first;
    sorted.index = index;
    rows = section.rows.toSorted((a, b) => compareCells(a[index], b[index], sorted.direction));
    for (const [place, cell] of cells.entries()) {
      if (place !== index) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", sorted.direction > 0 ? "ascending" : "descending");
    }
    fill();
  };
  const { head, cells } = makeHead(section, sortBy);
  more.addEventListener("click", () => {
    open = !open;
    fill();
  });
  fill();

  const caption = element("caption", {}, section.title);
  const table = element("table", { role: "table" }, caption, head, body);
  // What scrolls sideways has to be reachable by keyboard.
  const frame = { class: "table", tabindex: "0", role: "region", "aria-label": section.title };
  const parts = [element("div", frame, table)];
  if (section.rows.length > ROWS_AT_FIRST) parts.push(more, paper);
  const command = section.columns.findIndex((column) => column.kind === "command");
  if (command >= 0) {
    const all = () => rows.map((row) => row[command]).filter((text) => text !== null);
    const label = `Copy all ${WHOLE.format(all().length)} commands`;
    if (all().length > 1) parts.push(copyButton(label, () => all().join("\n")));
  }
  const limited = limitSentence(section);
  if (limited) parts.push(element("p", { class: "limit" }, limited));
  return parts;
}
