"use strict";
// Namespaces and topics as a tree that is a table (the WAI-ARIA treegrid pattern): arrow keys move
// and open, Home and End go to the ends, Enter opens or closes.

const TREE_COLUMNS = [
  { label: "Requests/s", key: "requests", text: formatNumber },
  { label: "In/s", key: "bytes_in", text: formatBytes },
  { label: "Out/s", key: "bytes_out", text: formatBytes },
  { label: "Records in/s", key: "records_in", text: formatNumber, wide: true },
  { label: "Records out/s", key: "records_out", text: formatNumber, wide: true },
];
const TREE_SUMS = [...TREE_COLUMNS.map((column) => column.key), "errors", "denials"];
/** With more nodes than this a tree opens with its first level alone, and so many with traffic. */
const OPEN_AT_FIRST = 30;
/** With so many nodes there is a filter. */
const FILTER_FROM = 12;
const SHORT_TREE = 30; // on a phone, as page.css has it

function emptyNode(key, name, kind) {
  const node = { key, name, kind, children: new Map(), topics: 0, idle: true };
  for (const sum of TREE_SUMS) node[sum] = 0;
  return node;
}

/** The tree of a state: tiers are nodes, topics the leaves. Rates add up from the leaves. */
function buildTree(state) {
  const root = emptyNode("", "", "root");
  const nodeOf = (path) => {
    if (path === null || path === "" || path.startsWith("(")) return special(root, path);
    let node = root;
    let key = "";
    for (const tier of path.split(":")) {
      key = key ? `${key}:${tier}` : tier;
      if (!node.children.has(tier)) node.children.set(tier, emptyNode(key, tier, "namespace"));
      node = node.children.get(tier);
    }
    return node;
  };
  for (const cluster of state.clusters) for (const path of cluster.namespaces) nodeOf(path);
  for (const cluster of state.clusters) {
    if (cluster.mount) nodeOf(cluster.mount).mount = cluster.name;
  }
  for (const row of state.namespaces.rows) addTo(root, row.path, row, nodeOf);
  for (const row of state.topics.rows) {
    const parent = nodeOf(row.path);
    const key = `${parent.key}::${row.topic}`;
    const leaf = emptyNode(key, row.topic, "topic");
    for (const sum of TREE_SUMS) leaf[sum] = row[sum];
    leaf.idle = false;
    parent.children.set(`:${row.topic}`, leaf);
    parent.topics += 1;
  }
  return root;
}

function special(root, path) {
  const key = path === null ? NO_NAMESPACE : path === "" ? "(default)" : path;
  if (!root.children.has(key)) root.children.set(key, emptyNode(key, key, "special"));
  return root.children.get(key);
}

/** Add the rates of a namespace to it and to all above it. */
function addTo(root, path, row, nodeOf) {
  const nodes = [nodeOf(path)];
  if (nodes[0].kind === "namespace") {
    const tiers = path.split(":");
    for (let count = 1; count < tiers.length; count += 1) {
      nodes.push(nodeOf(tiers.slice(0, count).join(":")));
    }
  }
  for (const node of nodes) {
    for (const sum of TREE_SUMS) node[sum] += row[sum];
    node.idle = false;
  }
}

class NamespaceTree {
  constructor(section) {
    this.opened = new Map();
    this.busy = new Set();
    this.kept = new Map();
    this.current = null;
    this.weights = new Map();
    this.weighed = -Infinity;
    this.onlyBusy = false;
    this.body = element("tbody");
    this.makeTools();
    const name = element("th", { scope: "col" }, "Namespace or topic");
    const head = element("tr", {}, name, ...TREE_COLUMNS.map((column) => element(
      "th", { scope: "col", class: column.wide ? "number wide" : "number" }, column.label,
    )));
    const caption = element("caption", {}, "Namespaces and topics with their traffic");
    this.table = element(
      "table", { role: "treegrid", "aria-labelledby": "h-namespaces" },
      caption, element("thead", {}, head), this.body,
    );
    this.empty = element(
      "p", { class: "empty" },
      "There is no namespace, and no traffic. Make one: kafka-gateway topics --create --namespace NAME",
    );
    this.more = element("p", { class: "more", hidden: "" });
    this.box = element("div", { class: "table" }, this.table);
    this.none = element("p", { class: "empty", hidden: "" }, "No namespace and no topic here is like that.");
    this.all = element("button", { type: "button", class: "all", "aria-expanded": "false" });
    this.all.addEventListener("click", () => {
      setAttribute(this.all, "aria-expanded", this.box.classList.toggle("open"));
      this.draw();
    });
    section.append(this.tools, this.box, this.all, this.empty, this.none, this.more);
    this.body.addEventListener("keydown", (event) => this.pressed(event));
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("focusin", (event) => this.focused(event));
  }

  makeTools() {
    this.filter = element("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter namespaces and topics by name", autocomplete: "off", spellcheck: "false" });
    this.filter.addEventListener("input", () => this.draw());
    this.busyButton = element("button", { type: "button", "aria-pressed": "false" }, "Only busy");
    this.busyButton.addEventListener("click", () => {
      this.onlyBusy = !this.onlyBusy;
      setAttribute(this.busyButton, "aria-pressed", this.onlyBusy);
      this.draw();
    });
    this.tools = element("div", { class: "tools" }, this.filter, this.busyButton);
  }

  show(state) {
    this.root = buildTree(state);
    this.count = countNodes(this.root);
    this.tools.hidden = this.count < FILTER_FROM;
    this.weigh();
    this.draw();
    const more = state.namespaces.more + state.clusters.reduce(
      (sum, one) => sum + Math.max(0, one.namespaces_in_all - one.namespaces.length), 0,
    );
    this.more.hidden = !more;
    setText(this.more, more ? `and up to ${plural(more, "namespace")} more` : "");
  }

  draw() {
    this.rows = [];
    this.largest = Math.max(1, ...[...this.root.children.values()].map(
      (node) => node.bytes_in + node.bytes_out,
    ));
    this.wanted = this.filter.value.trim().toLowerCase();
    if (this.wanted) markMatches(this.root, this.wanted, false);
    this.list(this.root, 1);
    this.box.hidden = this.rows.length === 0;
    this.empty.hidden = this.count > 0;
    this.none.hidden = this.count === 0 || this.rows.length > 0;
    this.all.hidden = this.rows.length <= SHORT_TREE;
    setText(this.all, this.box.classList.contains("open") ? "Show fewer rows" : `Show all ${plural(this.rows.length, "row")}`);
    if (!this.rows.some(({ node }) => node.key === this.current)) {
      this.current = this.rows.length ? this.rows[0].node.key : null;
    }
    keepInStep(this.body, this.kept, this.rows, ({ node }) => node.key, () => this.makeRow(),
      (row, item) => this.fillRow(row, item));
  }

  /** How busy each node is, for its place: not while somebody is in the tree, since rows would jump. */
  weigh() {
    const now = performance.now();
    const inside = this.box.matches(":hover") || this.box.contains(document.activeElement);
    if (now - this.weighed < 1000 * CALM_SECONDS || (inside && this.weights.size)) return;
    this.weighed = now;
    this.weights = new Map();
    const visit = (node) => {
      this.weights.set(node.key, node.idle ? 0 : 1 + node.bytes_in + node.bytes_out + 1000 * node.requests);
      node.children.forEach(visit);
    };
    visit(this.root);
  }

  shows(node) {
    return !(this.onlyBusy && node.idle) && !(this.wanted && !node.matches);
  }

  /** The busiest first; those without traffic by name. */
  list(node, level) {
    const rank = { namespace: 0, topic: 1, special: 2 };
    const weight = (one) => this.weights.get(one.key) || 0;
    const children = [...node.children.values()].filter((one) => this.shows(one)).sort(
      (a, b) => rank[a.kind] - rank[b.kind] || weight(b) - weight(a) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    );
    children.forEach((child, index) => {
      this.rows.push({ node: child, level, place: index + 1, size: children.length, parent: node });
      if (child.children.size && this.isOpen(child, level)) this.list(child, level + 1);
    });
  }

  isOpen(node, level) {
    if (this.wanted && node.below) return true;
    const chosen = this.opened.get(node.key);
    if (chosen !== undefined) return chosen;
    if (!node.idle && this.busy.size < OPEN_AT_FIRST) this.busy.add(node.key);
    // What was busy stays open when it is not, so that nothing jumps.
    if (this.count <= OPEN_AT_FIRST || this.busy.has(node.key)) return true;
    return level === 1 && node.children.size <= 12;
  }

  makeRow() {
    const toggle = element("span", { class: "toggle", "aria-hidden": "true" });
    const name = element(
      "td", { role: "gridcell", class: "name" },
      element("div", {}, toggle, element("span", { class: "text" }), element("span", { class: "tag" })),
    );
    const cells = TREE_COLUMNS.map((column) =>
      element("td", { role: "gridcell", class: column.wide ? "number wide" : "number" }),
    );
    return element("tr", { role: "row", tabindex: "-1" }, name, ...cells);
  }

  fillRow(row, { node, level, place, size }) {
    row.dataset.key = node.key;
    row.className = node.idle ? `${node.kind} idle` : node.kind;
    setAttribute(row, "aria-level", level);
    setAttribute(row, "aria-posinset", place);
    setAttribute(row, "aria-setsize", size);
    const open = node.children.size ? this.isOpen(node, level) : null;
    setAttribute(row, "aria-expanded", open);
    setAttribute(row, "tabindex", node.key === this.current ? "0" : "-1");
    const [toggle, text, tag] = row.cells[0].firstElementChild.children;
    row.cells[0].firstElementChild.style.setProperty("--level", level - 1);
    setText(toggle, open === null ? "" : open ? "▾" : "▸");
    setText(text, node.name);
    setAttribute(row.cells[0], "title", node.kind === "topic" ? node.key.replace("::", ":") : node.key);
    const facts = [node.mount ? `cluster ${node.mount}` : "", node.errors ? `${formatNumber(node.errors)} errors/s` : ""];
    setText(tag, facts.filter(Boolean).join(" · "));
    tag.classList.toggle("bad", node.errors > 0);
    TREE_COLUMNS.forEach((column, index) => {
      const value = node[column.key];
      const cell = row.cells[index + 1];
      setText(cell, value ? column.text(value) : NOTHING);
      cell.classList.toggle("zero", !value);
    });
    const share = (node.bytes_in + node.bytes_out) / this.largest;
    row.cells[0].style.backgroundSize = `${(100 * share).toFixed(1)}% 100%`;
  }

  toggle(key, open) {
    const found = this.rows.find(({ node }) => node.key === key);
    if (!found || !found.node.children.size) return;
    this.opened.set(key, open === undefined ? !this.isOpen(found.node, found.level) : open);
    this.draw();
  }

  focusOn(key) {
    if (key === undefined || key === null) return;
    this.current = key;
    this.draw();
    this.kept.get(key)?.focus();
  }

  focused(event) {
    const row = event.target.closest("tr");
    if (row && row.dataset.key !== this.current) {
      this.kept.get(this.current)?.setAttribute("tabindex", "-1");
      this.current = row.dataset.key;
      row.setAttribute("tabindex", "0");
    }
  }

  clicked(event) {
    const row = event.target.closest("tr");
    // Who marks a name, to copy it, does not want the row to close.
    if (row && getSelection().isCollapsed) this.toggle(row.dataset.key);
  }

  pressed(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.rows.findIndex(({ node }) => node.key === this.current);
    if (at < 0) return;
    const { node, level, parent } = this.rows[at];
    const open = node.children.size > 0 && this.isOpen(node, level);
    const key = (place) => this.rows[place]?.node.key;
    const moves = {
      ArrowDown: () => this.focusOn(key(at + 1)),
      ArrowUp: () => this.focusOn(key(at - 1)),
      Home: () => this.focusOn(key(0)),
      End: () => this.focusOn(key(this.rows.length - 1)),
      ArrowRight: () => (open ? this.focusOn(key(at + 1)) : this.toggle(node.key, true)),
      ArrowLeft: () => (open ? this.toggle(node.key, false) : this.focusOn(parent.key || null)),
      Enter: () => this.toggle(node.key),
      " ": () => this.toggle(node.key),
    };
    if (moves[event.key]) {
      event.preventDefault();
      moves[event.key]();
    }
  }
}

/**
 * Mark what a filter shows: nodes whose whole name has the words in it, with all in them, and what
 * leads to them (`below`), which is open.
 */
function markMatches(node, wanted, inside) {
  const own = inside || (node.key !== "" && node.key.replace("::", ":").toLowerCase().includes(wanted));
  node.below = false;
  for (const child of node.children.values()) {
    markMatches(child, wanted, own);
    if (child.matches && !own) node.below = true;
  }
  node.matches = own || node.below;
}

function countNodes(node) {
  let count = 0;
  for (const child of node.children.values()) count += 1 + countNodes(child);
  return count;
}
