"use strict";
// Figures as people read them.

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const SPACE = "\u00a0";
const NOTHING = "–";

function formatNumber(value) {
  if (!value) return "0";
  return value >= 100 ? WHOLE.format(value) : SHORT.format(value);
}

function formatBytes(value) {
  let unit = 0;
  let left = value || 0;
  // 1023.6 would be rounded to 1,024 of a unit.
  while (left >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    left /= 1024;
    unit += 1;
  }
  return `${formatNumber(left)}${SPACE}${BYTE_UNITS[unit]}`;
}

function formatMicroseconds(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value < 999.5) return `${SHORT.format(value)}${SPACE}µs`;
  if (value < 999500) return `${SHORT.format(value / 1000)}${SPACE}ms`;
  return `${SHORT.format(value / 1e6)}${SPACE}s`;
}

function formatSeconds(value) {
  if (value === null || value === undefined) return NOTHING;
  const seconds = Math.max(0, value);
  if (seconds < 10) return `${SHORT.format(Math.round(seconds * 10) / 10)}${SPACE}s`;
  if (seconds < 120) return `${Math.round(seconds)}${SPACE}s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)}${SPACE}min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)}${SPACE}h`;
  return `${Math.round(seconds / 86400)}${SPACE}days`;
}

function formatTime(milliseconds) {
  return new Date(milliseconds).toLocaleTimeString([], { hour12: false });
}

/** What requests are about that concern no namespace that exists: groups, ACLs, the cluster, and a
 * namespace that is only to be made. */
const NO_NAMESPACE = "(no namespace)";

/** A namespace in words: the default one, and none at all, have no name. */
function formatNamespace(path) {
  if (path === null) return NO_NAMESPACE;
  return path === "" ? "(default)" : path;
}

/** A full topic name; where no topic is known the namespace, which ends in a colon as on the wire. */
function formatTopic(path, topic) {
  if (path === null) return NO_NAMESPACE;
  if (!topic) return path === "" || path.startsWith("(") ? formatNamespace(path) : `${path}:`;
  return path === "" || path === topic ? topic : `${path}:${topic}`;
}

function plural(count, one, many) {
  return `${WHOLE.format(count)} ${count === 1 ? one : many || `${one}s`}`;
}
