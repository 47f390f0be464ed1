"use strict";
// The three curves at the top. They begin with what the gateway has kept, and are bounded.

const HISTORY_SECONDS = 900;
const MISSING = null;

/** Points of the last quarter of an hour; older ones are gone. */
class History {
  constructor() {
    this.points = [];
    this.seconds = HISTORY_SECONDS;
  }

  /** What the gateway has kept, also from before the page was opened. */
  begin({ fields, points }) {
    this.points = [];
    for (const values of points) this.add(Object.fromEntries(fields.map((name, index) => [name, values[index]])));
  }

  add(point) {
    const last = this.points[this.points.length - 1];
    // A second that was not seen is a gap, not a line across it.
    if (last && point.time - last.time > 3500) this.points.push({ time: last.time + 1000, gap: true });
    if (!last || point.time > last.time) this.points.push(point);
    const from = this.points.findIndex((one) => one.time > point.time - 1000 * this.seconds);
    if (from > 0) this.points.splice(0, from);
  }
}

const CHARTS = [
  {
    id: "chart-bytes",
    text: (value) => `${formatBytes(value)}/s`,
    series: [
      { name: "in", color: "--series-1", of: (one) => one.bytes_in, area: true },
      { name: "out", color: "--series-2", of: (one) => one.bytes_out, area: true },
    ],
    bytes: true,
  },
  {
    id: "chart-requests",
    text: (value) => `${formatNumber(value)}/s`,
    series: [
      { name: "requests", color: "--series-3", of: (one) => one.requests, area: true },
      { name: "errors", color: "--bad", of: (one) => one.errors },
      { name: "denials", color: "--series-4", of: (one) => one.denials },
    ],
  },
  {
    id: "chart-latency",
    text: formatMicroseconds,
    log: true,
    series: [
      { name: "gateway p50", color: "--series-1", of: (one) => one.gateway[0] },
      { name: "gateway p99", color: "--series-1", of: (one) => one.gateway[1], dashed: true },
      { name: "broker p50", color: "--series-2", of: (one) => one.broker[0] },
      { name: "broker p99", color: "--series-2", of: (one) => one.broker[1], dashed: true },
    ],
  },
];

/** A colour of the style sheet as the chart needs it: resolved for the present theme. */
function colorOf(variable) {
  const probe = document.getElementById("gateway");
  probe.style.setProperty("outline-color", `var(${variable})`);
  const found = getComputedStyle(probe).outlineColor;
  probe.style.removeProperty("outline-color");
  return found;
}

class Curves {
  constructor(history) {
    this.history = history;
    this.drawn = [];
    if (typeof echarts === "undefined") {
      for (const { id } of CHARTS) {
        document.getElementById(id).replaceChildren(
          element("p", { class: "empty" }, "There are no curves: ECharts is not installed with this gateway."),
        );
      }
      return;
    }
    for (const plan of CHARTS) {
      const box = document.getElementById(plan.id);
      box.setAttribute("role", "img");
      const chart = echarts.init(box, null, { renderer: "canvas" });
      const legend = box.parentElement.querySelector(".legend");
      const values = plan.series.map((one) => {
        const value = element("b", {}, NOTHING);
        const key = element("i", { class: one.dashed ? "dashed" : null });
        key.style.color = `var(${one.color})`;
        legend.append(element("span", {}, key, `${one.name} `, value));
        return value;
      });
      this.drawn.push({ plan, box, chart, values });
    }
    this.look();
    new ResizeObserver(() => this.resize()).observe(document.querySelector(".grid"));
  }

  resize() {
    for (const { chart } of this.drawn) chart.resize();
  }

  /** Read colours again: the theme has changed. */
  look() {
    this.colors = { muted: colorOf("--muted"), line: colorOf("--line"), surface: colorOf("--surface"), ink: colorOf("--ink") };
    for (const one of this.drawn) {
      one.chart.setOption(this.frame(one.plan), { notMerge: true });
    }
    this.draw();
  }

  frame(plan) {
    const { muted, line, surface, ink } = this.colors;
    const font = getComputedStyle(document.body).fontFamily;
    return {
      animation: false,
      grid: { left: 64, right: 12, top: 12, bottom: 24 },
      textStyle: { fontFamily: font },
      tooltip: {
        trigger: "axis",
        confine: true,
        backgroundColor: surface,
        borderColor: line,
        textStyle: { color: ink, fontSize: 12 },
        formatter: (points) => tooltip(plan, points),
      },
      xAxis: {
        type: "time",
        axisLine: { lineStyle: { color: line } },
        axisTick: { show: false },
        axisLabel: { color: muted, fontSize: 11, hideOverlap: true, formatter: (value) => formatTime(value) },
        splitNumber: 3,
        min: (range) => Math.min(range.min, range.max - 60000),
      },
      yAxis: {
        type: plan.log ? "log" : "value",
        min: plan.log ? null : 0,
        minInterval: plan.log || plan.bytes ? null : 1,
        axisLabel: { color: muted, fontSize: 11, formatter: (value) => plan.text(value).replace("/s", "") },
        splitLine: { lineStyle: { color: line } },
        splitNumber: 4,
      },
      series: plan.series.map((one) => ({
        name: one.name,
        type: "line",
        showSymbol: false,
        connectNulls: false,
        lineStyle: { width: 1.6, color: colorOf(one.color), type: one.dashed ? [4, 3] : "solid" },
        itemStyle: { color: colorOf(one.color) },
        areaStyle: one.area ? { color: colorOf(one.color), opacity: 0.08 } : null,
        data: [],
      })),
    };
  }

  draw() {
    const { points } = this.history;
    const last = points[points.length - 1];
    for (const { plan, box, chart, values } of this.drawn) {
      const series = plan.series.map((one) => ({
        data: points.map((point) => [point.time, point.gap ? MISSING : one.of(point)]),
      }));
      const axis = plan.bytes ? byteInterval(plan, points) : plan.log ? logSteps(plan, points) : null;
      chart.setOption(axis ? { series, yAxis: axis } : { series });
      if (!last || last.gap) continue;
      plan.series.forEach((one, index) => {
        const value = one.of(last);
        setText(values[index], value === null ? NOTHING : plan.text(value));
      });
      const words = plan.series.map((one, index) => `${one.name} ${values[index].textContent}`);
      box.setAttribute("aria-label", `The last minutes. Now: ${words.join(", ")}`);
    }
  }
}

/** Steps of an axis of bytes that are round in KiB, MiB and so on. */
function byteInterval(plan, points) {
  const largest = Math.max(4096, ...points.map((point) => (point.gap ? 0 : Math.max(...plan.series.map((one) => one.of(point))))));
  const unit = 1024 ** Math.floor(Math.log2(largest / 4) / 10);
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024].find((each) => each * unit * 4 >= largest) * unit;
  return { interval: step, max: Math.ceil(largest / step) * step };
}

/** A logarithmic axis that fits what is there: steps of 1, 2 and 5, as many as can be read. */
function logSteps(plan, points) {
  const values = points.flatMap((point) => (point.gap ? [] : plan.series.map((one) => one.of(point)))).filter((value) => value > 0);
  if (!values.length) return { min: 1, max: 1000, axisTick: { show: false, customValues: [1, 10, 100, 1000] }, axisLabel: { customValues: [1, 10, 100, 1000] } };
  const smallest = values.reduce((a, b) => Math.min(a, b));
  const largest = values.reduce((a, b) => Math.max(a, b));
  const steps = [];
  for (let power = 10 ** Math.floor(Math.log10(smallest)); power <= 10 * largest; power *= 10) steps.push(power, 2 * power, 5 * power);
  const first = Math.max(0, steps.findLastIndex((step) => step <= smallest));
  let last = steps.findIndex((step) => step >= largest);
  if (last <= first) last = first + 1;
  const shown = steps.slice(first, last + 1);
  // Of a wide range powers of ten alone, of a very wide one every second or third.
  const tens = shown.filter((step) => Number.isInteger(Math.round(1e6 * Math.log10(step)) / 1e6));
  const ticks = shown.length <= 6 ? shown : tens.filter((_, index) => index % Math.ceil(tens.length / 5) === 0);
  return { min: steps[first], max: steps[last], axisTick: { show: false, customValues: ticks }, axisLabel: { customValues: ticks } };
}

function tooltip(plan, points) {
  const box = element("div", { class: "tip" }, element("strong", {}, formatTime(points[0].value[0])));
  points.forEach((point) => {
    const value = point.value[1];
    if (value === null || value === undefined) return;
    const key = element("i", {});
    key.style.color = point.color;
    box.append(element("div", {}, key, element("span", {}, point.seriesName), element("b", {}, plan.text(value))));
  });
  return box;
}
