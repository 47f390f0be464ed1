"use strict";
// The gateways that share a catalog, and the mounts of a tree.

const DOWN = "accepts no connection";

class Fleet {
  constructor() {
    const section = sectionOf("fleet");
    this.note = element("p", { class: "lead" });
    section.append(this.note);
    const figure = (row, name, format) => (row.second ? format(row.second[name]) : NOTHING);
    this.table = new LiveTable(section, "Gateways that share the catalog", [
      { label: "Gateway", text: (row) => row.id, mark: (row) => (row.own ? "own" : null), link: (row) => (row.own ? null : row.page), title: (row) => (row.own ? "this gateway" : null) },
      { label: "State", text: (row) => row.state, mark: (row) => (row.bad ? "bad" : null) },
      { label: "Requests/s", text: (row) => figure(row, "requests", formatNumber), number: true },
      { label: "In/s", text: (row) => figure(row, "bytes_in", formatBytes), number: true },
      { label: "Out/s", text: (row) => figure(row, "bytes_out", formatBytes), number: true },
      { label: "Errors/s", text: (row) => figure(row, "errors", formatNumber), number: true },
      { label: "Connections", text: (row) => (row.connections === undefined ? NOTHING : WHOLE.format(row.connections)), number: true },
      { label: "Software", text: (row) => row.software, title: (row) => (row.node ? `node ${row.node}` : null) },
      { label: "Addresses", text: (row) => (row.addresses ? Object.values(row.addresses).join(", ") || "not listed among the brokers" : "") },
    ], (row) => row.key, "The catalog has not been read yet.");
  }

  show(clusters, gateway, fleet) {
    const found = new Map();
    const down = new Set();
    let more = 0;
    for (const cluster of clusters) {
      more += Math.max(0, cluster.gateways_in_all - cluster.gateways.length);
      for (const id of cluster.gateways_down) down.add(id);
      for (const one of cluster.gateways) {
        if (!found.has(one.id)) found.set(one.id, { ...one, ...(fleet?.[one.id] || {}), key: one.id, own: one.id === gateway.id });
      }
    }
    const rows = [...found.values()].map((row) => ({ ...row, ...stateOf(row, down, gateway) }));
    rows.sort((a, b) => b.bad - a.bad || b.own - a.own);
    const lost = rows.filter((row) => down.has(row.id)).map((row) => row.id);
    const hint = fleet === null && rows.length > 1 ? " metrics.fleet_url adds what each does, and links." : "";
    const alone = rows.length === 1 ? "This gateway is the only one. " : "";
    const words = lost.length ? `${listed(lost)} ${lost.length === 1 ? "accepts" : "accept"} no connection.` : `${alone}Gateways that share the catalog of a cluster.`;
    setText(this.note, words + hint);
    this.note.classList.toggle("bad", lost.length > 0);
    this.table.box.classList.toggle("bare", fleet === null);
    const telling = rows.filter((row) => row.second);
    if (fleet !== null && telling.length > 1) rows.push(sumOf(telling, rows.length));
    this.table.show(rows, more, "gateway");
  }
}

/** A few names, and how many there are besides. */
function listed(names) {
  const shown = names.slice(0, 3).join(", ");
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

function stateOf(row, down, gateway) {
  if (row.own) return gateway.problems.length ? { state: "not ready", bad: 1 } : { state: "this gateway", bad: 0 };
  if (down.has(row.id)) return { state: DOWN, bad: 1, second: null };
  if (row.ready === false) return { state: "not ready", bad: 1 };
  if (row.second) return { state: "up", bad: 0 };
  // Only those that are listed among the brokers are looked at by the others.
  if (Object.keys(row.addresses).length) return { state: row.problem ? `up; page: ${row.problem}` : "up", bad: 0 };
  return row.problem ? { state: `page: ${row.problem}`, bad: 1 } : { state: "not known", bad: 0 };
}

function sumOf(rows, count) {
  const second = {};
  for (const name of ["requests", "bytes_in", "bytes_out", "errors"]) {
    second[name] = rows.reduce((sum, row) => sum + (row.second[name] || 0), 0);
  }
  const connections = rows.reduce((sum, row) => sum + row.connections, 0);
  const state = rows.length === count ? "" : `${rows.length} of ${count}`;
  return { key: "(sum)", id: "All", own: true, state, bad: 0, second, connections, software: "", addresses: null };
}

class TreeOfMounts {
  constructor() {
    this.section = sectionOf("mounts");
    const rate = (name, format) => (row) => (row[name] === undefined ? NOTHING : format(row[name]));
    this.table = new LiveTable(this.section, "Mounts of the tree", [
      { label: "Mount", text: (row) => (row.mount === null ? "(above)" : `:${row.mount}`) },
      { label: "Is", text: (row) => ({ cluster: "cluster of this gateway", child: "another gateway, below", parent: "another gateway, above" })[row.kind] },
      { label: "Name", text: (row) => row.of },
      { label: "State", text: (row) => row.state || NOTHING, mark: (row) => (row.state === null || row.state === "ok" ? null : "bad") },
      { label: "Number", text: (row) => (row.number === null ? NOTHING : String(row.number)), number: true },
      { label: "Requests/s", text: rate("requests", formatNumber), number: true },
      { label: "In/s", text: rate("bytes_in", formatBytes), number: true },
      { label: "Out/s", text: rate("bytes_out", formatBytes), number: true },
      { label: "Errors/s", text: rate("errors", formatNumber), number: true },
    ], (row) => JSON.stringify([row.mount, row.kind, row.of]), "There is no mount.");
  }

  show(tree) {
    this.section.hidden = tree === null;
    document.querySelector("nav [data-tree]").hidden = tree === null;
    if (tree !== null) this.table.show(tree.rows, 0, "mount");
  }
}
