"use strict";
// Values as people read them. Everything ends up in text nodes, never in markup.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const ONE_DECIMAL = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

function formatBytes(value) {
  let unit = 0;
  let left = Number(value);
  // 1023.6 would be rounded to 1,024 of a unit.
  while (left >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  // Three digits, but never fewer than the whole ones: 1,001 KiB is not 1,000 KiB.
  const text = left >= 100 ? WHOLE.format(left) : SHORT.format(left);
  return `${text}\u00a0${BYTE_UNITS[unit]}`;
}

function formatMicroseconds(whole) {
  const value = Number(whole);
  if (value < 999.5) return `${SHORT.format(value)}\u00a0µs`;
  if (value < 999500) return `${SHORT.format(value / 1000)}\u00a0ms`;
  const seconds = value / 1000000;
  return `${seconds >= 100 ? WHOLE.format(seconds) : SHORT.format(seconds)}\u00a0s`;
}

function formatTime(value) {
  return value.replace("T", " ").replace(/(:\d\d)(:00)?Z$/, "$1");
}

/** A cell's value in words. */
function formatValue(kind, value) {
  if (kind === "namespace") {
    if (value === null) return "(none)";
    return value === "" ? "(default)" : value;
  }
  if (value === null || value === "") return "–";
  switch (kind) {
    case "bytes":
      return formatBytes(value);
    case "us":
      return formatMicroseconds(value);
    case "count":
      return WHOLE.format(value);
    case "number":
      return ONE_DECIMAL.format(value);
    case "flag":
      return value ? "yes" : "no";
    case "time":
      return formatTime(value);
    default:
      return String(value);
  }
}

/** The value in full where the words round it, else "". */
function exactValue(kind, value) {
  if (value === null) return "";
  if (kind === "bytes" && value >= 1024) return `${WHOLE.format(value)} bytes`;
  if (kind === "us" && value >= 1000) return `${WHOLE.format(value)} µs`;
  return "";
}

/** A value at the edge of a chart, where there is little room. */
function formatTick(kind, value) {
  return kind === "count" ? COMPACT.format(value) : formatValue(kind, value);
}

const NUMBER_KINDS = new Set(["bytes", "count", "us", "number"]);

/** A row with its large numbers: those that a Number would round are in the JSON as digits. */
function withLargeNumbers(row, columns) {
  return row.map((value, index) =>
    typeof value === "string" && NUMBER_KINDS.has(columns[index].kind) ? BigInt(value) : value,
  );
}

/** An element with attributes and children; text children are text, whatever they hold. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
