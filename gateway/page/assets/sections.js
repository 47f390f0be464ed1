"use strict";
// The sections below the curves, each out of its part of the state.

function sectionOf(id) {
  return document.getElementById(id);
}

/** Errors are summed up over a minute, of which the first one is not over yet. */
function sinceWhen(seconds) {
  if (seconds >= 60) return "in the last minute";
  return seconds < 2 ? "so far" : `in the last ${formatSeconds(Math.round(seconds))}`;
}

class Figures {
  constructor() {
    this.list = document.getElementById("figures");
    this.kept = new Map();
  }

  show(state) {
    const { second, latency } = state;
    const connections = state.gateway.listeners.reduce((sum, one) => sum + one.connections, 0);
    const errors = state.errors.count;
    const items = [
      ["In", `${formatBytes(second.bytes_in)}/s`, `${formatNumber(second.records_in)} records/s`],
      ["Out", `${formatBytes(second.bytes_out)}/s`, `${formatNumber(second.records_out)} records/s`],
      ["Requests", `${formatNumber(second.requests)}/s`, plural(connections, "connection")],
      ["Gateway, 99 %", formatMicroseconds(latency.gateway[1]), `median ${formatMicroseconds(latency.gateway[0])}`],
      ["Broker, 99 %", formatMicroseconds(latency.broker[1]), `median ${formatMicroseconds(latency.broker[0])}`],
      ["Errors", WHOLE.format(errors), sinceWhen(state.errors.seconds), errors > 0],
    ];
    keepInStep(this.list, this.kept, items, ([label]) => label, ([label]) =>
      element("div", {}, element("dt", {}, label), element("dd", {}, ""), element("dd", { class: "sub" }, "")),
      (node, [, value, sub, bad]) => {
        setText(node.children[1], value);
        setText(node.children[2], sub);
        node.classList.toggle("bad", Boolean(bad));
      });
  }
}

function makeClients() {
  return new LiveTable(
    sectionOf("clients"), "Clients, the topics they use, and their traffic",
    [
      { label: "Client", text: (row) => row.client_id || "(no client id)", title: (row) => row.software || null },
      { label: "Principal", text: (row) => row.principal },
      { label: "Topic", text: (row) => formatTopic(row.namespace, row.topic), title: (row) => (row.cluster ? `cluster ${row.cluster}, listener ${row.listener}` : null) },
      { label: "Requests/s", text: (row) => formatNumber(row.requests), number: true },
      { label: "In/s", text: (row) => (row.bytes_in ? formatBytes(row.bytes_in) : NOTHING), number: true },
      { label: "Out/s", text: (row) => (row.bytes_out ? formatBytes(row.bytes_out) : NOTHING), number: true },
    ],
    (row) => JSON.stringify([row.cluster, row.namespace, row.topic, row.listener, row.principal, row.client_id, row.software]),
    "No client has sent a request in the last ten seconds.",
  );
}

function makeApis() {
  const part = (row, side, index) => formatMicroseconds(row[side][index]);
  return new LiveTable(
    sectionOf("apis"), "Latency by API, split into gateway and broker",
    [
      { label: "API", text: (row) => row.api, title: (row) => (row.waits ? "waits at the broker for records, or for other members" : null) },
      { label: "Requests", text: (row) => WHOLE.format(row.requests), number: true, title: () => "in the last ten seconds" },
      { label: "Gateway, median", text: (row) => part(row, "gateway", 0), number: true },
      { label: "Gateway, 99 %", text: (row) => part(row, "gateway", 1), number: true },
      { label: "Broker, median", text: (row) => part(row, "broker", 0), number: true, mark: (row) => (row.waits ? "waits" : null) },
      { label: "Broker, 99 %", text: (row) => part(row, "broker", 1), number: true, mark: (row) => (row.waits ? "waits" : null) },
    ],
    (row) => row.api,
    "No request in the last ten seconds.",
  );
}

function makeErrors() {
  return new LiveTable(
    sectionOf("errors"), "Errors by Kafka's code",
    [
      { label: "Error", text: (row) => row.error, title: (row) => `code ${row.code}` },
      { label: "API", text: (row) => row.api },
      { label: "Namespace", text: (row) => formatNamespace(row.path) },
      { label: "Count", text: (row) => WHOLE.format(row.count), number: true },
    ],
    (row) => JSON.stringify([row.code, row.api, row.cluster, row.path]),
    "No response had an error code.",
  );
}

class Denials {
  constructor() {
    this.section = sectionOf("denials");
    this.kept = new Map();
    this.list = element("ul", { class: "denials" });
    this.empty = element("p", { class: "empty" }, "Nothing was denied.");
    this.more = element("p", { class: "more", hidden: "" });
    this.section.append(this.list, this.empty, this.more);
  }

  show({ rows, more }, now) {
    this.list.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    this.more.hidden = !more;
    setText(this.more, more ? `and ${WHOLE.format(more)} more; the audit log has all of them` : "");
    keepInStep(this.list, this.kept, rows, (row) => JSON.stringify([
      row.principal, row.client_id, row.listener, row.api, row.rule, row.operation, row.named, row.resource, row.cluster, row.commands,
    ]), (row) => makeDenial(row), (node, row) => {
      const times = row.count > 1 ? `${WHOLE.format(row.count)} times, last ` : "";
      setText(node.querySelector(".when"), `${times}${formatSeconds((now - row.time) / 1000)} ago`);
    });
  }
}

function makeDenial(row) {
  const facts = [
    row.client_id ? `client ${row.client_id}` : "", row.address, row.listener ? `listener ${row.listener}` : "",
    row.api, row.error, row.source ? `rule ${row.rule} of ${row.source}` : row.rule === "acl" ? "" : `rule ${row.rule}`,
  ];
  const item = element(
    "li", {},
    element("p", { class: "what" }, element("strong", {}, row.message || row.named || row.resource), element("span", { class: "when" })),
    element("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
  );
  if (row.because) item.append(element("p", { class: "why" }, `Because: ${row.because}.`));
  for (const command of row.commands) item.append(makeCommand(command));
  if (row.remedy) item.append(element("p", { class: "facts" }, row.remedy));
  return item;
}

function makeCommand(text) {
  // Words stay whole where they can: "--topic" would be broken after its first sign.
  const words = text.split(" ").flatMap((word, place) => [
    place ? " " : "", element("span", { class: word.length < 40 ? "word" : null }, word),
  ]);
  const code = element("code", { tabindex: "0" }, ...words);
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      setText(button, "Copied");
    } catch {
      // Without TLS a browser lets no page write there: mark it, so that it can be copied by hand.
      getSelection().selectAllChildren(code);
      setText(button, "Marked");
    }
    setTimeout(() => setText(button, "Copy"), 2000);
  });
  return element("div", { class: "command" }, code, button);
}

class Clusters {
  constructor() {
    this.kept = new Map();
    this.box = element("div", { class: "cards" });
    this.empty = element("p", { class: "empty" }, "No worker has told of a cluster yet.");
    sectionOf("clusters").append(this.box, this.empty);
  }

  show(clusters) {
    this.empty.hidden = clusters.length > 0;
    keepInStep(this.box, this.kept, clusters, (one) => one.name, (one) =>
      element("div", { class: "card" }, element("h3", {}, one.name, element("span", { class: "badge" })), element("dl", { class: "pairs" })),
    (node, one) => {
      const bad = !one.reachable || !one.fresh;
      const badge = node.querySelector(".badge");
      setText(badge, !one.reachable ? "not reachable" : one.fresh ? "ok" : "catalog is stale");
      badge.classList.toggle("bad", bad);
      fillPairs(node.querySelector("dl"), [
        ["Mounted at", one.mount === null ? null : `:${one.mount} (number ${one.number})`],
        ["Topics", WHOLE.format(one.topics)],
        ["Namespaces", WHOLE.format(one.namespaces_in_all)],
        ["Catalog offset", WHOLE.format(one.offset)],
        ["Catalog age", formatSeconds(one.age)],
        ["Catalog format", String(one.format)],
        ["Entities", WHOLE.format(one.entities)],
        ["Skipped records", one.skipped ? WHOLE.format(one.skipped) : null],
        ["Damaged entities", one.damaged ? WHOLE.format(one.damaged) : null],
      ]);
    });
  }
}

/** A definition list of the pairs that have a value. */
function fillPairs(list, pairs) {
  list.keptPairs ||= new Map();
  keepInStep(list, list.keptPairs, pairs.filter(([, value]) => value !== null), ([label]) => label,
    ([label]) => element("div", {}, element("dt", {}, label), element("dd")),
    (node, [, value]) => setText(node.children[1], value));
}

class Workers {
  constructor() {
    const section = sectionOf("workers");
    this.about = element("p", { class: "lead" });
    section.append(this.about);
    this.workers = new LiveTable(section, "Worker processes", [
      { label: "Worker", text: (row) => `worker ${row.worker_id}` },
      { label: "State", text: (row) => (row.age > 3 ? `silent for ${formatSeconds(row.age)}` : row.state), mark: (row) => (row.state === "serves" && !(row.age > 3) ? null : "bad") },
      { label: "CPU", text: (row) => (row.cpu === null ? NOTHING : `${formatNumber(100 * row.cpu)}${SPACE}%`), number: true },
      { label: "Memory", text: (row) => (row.resident === null ? NOTHING : formatBytes(row.resident)), number: true },
      { label: "Connections", text: (row) => WHOLE.format(row.connections), number: true },
      { label: "Process", text: (row) => (row.pid === null ? NOTHING : String(row.pid)), number: true },
    ], (row) => row.worker_id, "No worker is running.");
    this.listeners = new LiveTable(section, "Listeners", [
      { label: "Listener", text: (row) => row.name },
      { label: "Address", text: (row) => row.address },
      { label: "Security", text: (row) => row.security },
      { label: "Names", text: (row) => (row.home ? `home ${row.home}` : row.volume ? `:${row.volume}` : "whole") },
      { label: "Connections", text: (row) => WHOLE.format(row.connections), number: true },
    ], (row) => row.name, "There is no listener.");
  }

  show(gateway, now) {
    const form = gateway.form ? `, ${gateway.form} form` : "";
    setText(this.about, `Version ${gateway.version}${form}, up for ${formatSeconds((now - gateway.started) / 1000)}.`);
    this.workers.show(gateway.workers, 0, "worker");
    this.listeners.show(gateway.listeners, 0, "listener");
  }
}

class Fleet {
  constructor() {
    const section = sectionOf("fleet");
    this.note = element("p", { class: "lead" });
    section.append(this.note);
    this.table = new LiveTable(section, "Gateways that share the catalog", [
      { label: "Gateway", text: (row) => row.id, mark: (row) => (row.own ? "own" : null) },
      { label: "Software", text: (row) => row.software },
      { label: "Node", text: (row) => (row.node === null ? NOTHING : String(row.node)), number: true },
      { label: "Addresses", text: (row) => Object.values(row.addresses).join(", ") || "not listed among the brokers" },
    ], (row) => JSON.stringify([row.cluster, row.id]), "The catalog has not been read yet.");
  }

  show(clusters, gateway) {
    const rows = new Map();
    let more = 0;
    for (const cluster of clusters) {
      more += Math.max(0, cluster.gateways_in_all - cluster.gateways.length);
      for (const one of cluster.gateways) {
        if (!rows.has(one.id)) rows.set(one.id, { ...one, cluster: cluster.name, own: one.id === gateway.id });
      }
    }
    const down = gateway.gateways_down;
    const alone = rows.size === 1 ? "This gateway is the only one. " : "";
    setText(this.note, down ? `${plural(down, "other gateway")} ${down === 1 ? "accepts" : "accept"} no connection.` : `${alone}Gateways that share the catalog of a cluster.`);
    this.note.classList.toggle("bad", down > 0);
    this.table.show([...rows.values()], more, "gateway");
  }
}

class TreeOfMounts {
  constructor() {
    this.section = sectionOf("mounts");
    this.table = new LiveTable(this.section, "Mounts of the tree", [
      { label: "Mount", text: (row) => (row.mount === null ? "(above)" : `:${row.mount}`) },
      { label: "Is", text: (row) => ({ cluster: "cluster of this gateway", child: "another gateway, below", parent: "another gateway, above" })[row.kind] },
      { label: "Name", text: (row) => row.of },
      { label: "Number", text: (row) => (row.number === null ? NOTHING : String(row.number)), number: true },
    ], (row) => JSON.stringify([row.mount, row.kind, row.of]), "There is no mount.");
  }

  show(tree) {
    this.section.hidden = tree === null;
    if (tree !== null) this.table.show(tree.rows, 0, "mount");
  }
}
