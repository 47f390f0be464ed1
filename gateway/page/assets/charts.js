"use strict";
// The three curves at the top. Their history is bounded, and kept by the page alone.

const HISTORY = 300;
const MISSING = null;

/** Points of the last five minutes; older ones are gone. */
class History {
  constructor() {
    this.points = [];
  }

  add(point) {
    const last = this.points[this.points.length - 1];
    // A second that was not seen is a gap, not a line across it.
    if (last && point.time - last.time > 3500) this.points.push({ time: last.time + 1000, gap: true });
    this.points.push(point);
    if (this.points.length > HISTORY) this.points.splice(0, this.points.length - HISTORY);
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
      { name: "gateway, median", color: "--series-1", of: (one) => one.gateway[0] },
      { name: "gateway, 99 %", color: "--series-1", of: (one) => one.gateway[1], dashed: true },
      { name: "broker, median", color: "--series-2", of: (one) => one.broker[0] },
      { name: "broker, 99 %", color: "--series-2", of: (one) => one.broker[1], dashed: true },
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
        min: plan.log ? (range) => 10 ** Math.floor(Math.log10(Math.max(1, range.min))) : 0,
        max: plan.log ? (range) => 10 ** Math.ceil(Math.log10(Math.max(10, range.max))) : null,
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
      const interval = plan.bytes ? byteInterval(plan, points) : null;
      chart.setOption(interval ? { series, yAxis: interval } : { series });
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
