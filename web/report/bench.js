// The sections of a measurement of speed.
function rowsOf(data) {
  const rows = list(data.rows).map(object);
  const several = new Set(rows.map((r) => r.depth)).size > 1;
  const names = distinct(rows.map((r) => (several ? `${r.policy}, depth ${count(r.depth)}` : r.policy)));
  return rows.map((r, i) => ({...r, label: names[i], isBaseline: r.policy === data.baseline}));
}

// Fewer than 6 repetitions are too few for an interval.
const spread = (data) => (data.repetitions >= 6 ? "95% intervals" : "the range of all repetitions");

const depthsOf = (rows) => [...new Set(rows.map((r) => r.depth))].sort((a, b) => a - b);

function benchTable(data, rows) {
  return section("rows", "Policies", [`Medians over ${count(data.repetitions)} repetitions with ${spread(data)}. Speed-up is the median of the ratios to ${data.baseline} within each repetition.`, data.workload?.text].filter(Boolean).join(" "),
    table({caption: "Time a token, speed-up, distance from the ideal and counts, by policy and depth", rows, wide: true, columns: [
      {label: "Policy", cell: (r) => [longText(String(r.policy ?? "")), r.isBaseline && h("span", {class: "range"}, "baseline")]},
      {label: "Depth", cell: (r) => count(r.depth)},
      {label: "Time a token", cell: (r) => estimate(r.ms_per_token, milliseconds)},
      {label: "Speed-up", cell: (r) => estimate(r.speed_up, times)},
      {label: "Over ideal", cell: (r) => estimate(r.over_ideal, signedPercent)},
      {label: "Time", cell: (r) => estimate(r.seconds, duration)},
      {label: "Tokens", cell: (r) => count(r.tokens)},
      {label: "Small share", cell: (r) => percent(r.small_share)},
      {label: "Handoffs", cell: (r) => count(r.handoffs)},
      {label: "Dropped", cell: (r) => count(r.dropped)},
    ]}));
}

// One plot of values with intervals a depth, all on one scale.
function byDepth(rows, key, {reference, fromZero, ...options}) {
  const known = rows.filter((r) => valueOf(r[key]) !== null);
  const depths = depthsOf(known);
  const axis = depths.length > 0 && axisFor(known.map((r) => r[key]), {reference, fromZero});
  return depths.map((depth) => {
    const own = known.filter((r) => r.depth === depth);
    const names = distinct(own.map((r) => r.policy));
    return panel(depths.length > 1 && `Depth ${count(depth)}`, figure({
      draw: (width) => dotsWithIntervals(width, {names, dots: own.map((r, i) => ({name: names[i], e: r[key]})), axis, reference, ...options}),
      alt: `${options.label} by policy${depths.length > 1 ? ` at depth ${count(depth)}` : ""}, with intervals. The table below has the values.`,
      numbers: {caption: `${options.label} by policy`, rows: own, columns: [
        {label: "Policy", cell: (r) => String(r.policy ?? "")}, {label: options.label, cell: (r) => options.format(r[key].value)}, {label: "range", cell: (r) => rangeText(r[key], options.format) || DASH}]},
    }));
  });
}

function timePerToken(data, rows) {
  const plots = byDepth(rows, "ms_per_token", {label: "time a token", format: milliseconds, tick: (x) => `${+x.toPrecision(3)} ms`, fromZero: true});
  return plots.length === 0 ? null : section("time-a-token", "Time a token", "Further left is faster. The bars are " + spread(data) + ".", panels(plots));
}

function speedUps(data, rows) {
  const plots = byDepth(rows.filter((r) => !r.isBaseline), "speed_up", {label: "speed-up", format: times, tick: (x) => `${+x.toPrecision(3)}\u00d7`, reference: 1});
  return plots.length === 0 ? null : section("speed-up", "Speed-up", `The dashed line is ${data.baseline}; right of it is faster. The bars are ${spread(data)}.`, panels(plots));
}

function actualAndIdeal(rows) {
  const shown = rows.filter((r) => list(r.parts).some((p) => isNumber(object(p).actual)));
  if (shown.length === 0) return null;
  const partsOf = (r) => list(r.parts).map(object);
  const anyIdeal = shown.some((r) => partsOf(r).some((p) => isNumber(p.ideal)));
  const pieces = shown.flatMap((r) => partsOf(r).flatMap((p) => [
    {name: r.label, row: "actual", part: p.part, value: p.actual, exact: tipText(duration(p.actual), isNumber(p.batches) && `${count(p.batches)} batches`)},
    {name: r.label, row: "ideal", part: p.part, value: p.ideal, exact: duration(p.ideal)},
  ]));
  const ends = shown.map((r) => ({name: r.label, row: "actual", x: d3.sum(partsOf(r), (p) => p.actual ?? 0), text: valueOf(r.over_ideal) === null ? "" : signedPercent(r.over_ideal.value)}));
  return section("ideal", "Actual and ideal time, part by part",
    "Ideal is what the same batches would cost at the measured batch costs. The number at a bar is how far the actual time is above it.",
    figure({
      items: legendOf(PARTS),
      draw: (width) => stackedBars(width, {names: shown.map((r) => r.label), rows: anyIdeal ? ["actual", "ideal"] : ["actual"], pieces, parts: PARTS, format: duration, label: "time", ends}),
      alt: "Actual and ideal time by part, for every policy and depth. The table below has the values.",
      numbers: {caption: "Actual and ideal time by part", rows: shown.flatMap((r) => partsOf(r).map((p) => ({...p, label: r.label}))), columns: [
        {label: "Policy", cell: (p) => p.label}, {label: "Part", number: false, cell: (p) => String(p.part ?? "")}, {label: "Batches", cell: (p) => count(p.batches)}, {label: "Actual", cell: (p) => duration(p.actual)}, {label: "Ideal", cell: (p) => duration(p.ideal)},
        {label: "Difference", cell: (p) => (isNumber(p.actual) && p.ideal > 0 ? signedPercent(p.actual / p.ideal - 1) : DASH)}]},
    }));
}

const MODEL_LOOKS = {large: {stroke: "var(--large)", type: d3.symbolCircle}, small: {stroke: "var(--small)", type: d3.symbolTriangle}};
const modelLegend = Object.entries(MODEL_LOOKS).map(([model, look]) => ({
  label: AUTHORS[model].label, draw: () => [s("line", {x1: 0, x2: 16, y1: 6, y2: 6, stroke: look.stroke, "stroke-width": 2}), s("path", {d: d3.symbol(look.type, 40)(), transform: "translate(8 6)", fill: look.stroke})],
}));

// Lines of the two models over x, both axes logarithmic.
function modelLines(width, {costs, x, y, xLabel, ticks, name}) {
  const shownTicks = ticks.length * 48 > width ? ticks.filter((_, i) => i % 2 === 0) : ticks;
  const xs = d3.extent(costs, (c) => c[x]);
  const yTicks = roundTicks(y, [1, 2, 5]);
  return plot(width, {
    height: width < NARROW ? 260 : 300, marginLeft: 62, marginRight: 16, marginTop: 30, marginBottom: 42,
    x: {type: "log", base: 2, domain: xs[0] === xs[1] ? [xs[0] / 2, xs[1] * 2] : xs, label: xLabel, labelArrow: "none", labelAnchor: "right", ticks: shownTicks, tickFormat: count, tickSize: 0},
    y: {type: "log", domain: y, label: "\u2191 time of a batch", labelArrow: "none", tickFormat: (v) => durationTick(v)(v), ticks: yTicks, tickSize: 0},
    marks: [
      Plot.gridX(shownTicks, {stroke: "var(--rule)", strokeOpacity: 1}), Plot.gridY(yTicks, {stroke: "var(--rule)", strokeOpacity: 1}),
      Object.entries(MODEL_LOOKS).map(([model, look]) => {
        const own = costs.filter((c) => c.model === model).sort((a, b) => a[x] - b[x]);
        return [
          Plot.line(own, {x, y: "seconds", stroke: look.stroke, strokeWidth: 2}),
          Plot.dot(own, {x, y: "seconds", symbol: {draw: (context, size) => look.type.draw(context, size)}, r: 4, fill: look.stroke, stroke: "var(--ground)", strokeWidth: 1}),
        ];
      }),
      tip(width, costs, {x, y: "seconds", title: (c) => tipText(AUTHORS[c.model].label, name(c), duration(c.seconds))}),
    ],
  });
}
const timeRange = (costs) => [d3.min(costs, (c) => c.seconds) / 1.25, d3.max(costs, (c) => c.seconds) * 1.25];

const costsOf = (data) => list(data.batch_costs).map(object).filter((c) => Object.hasOwn(MODEL_LOOKS, c.model) && c.rows > 0 && c.seconds > 0);

function batchCosts(data) {
  const all = costsOf(data);
  const costs = all.filter((c) => all.some((o) => o.depth === c.depth && o.rows > 1));
  const depths = depthsOf(costs);
  if (depths.length === 0) return null;
  const ratio = (c) => {
    const one = costs.find((o) => o.model === c.model && o.depth === c.depth && o.rows === 1);
    return one ? c.seconds / one.seconds : null;
  };
  return section("batch-costs", "What a batch costs", "Time of one batch by its rows. The flatter the curve, the cheaper it is to read what the other model wrote. Both axes are logarithmic.",
    legend(modelLegend),
    panels(depths.map((depth) => {
      const own = costs.filter((c) => c.depth === depth);
      const rows = [...new Set(own.map((c) => c.rows))].sort((a, b) => a - b);
      return panel(depths.length > 1 && `Depth ${count(depth)}`, figure({
        draw: (width) => modelLines(width, {costs: own, x: "rows", y: timeRange(costs), xLabel: "rows of the batch \u2192", ticks: rows, name: (c) => `${count(c.rows)} rows`}),
        alt: `Time of a batch by its rows for both models at depth ${count(depth)}. The table below has the values.`,
        numbers: {caption: "Time of a batch", rows: own, columns: [
          {label: "Model", cell: (c) => c.model}, {label: "Rows", cell: (c) => count(c.rows)}, {label: "Time", cell: (c) => duration(c.seconds)}, {label: "Time a row", cell: (c) => duration(c.seconds / c.rows)}, {label: "Against one row", cell: (c) => times(ratio(c))}]},
      }));
    })));
}

function depthCurves(data) {
  const costs = costsOf(data).filter((c) => c.rows === 1 && c.depth > 0);
  const depths = depthsOf(costs);
  if (depths.length < 2) return null;
  return section("depth", "What a token costs as the context grows", "Time of a batch of one row by the tokens that are in the context already. Both axes are logarithmic.",
    figure({
      items: modelLegend,
      draw: (width) => modelLines(width, {costs, x: "depth", y: timeRange(costs), xLabel: "depth of the context \u2192", ticks: depths, name: (c) => `depth ${count(c.depth)}`}),
      alt: "Time of one token by context depth for both models. The table below has the values.",
      numbers: {caption: "Time of one token by depth", rows: costs, columns: [{label: "Model", cell: (c) => c.model}, {label: "Depth", cell: (c) => count(c.depth)}, {label: "Time", cell: (c) => duration(c.seconds)}]},
    }));
}

function plan(data) {
  const predictions = list(data.plan).map(object);
  if (predictions.length === 0) return null;
  return section("plan", "Predicted from the batch costs", "What each policy should reach with these costs, before anything is run.",
    table({caption: "Predictions", rows: predictions, columns: [
      {label: "Policy", cell: (p) => longText(String(p.policy ?? ""))}, {label: "Small share", cell: (p) => percent(p.share)}, {label: "Speed-up", cell: (p) => times(p.speed_up)}, {label: "Time", cell: (p) => duration(p.seconds)}]}));
}

const benchSections = {
  kind: "Benchmark",
  facts: (data) => [
    ["Workload", data.workload && withSmall({replay: "replayed traces", live: "live runs"}[data.workload.kind] ?? String(data.workload.kind ?? ""),
      [isNumber(data.workload.tokens) && `${count(data.workload.tokens)} tokens`, isNumber(data.repetitions) && `${count(data.repetitions)} repetitions`].filter(Boolean).join(", "))],
  ],
  sections: (data) => {
    const rows = rowsOf(data);
    return rows.length === 0 ? [] : [benchTable(data, rows), timePerToken(data, rows), speedUps(data, rows), actualAndIdeal(rows), batchCosts(data), depthCurves(data), plan(data)];
  },
  details: () => [],
};
