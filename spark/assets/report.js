"use strict";
// The page: everything out of the one JSON block.

const REPORT = JSON.parse(document.getElementById("report-data").textContent);
const DRAWN = [];
const PAPER_WIDTH = 680;

REPORT.totals.row = withLargeNumbers(REPORT.totals.row, REPORT.totals.columns);
for (const section of REPORT.sections) {
  section.rows = section.rows.map((row) => withLargeNumbers(row, section.columns));
}

/** A section's rows as objects, which is how the charts read them: a chart shows no 16 digits. */
function rowObjects(section) {
  const keys = section.columns.map((column) => column.key);
  const drawn = (value) => (typeof value === "bigint" ? Number(value) : value);
  return section.rows.map((row) => Object.fromEntries(keys.map((key, i) => [key, drawn(row[i])])));
}

function showAbout() {
  const { source, made, first, last, notes } = REPORT.about;
  const sentences = [];
  if (first && last) sentences.push(`From ${formatTime(first)} to ${formatTime(last)} UTC.`);
  sentences.push(`Read from ${source}.`, `Made ${formatTime(made)} UTC.`, ...notes);
  document.getElementById("about").textContent = sentences.join(" ");
}

function showTotals() {
  const list = document.getElementById("totals");
  for (const [index, column] of REPORT.totals.columns.entries()) {
    const value = REPORT.totals.row[index];
    if (value === null) continue;
    const figure = element("dd", {}, formatValue(column.kind, value));
    figure.dataset.value = value;
    const exact = exactValue(column.kind, value);
    if (exact) figure.title = exact;
    list.append(element("div", {}, element("dt", {}, column.label), figure));
  }
  const count = list.children.length;
  list.style.setProperty("--wide", evenColumns(count, 6));
  list.style.setProperty("--middle", evenColumns(count, 4));
}

/** How many columns leave the fewest empty places, of those that have room. */
function evenColumns(count, most) {
  const empty = (columns) => (columns - (count % columns)) % columns;
  return [most, most - 1, most - 2].filter((one) => one > 0).reduce((best, one) => (empty(one) < empty(best) ? one : best));
}

/** Headings stop below the navigation, which is as high as its lines. */
function watchNavigation() {
  const nav = document.querySelector("nav");
  const measure = () => {
    const stays = getComputedStyle(nav).position === "sticky";
    document.documentElement.style.scrollPaddingTop = `${(stays ? nav.offsetHeight : 0) + 8}px`;
  };
  new ResizeObserver(measure).observe(nav);
  measure();
}

function showSection(section) {
  const title = element("h2", {}, section.title);
  if (section.kip) title.append(" ", element("span", { class: "kip" }, section.kip));
  const part = element("section", { id: section.table }, title, element("p", {}, section.lead));
  document.getElementById("content").append(part);
  const link = element("a", { href: `#${section.table}` }, section.title);
  document.getElementById("contents").append(element("li", {}, link));
  if (section.rows.length === 0) {
    part.append(element("p", { class: "empty" }, section.empty));
    return;
  }
  const charts = element("div", { class: "charts" });
  part.append(charts, ...makeTable(section));
  const rows = rowObjects(section);
  for (const { maker, caption } of section.charts) {
    const label = `${caption}. The table below has the figures.`;
    const canvas = element("div", { class: "chart", role: "img", "aria-label": label });
    canvas.dataset.chart = maker;
    const figure = element("figure", {}, element("figcaption", {}, caption), canvas);
    charts.append(figure);
    DRAWN.push({ make: CHART_MAKERS[maker], rows, figure, canvas, chart: null, width: 0 });
  }
}

/** Draw one chart as wide as its place, or take its figure away if there is nothing to draw. */
function draw(drawn, width) {
  const made = drawn.make(drawn.rows, readLook(width));
  drawn.figure.hidden = made === null;
  if (made === null) return;
  drawn.width = width;
  drawn.canvas.style.height = `${made.height}px`;
  drawn.chart ||= echarts.init(drawn.canvas, null, { renderer: "svg", width, height: made.height });
  drawn.chart.resize({ width, height: made.height });
  drawn.chart.setOption(made.option, { notMerge: true });
}

function drawAll(width) {
  for (const drawn of DRAWN) draw(drawn, width || drawn.canvas.clientWidth || 600);
}

function redrawOnChange() {
  const observer = new ResizeObserver((entries) => {
    for (const { target, contentRect } of entries) {
      const drawn = DRAWN.find(({ canvas }) => canvas === target);
      const width = Math.floor(contentRect.width);
      if (width > 0 && width !== drawn.width && !matchMedia("print").matches) {
        // Drawing changes the size of what is being observed: not in the same frame.
        requestAnimationFrame(() => draw(drawn, width));
      }
    }
  });
  for (const { canvas } of DRAWN) observer.observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
  // On paper: light, and as wide as a sheet. The style sheet knows only once printing has begun.
  matchMedia("print").addEventListener("change", ({ matches }) =>
    drawAll(matches ? PAPER_WIDTH : 0),
  );
}

showAbout();
showTotals();
for (const section of REPORT.sections) showSection(section);
drawAll();
redrawOnChange();
watchNavigation();
document.documentElement.dataset.ready = "yes";
