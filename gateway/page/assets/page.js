"use strict";
// The stream of states, and what is done with each. A state is whole: nothing has to be kept in
// step, and after a break the next one shows all.

const SILENT_SECONDS = 3;
const HIDDEN_SECONDS = 30;
const AGAIN_SECONDS = 5;

class Live {
  constructor() {
    this.history = new History();
    this.curves = new Curves(this.history);
    this.figures = new Figures();
    this.tree = new NamespaceTree(sectionOf("namespaces"));
    this.clients = makeClients();
    this.apis = makeApis();
    this.errors = makeErrors();
    this.denials = new Denials();
    this.logins = makeLogins();
    this.clusters = new Clusters();
    this.workers = new Workers();
    this.fleet = new Fleet();
    this.mounts = new TreeOfMounts();
    this.source = null;
    this.last = null;
    this.arrived = 0;
    this.paused = false;
    this.timer = null;
    this.hidden = null;
  }

  start() {
    this.connect();
    setInterval(() => this.watch(), 1000);
    document.addEventListener("visibilitychange", () => this.seen());
    const pause = document.getElementById("pause");
    pause.addEventListener("click", () => {
      this.paused = !this.paused;
      pause.setAttribute("aria-pressed", String(this.paused));
      setText(pause, this.paused ? "Go on" : "Pause");
      if (this.paused) this.disconnect("paused", "Paused");
      else this.connect();
    });
    const theme = document.getElementById("theme");
    const showName = () => {
      const name = document.documentElement.dataset.theme;
      setText(theme, name[0].toUpperCase() + name.slice(1));
      setAttribute(theme, "aria-label", `Colours: ${name}. Press for the next`);
    };
    theme.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme;
      const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
      showTheme(next);
      keepTheme(next);
      showName();
      this.curves.look();
    });
    showName();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.curves.look());
  }

  connect() {
    clearTimeout(this.timer);
    if (this.source || this.paused || document.hidden) return;
    this.say(this.last ? "reconnecting" : "connecting", this.last ? "Reconnecting…" : "Connecting…");
    this.source = new EventSource("page/events");
    this.source.addEventListener("history", (event) => this.history.begin(JSON.parse(event.data)));
    this.source.addEventListener("message", (event) => this.take(JSON.parse(event.data)));
    this.source.addEventListener("error", () => this.failed());
  }

  disconnect(state, text) {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
    this.say(state, text);
  }

  /** The browser connects again by itself, unless it was given an answer that is no stream. */
  failed() {
    if (this.source && this.source.readyState !== EventSource.CLOSED) {
      this.say("reconnecting", this.since("Reconnecting…"));
      return;
    }
    this.source?.close();
    this.source = null;
    this.say("reconnecting", this.since("Reconnecting…"));
    this.ask();
  }

  /** Why there is no stream, in the gateway's own words, and another try later. */
  async ask() {
    const stop = new AbortController();
    try {
      const answer = await fetch("page/events", { signal: stop.signal });
      if (!answer.ok) this.say("lost", (await answer.text()).trim());
    } catch {
      this.say("reconnecting", this.since("The gateway does not answer."));
    } finally {
      stop.abort();
    }
    this.timer = setTimeout(() => this.connect(), 1000 * AGAIN_SECONDS);
  }

  since(text) {
    return this.last ? `${text} Figures are of ${formatTime(this.last.time)}` : text;
  }

  take(state) {
    this.last = state;
    this.arrived = performance.now();
    this.say("live", ...healthOf(state.gateway));
    this.history.add({ time: state.time, ...state.second });
    this.show(state);
  }

  /** Once a second: whether the figures are still news. */
  watch() {
    const state = document.getElementById("status").dataset.state;
    const silent = (performance.now() - this.arrived) / 1000;
    if (state === "live" && silent > SILENT_SECONDS) {
      this.say("silent", this.since(`No news for ${formatSeconds(silent)}.`));
    } else if (state === "silent") {
      setText(document.getElementById("status-text"), this.since(`No news for ${formatSeconds(silent)}.`));
    }
  }

  /** Nobody looks at a hidden page: it lets the gateway rest. */
  seen() {
    clearTimeout(this.hidden);
    if (document.hidden) {
      this.hidden = setTimeout(() => {
        if (!this.paused) this.disconnect("paused", "Paused while hidden");
      }, 1000 * HIDDEN_SECONDS);
    } else {
      this.connect();
    }
  }

  /** `health` is how the gateway is, as long as it tells: ok, warning or problem. */
  say(state, text, health) {
    const status = document.getElementById("status");
    setAttribute(status, "data-health", health);
    setAttribute(status, "data-state", state);
    setText(document.getElementById("status-text"), text);
    document.body.classList.toggle("stale", state !== "live" && this.last !== null);
  }

  show(state) {
    const { gateway } = state;
    document.title = `${gateway.id} · kafka-gateway`;
    setText(document.getElementById("gateway"), gateway.id);
    setText(document.getElementById("version"), `kafka-gateway ${gateway.version}`);
    showAlerts(gateway);
    this.figures.show(state);
    this.curves.draw();
    this.tree.show(state);
    this.clients.show(state.clients.rows, state.clients.more, "row");
    this.apis.show(state.latency.rows, state.latency.more, "API");
    const since = sinceWhen(state.errors.seconds);
    const inAll = state.errors.in_all_seconds > 60 ? ` and ${formatSeconds(state.errors.in_all_seconds)}` : "";
    setText(sectionOf("errors").querySelector(".lead"), `Codes in responses to clients, ${since}${inAll}.`);
    this.errors.show(state.errors.rows, state.errors.more, "row");
    this.denials.show(state.denials, state.time);
    this.logins.show(withAges(state.logins, state.time), 0, "login");
    this.clusters.show(state.clusters);
    this.workers.show(gateway, state.time);
    this.fleet.show(state.clusters, gateway, state.fleet);
    this.mounts.show(state.tree);
    document.documentElement.dataset.ready = "yes";
  }
}

/** What the status says of a gateway that tells: whether it serves, besides that it is there. */
function healthOf({ problems, warnings }) {
  if (problems.length) return ["Not ready", "problem"];
  return warnings.length ? ["Live, with warnings", "warning"] : ["Live", "ok"];
}

const ALERTS = new Map();

function showAlerts({ problems, warnings }) {
  const items = [...problems.map((text) => ["problem", text]), ...warnings.map((text) => ["warning", text])];
  keepInStep(document.getElementById("alerts"), ALERTS, items, ([kind, text]) => `${kind} ${text}`,
    ([kind, text]) => element("p", { class: `notice ${kind}` }, text), () => {});
}

const LIVE = new Live();
LIVE.start();
