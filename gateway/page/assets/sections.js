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
      ["Gateway p99", formatMicroseconds(latency.gateway[1]), `median ${formatMicroseconds(latency.gateway[0])}`],
      ["Broker p99", formatMicroseconds(latency.broker[1]), `median ${formatMicroseconds(latency.broker[0])}`],
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
      { label: "Topic or namespace", text: (row) => formatTopic(row.namespace, row.topic), title: (row) => (row.cluster ? `cluster ${row.cluster}, listener ${row.listener}` : null) },
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
      { label: "Gateway p50", text: (row) => part(row, "gateway", 0), number: true },
      { label: "Gateway p99", text: (row) => part(row, "gateway", 1), number: true },
      { label: "Broker p50", text: (row) => part(row, "broker", 0), number: true, mark: (row) => (row.waits ? "waits" : null) },
      { label: "Broker p99", text: (row) => part(row, "broker", 1), number: true, mark: (row) => (row.waits ? "waits" : null) },
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
      { label: "Last minute", text: (row) => WHOLE.format(row.count), number: true },
      { label: "15 minutes", text: (row) => WHOLE.format(row.in_all), number: true },
    ],
    (row) => JSON.stringify([row.code, row.api, row.cluster, row.path]),
    "No response had an error code.",
  );
}

/** Rows with how long ago they were, in words that change once a second at most. */
function withAges(rows, now) {
  return rows.map((row) => ({ ...row, age: formatSeconds((now - row.time) / 1000) }));
}

function makeLogins() {
  return new LiveTable(
    sectionOf("logins"), "Failed logins",
    [
      { label: "User", text: (row) => row.user || "(not known)" },
      { label: "From", text: (row) => row.address, title: (row) => `listener ${row.listener}` },
      { label: "By", text: (row) => row.mechanism || NOTHING },
      { label: "Reason", text: (row) => row.reason },
      { label: "Times", text: (row) => WHOLE.format(row.count), number: true },
      { label: "Last", text: (row) => `${row.age} ago`, number: true },
    ],
    (row) => JSON.stringify([row.listener, row.address, row.mechanism, row.user, row.reason]),
    "No login failed.",
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
      { label: "Names", text: (row) => (row.home ? `home ${row.home}` : row.volume ? `:${row.volume}` : "full names") },
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
