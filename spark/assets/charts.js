"use strict";
// Rows made into charts: what they share, and those that are no bars. A maker gets a section's rows
// as objects and the look (colours and width), and returns { height, option } or null if there is
// nothing to draw. It computes nothing that the table does not show, but sums.

const CHART_MAKERS = {};

// Given, since it would be measured by a sign that not every font has.
const LINE = 16;

function readLook(width) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return {
    ink: color("--ink"),
    muted: color("--muted"),
    grid: color("--line"),
    surface: color("--surface"),
    other: color("--other"),
    font: style.getPropertyValue("--font").trim(),
    palette: [1, 2, 3, 4, 5, 6, 7].map((number) => color(`--series-${number}`)),
    narrow: width < 560,
    width,
  };
}

/** Black or white, whichever is read more easily on a colour (#rrggbb). */
function inkOn(color) {
  const linear = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2);
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return light > 0.18 ? "#000000" : "#ffffff";
}

/** Colours by place; whatever comes after the last one is grey, never a colour twice. */
function colorAt(look, place) {
  return place < look.palette.length ? look.palette[place] : look.other;
}

function sumBy(rows, key, value) {
  const sums = new Map();
  for (const row of rows) {
    const name = key(row);
    sums.set(name, (sums.get(name) || 0) + (value(row) || 0));
  }
  return sums;
}

function largest(sums, count) {
  return [...sums].sort((a, b) => b[1] - a[1]).slice(0, count).map(([name]) => name);
}

const moved = (row) => (row.bytes_in || 0) + (row.bytes_out || 0);

/** A tooltip: a heading and lines of colour, name and value, all of it text. */
function tip(heading, lines) {
  const box = element("div", { class: "tip" }, element("strong", {}, heading));
  for (const { color, name, text } of lines) {
    const dot = element("i", {});
    if (color) dot.style.background = color;
    box.append(element("div", {}, dot, element("span", {}, name), element("b", {}, text)));
  }
  return box;
}

function shorten(name, most) {
  const signs = Array.from(name);
  return signs.length > most ? `${signs.slice(0, most - 1).join("")}…` : name;
}

function baseOption(look) {
  return {
    animation: false,
    textStyle: { color: look.ink, fontFamily: look.font, lineHeight: LINE },
    tooltip: {
      confine: true,
      backgroundColor: look.surface,
      borderColor: look.grid,
      textStyle: { color: look.ink, fontFamily: look.font },
    },
    legend: {
      type: "scroll",
      top: 0,
      left: 0,
      icon: "roundRect",
      itemWidth: 12,
      itemHeight: 12,
      inactiveColor: look.grid,
      pageTextStyle: { color: look.ink },
      formatter: (name) => shorten(name, look.narrow ? 18 : 36),
      textStyle: { color: look.ink },
    },
  };
}

/** A step of an axis of bytes: 1, 2 or 5, 10 and so on of a unit, some five to the largest. */
function byteStep(largestValue, steps) {
  const wanted = Math.max(1, largestValue / steps);
  const unit = 1024 ** Math.floor(Math.log2(wanted) / 10);
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((each) => each * unit >= wanted);
  return step ? step * unit : 1024 * unit;
}

function valueAxis(look, kind, largestValue, more) {
  const steps = look.narrow ? 3 : 5;
  const step = kind === "bytes" ? byteStep(largestValue, steps) : 0;
  return {
    type: "value",
    axisLabel: {
      color: look.muted,
      hideOverlap: true,
      formatter: (value) => formatTick(kind, value),
    },
    splitLine: { lineStyle: { color: look.grid } },
    splitNumber: steps,
    ...(step ? { interval: step, max: Math.ceil(largestValue / step) * step } : {}),
    ...(kind === "count" ? { minInterval: 1 } : {}),
    ...more,
  };
}

/**
 * Put together what is too small for a label: a box without one says nothing. `least` is the value
 * from which on a box has room.
 */
function foldSmall(siblings, least) {
  for (const node of siblings) foldSmall(node.children || [], least);
  const small = siblings.filter((node) => node.value < least);
  const kept = siblings.filter((node) => node.value >= least);
  if (small.length < 2) return;
  const value = small.reduce((sum, node) => sum + node.value, 0);
  const named = small.map((node) => node.path).sort().join(", ");
  const folded = { name: `${small.length} smaller`, path: shorten(named, 200), value, folded: true };
  siblings.splice(0, siblings.length, ...kept, folded);
}

/** A box in which nothing has room for a label is one box. */
function closeSmall(nodes, least) {
  for (const node of nodes) {
    const open = (node.children || []).filter((child) => child.value >= least);
    if (open.length === 0 || node.value < 2 * least) delete node.children;
    else closeSmall(node.children, least);
  }
}

/** The namespaces as boxes inside boxes. */
CHART_MAKERS.tree = (rows, look) => {
  const nodes = new Map();
  const roots = [];
  const place = (path) => {
    if (nodes.has(path)) return nodes.get(path);
    const cut = path.lastIndexOf(":");
    const node = { name: path.slice(cut + 1), path, value: 0, children: [] };
    nodes.set(path, node);
    (cut < 0 ? roots : place(path.slice(0, cut)).children).push(node);
    return node;
  };
  for (const row of rows) {
    if (row.tier !== "(all)" && moved(row) > 0) place(row.tier || "(default)").value = moved(row);
  }
  if (roots.length === 0) return null;
  for (const node of nodes.values()) {
    if (node.children.length === 0) continue;
    const below = node.children.reduce((sum, child) => sum + child.value, 0);
    node.value = Math.max(node.value, below);
    // Children would fill the box of their parent; what is its own has a box too.
    if (node.value > below) {
      const own = { name: "(itself)", path: `${node.path} itself`, value: node.value - below };
      node.children.push(own);
    }
  }
  const least = roots.reduce((sum, root) => sum + root.value, 0) * (look.narrow ? 0.035 : 0.012);
  foldSmall(roots, least);
  closeSmall(roots, least);
  roots.sort((a, b) => b.value - a.value);
  for (const [index, root] of roots.entries()) {
    const color = root.folded ? look.other : colorAt(look, index);
    root.itemStyle = { color };
    paintLabels(root, inkOn(color));
  }
  const border = { borderColor: look.surface, borderWidth: 2, gapWidth: 2 };
  return {
    height: 420,
    option: {
      ...baseOption(look),
      legend: undefined,
      tooltip: {
        ...baseOption(look).tooltip,
        formatter: ({ data, value }) =>
          tip(data.path || "all", [{ name: "in and out", text: formatBytes(value) }]),
      },
      series: {
        type: "treemap",
        // On by itself, and then paper is printed before the labels have faded in.
        animation: false,
        data: roots,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        left: 0,
        right: 0,
        top: 0,
        bottom: 0,
        label: {
          formatter: ({ name, value }) => `${name}\n${formatBytes(value)}`,
          lineHeight: LINE,
          fontSize: look.narrow ? 11 : 12,
          padding: look.narrow ? 0 : 5,
        },
        upperLabel: {
          show: true,
          height: 22,
          color: look.ink,
          formatter: ({ name, value }) => `${name}  ${formatBytes(value)}`,
        },
        itemStyle: border,
        levels: [
          { itemStyle: { borderWidth: 0, gapWidth: 3 }, upperLabel: { show: false } },
          { itemStyle: border },
        ],
      },
    },
  };
};

function paintLabels(node, color) {
  node.label = { color };
  for (const child of node.children || []) paintLabels(child, color);
}

/** Producers on the left, topics between, consumers on the right. */
CHART_MAKERS.flows = (rows, look) => {
  const shown = rows.filter((row) => row.bytes > 0).slice(0, look.narrow ? 15 : 40);
  if (shown.length === 0) return null;
  // One client may stand on both sides, and a flow goes one way: a side is part of a node's name.
  const sides = ["producer", "topic", "consumer"];
  const nodes = new Map();
  const links = new Map();
  const node = (side, value) => {
    const name = `${side}|${value}`;
    nodes.set(name, { name, depth: side, itemStyle: { color: colorAt(look, side) } });
    return name;
  };
  const link = (source, target, bytes) => {
    const key = JSON.stringify([source, target]);
    const known = links.get(key) || { source, target, value: 0 };
    known.value += bytes;
    links.set(key, known);
  };
  for (const row of shown) {
    const names = sides.map((key, side) =>
      row[key] === null ? null : node(side, formatValue("text", row[key])),
    );
    if (names[0] !== null) link(names[0], names[1], row.bytes);
    if (names[2] !== null) link(names[1], names[2], row.bytes);
  }
  const bare = (name) => name.slice(2);
  const label = { color: look.ink, overflow: "truncate", formatter: ({ name }) => bare(name) };
  const tallest = Math.max(...[0, 1, 2].map((side) => countSide(nodes, side)));
  return {
    height: Math.max(220, tallest * 34 + 20),
    option: {
      ...baseOption(look),
      legend: undefined,
      tooltip: {
        ...baseOption(look).tooltip,
        formatter: ({ dataType, data, name, value }) =>
          dataType === "edge"
            ? tip(`${bare(data.source)} → ${bare(data.target)}`, [
                { name: "bytes", text: formatBytes(value) },
              ])
            : tip(bare(name), [{ name: "bytes", text: formatBytes(value) }]),
      },
      series: {
        type: "sankey",
        data: [...nodes.values()],
        links: [...links.values()],
        draggable: false,
        nodeGap: 12,
        nodeWidth: 12,
        left: 0,
        right: look.narrow ? 90 : 150,
        top: 8,
        bottom: 8,
        emphasis: { focus: "adjacency" },
        lineStyle: { color: "source", opacity: 0.35, curveness: 0.5 },
        label: { ...label, width: look.narrow ? 80 : 140 },
      },
    },
  };
};

function countSide(nodes, side) {
  return [...nodes.values()].filter(({ depth }) => depth === side).length;
}
