"use strict";
// Charts with axes: bars, and the dots of percentiles.

/** Horizontal stacked bars. `series` are { name, color, values }, one value for each label. */
function horizontalBars(look, kind, labels, series) {
  const room = look.narrow ? 110 : 230;
  const sums = labels.map((_, index) => series.reduce((sum, { values }) => sum + values[index], 0));
  return {
    height: 76 + labels.length * 26,
    option: {
      ...baseOption(look),
      grid: { left: room + 10, right: 24, top: 36, bottom: 28, containLabel: false },
      tooltip: {
        ...baseOption(look).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items) =>
          tip(
            labels[items[0].dataIndex],
            items
              .filter(({ value }) => value > 0)
              .map(({ color, seriesName, value }) => ({
                color,
                name: seriesName,
                text: formatValue(kind, value),
              })),
          ),
      },
      xAxis: valueAxis(look, kind, Math.max(...sums)),
      yAxis: {
        type: "category",
        data: labels,
        inverse: true,
        axisTick: { show: false },
        axisLine: { lineStyle: { color: look.grid } },
        axisLabel: { color: look.ink, width: room, overflow: "truncate", interval: 0 },
      },
      series: series.map(({ name, color, values }) => ({
        type: "bar",
        stack: "all",
        name,
        data: values,
        barMaxWidth: 18,
        itemStyle: { color, borderColor: look.surface, borderWidth: 0.5 },
      })),
    },
  };
}

/** Bars by one key, split by another: the labels with the most first, the splits likewise. */
function splitBars(rows, look, { label, split, value, colorOf, most }) {
  const labels = largest(sumBy(rows, label, value), most);
  if (labels.length === 0) return null;
  const splits = largest(sumBy(rows, split, value), rows.length);
  const sums = sumBy(rows, (row) => JSON.stringify([label(row), split(row)]), value);
  const series = splits.map((name, place) => ({
    name,
    color: colorOf ? colorOf(name) : colorAt(look, place),
    values: labels.map((each) => sums.get(JSON.stringify([each, name])) || 0),
  }));
  return horizontalBars(look, "count", labels, series);
}

const MOST_BARS = 400;

/** The periods with those between them in which nothing happened: time goes on there, too. */
function everyPeriod(known) {
  const times = known.map((period) => Date.parse(period));
  const step = Math.min(...times.slice(1).map((time, index) => time - times[index]));
  const count = Math.round((times.at(-1) - times[0]) / step) + 1;
  // Rows that were left out, or periods of no one length, are shown as they are.
  const fit = times.every((time) => (time - times[0]) % step === 0);
  if (known.length < 2 || !fit || count > MOST_BARS) return known;
  const names = new Map(times.map((time, index) => [time, known[index]]));
  return Array.from({ length: count }, (_, index) => {
    const time = times[0] + index * step;
    return names.get(time) || new Date(time).toISOString().replace(".000Z", "Z");
  });
}

CHART_MAKERS.time = (rows, look) => {
  const periods = everyPeriod([...new Set(rows.map((row) => row.period))].sort());
  const every = sumBy(rows, (row) => row.tier, moved);
  const tiers = largest(every, every.size).filter((tier) => tier !== "(others)");
  if (every.has("(others)")) tiers.push("(others)");
  if (periods.length === 0) return null;
  const values = sumBy(rows, (row) => JSON.stringify([row.tier, row.period]), moved);
  const sums = sumBy(rows, (row) => row.period, moved);
  return {
    height: 320,
    option: {
      ...baseOption(look),
      grid: { left: 8, right: 16, top: 40, bottom: 8, containLabel: true },
      tooltip: {
        ...baseOption(look).tooltip,
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (items) =>
          tip(
            formatTime(periods[items[0].dataIndex]),
            items.map(({ color, seriesName, value }) => ({
              color,
              name: seriesName,
              text: formatBytes(value),
            })),
          ),
      },
      xAxis: {
        type: "category",
        data: periods,
        axisTick: { show: false },
        axisLine: { lineStyle: { color: look.grid } },
        axisLabel: {
          color: look.muted,
          hideOverlap: true,
          lineHeight: LINE,
          formatter: (value) => formatTime(value).replace(" ", "\n"),
        },
      },
      yAxis: valueAxis(look, "bytes", Math.max(...sums.values())),
      series: tiers.map((tier, place) => ({
        type: "bar",
        stack: "all",
        name: tier,
        data: periods.map((period) => values.get(JSON.stringify([tier, period])) || 0),
        barMaxWidth: 40,
        itemStyle: {
          color: tier === "(others)" ? look.other : colorAt(look, place),
          borderColor: look.surface,
          borderWidth: 0.5,
        },
      })),
    },
  };
};

CHART_MAKERS.clients = (rows, look) => {
  const shown = rows.filter((row) => moved(row) > 0).slice(0, 12);
  if (shown.length === 0) return null;
  const one = new Set(rows.map((row) => row.principal)).size === 1;
  const name = (row) => formatValue("text", row.client_id) + (one ? "" : ` · ${row.principal}`);
  return horizontalBars(look, "bytes", shown.map(name), [
    { name: "in", color: colorAt(look, 0), values: shown.map((row) => row.bytes_in) },
    { name: "out", color: colorAt(look, 1), values: shown.map((row) => row.bytes_out) },
  ]);
};

const PERCENTILES = [
  { key: "p50", name: "p50", symbol: "circle" },
  { key: "p95", name: "p95", symbol: "rect" },
  { key: "p99", name: "p99", symbol: "triangle" },
  { key: "p999", name: "p99.9", symbol: "diamond" },
];

/** Percentiles of one side as dots on a line, on a scale that both sides share. */
function percentileDots(everyRow, look, side) {
  const rows = everyRow.filter((row) => row.namespace !== "(all)");
  const name = (row) => `${row.api} · ${formatValue("namespace", row.namespace)}`;
  const labels = largest(
    sumBy(rows, name, (row) => row.requests),
    look.narrow ? 8 : 12,
  );
  const shown = rows.filter((row) => labels.includes(name(row)));
  const mine = new Map(
    shown.filter((row) => row.side === side).map((row) => [name(row), row]),
  );
  if (mine.size === 0) return null;
  const every = shown.flatMap((row) => PERCENTILES.map(({ key }) => row[key])).filter(Boolean);
  const bounds = {
    min: 10 ** Math.floor(Math.log10(Math.min(...every, 100))),
    max: 10 ** Math.ceil(Math.log10(Math.max(...every, 1000))),
  };
  const bars = horizontalBars(look, "us", labels, []);
  const rowAt = (index) => mine.get(labels[index]);
  const lines = (index) =>
    PERCENTILES.map(({ key, name: percentile }, place) => ({
      color: colorAt(look, place),
      name: percentile,
      text: formatValue("us", rowAt(index)[key]),
    }));
  const dots = PERCENTILES.map(({ key, name: percentile, symbol }, place) => ({
    type: "scatter",
    name: percentile,
    symbol,
    symbolSize: 11,
    z: 3,
    itemStyle: { color: colorAt(look, place), borderColor: look.surface, opacity: 1 },
    // A logarithmic scale has no place for 0.
    data: labels.flatMap((label, index) =>
      mine.get(label)?.[key] > 0 ? [[mine.get(label)[key], index]] : [],
    ),
  }));
  const spans = {
    type: "custom",
    silent: true,
    data: labels.flatMap((label, index) => {
      const row = mine.get(label);
      return row && row.p50 > 0 ? [[row.p50, row.p999, index]] : [];
    }),
    encode: { x: [0, 1], y: 2 },
    renderItem: (_, api) => {
      const [x1, y1] = api.coord([api.value(0), api.value(2)]);
      const [x2] = api.coord([api.value(1), api.value(2)]);
      const style = { stroke: look.muted, lineWidth: 2 };
      return { type: "line", shape: { x1, y1, x2, y2: y1 }, style };
    },
  };
  return {
    height: bars.height,
    option: {
      ...bars.option,
      legend: { ...bars.option.legend, icon: undefined },
      tooltip: {
        ...baseOption(look).tooltip,
        formatter: ({ value }) => tip(labels[value[1]], lines(value[1])),
      },
      xAxis: valueAxis(look, "us", bounds.max, { type: "log", ...bounds, splitNumber: 5 }),
      series: [...dots, spans],
    },
  };
}

CHART_MAKERS.gateway = (rows, look) => percentileDots(rows, look, "gateway");
CHART_MAKERS.broker = (rows, look) => percentileDots(rows, look, "broker");

CHART_MAKERS.denials = (rows, look) =>
  splitBars(rows, look, {
    label: (row) => row.principal,
    split: (row) => row.rule,
    value: (row) => row.count,
    most: 12,
  });

CHART_MAKERS.policies = (rows, look) => {
  // Vermilion is what was refused, in every chart of this kind, whichever outcome has the most.
  const colors = new Map([
    ["refused", look.palette[5]],
    ["warned", look.palette[1]],
    ["near", look.palette[4]],
  ]);
  return splitBars(rows, look, {
    label: (row) => row.rule,
    split: (row) => row.outcome,
    value: (row) => row.count,
    colorOf: (outcome) => colors.get(outcome) || look.other,
    most: 12,
  });
};

CHART_MAKERS.guarantees = (rows, look) => {
  const shown = rows.slice(0, 15);
  const label = (row) =>
    `${row.breaks_acks || row.breaks_idempotence ? "✗ " : ""}` +
    `${formatValue("text", row.client_id)} · ${formatValue("namespace", row.namespace)}`;
  const values = (key) => shown.map((row) => row[key]);
  return horizontalBars(look, "count", shown.map(label), [
    { name: "acks=0", color: look.palette[5], values: values("acks_0") },
    { name: "acks=1", color: look.palette[1], values: values("acks_1") },
    { name: "acks=all", color: look.palette[0], values: values("acks_all") },
  ]);
};

CHART_MAKERS.replication = (rows, look) => {
  const shown = rows.filter((row) => row.bytes > 0).slice(0, 15);
  if (shown.length === 0) return null;
  const fates = [
    ["replicated now", look.palette[1], true, false],
    ["no longer replicated", look.palette[5], false, true],
    ["replicated as before", look.palette[0], true, true],
    ["not replicated", look.other, false, false],
  ];
  const series = fates.map(([name, color, after, before]) => ({
    name,
    color,
    values: shown.map((row) =>
      row.replicated_after === after && row.replicated_before === before ? row.bytes : 0,
    ),
  }));
  return horizontalBars(look, "bytes", shown.map((row) => row.topic), series);
};
