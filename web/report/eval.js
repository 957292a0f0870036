// The sections of an evaluation.
const AUTHORS = {
  large: {key: "large", label: "large model", fill: "var(--large-fill)", on: "large"},
  small: {key: "small", label: "small model", fill: "var(--small-fill)", on: "small"},
  forced: {key: "forced", label: "forced", fill: "var(--forced-fill)"},
};
const PARTS = [
  {key: "large decode", field: "large_decode", label: "large decode", fill: "var(--large-fill)", on: "large"},
  {key: "small decode", field: "small_decode", label: "small decode", fill: "var(--small-fill)", on: "small"},
  {key: "catch-up", field: "catch_up", label: "catch-up", fill: "url(#catch-up)"},
  {key: "verify", field: "verify", label: "verify", fill: "url(#verify)"},
  {key: "prefill", field: "prefill", label: "prefill", fill: "url(#prefill)"},
  {key: "other", field: "other", label: "other", fill: "var(--other-fill)"},
];
const legendOf = (parts) => parts.map((part) => ({label: part.label, draw: swatch(part.fill)}));

function policiesOf(data) {
  const policies = list(data.policies).map(object);
  const names = distinct(policies.map((p) => p.name));
  return policies.map((p, i) => ({...p, label: names[i], isBaseline: p.name === data.baseline}));
}

function policyTable(data, policies) {
  const margin = isNumber(data.margin) ? `${short(100 * data.margin)} points` : "the margin";
  return section("policies", "Policies",
    `Accuracy is the share of right answers. The difference is in percentage points against ${data.baseline}, over the same questions. ` +
    `\u201cKept\u201d means that all of its 95% interval lies above a loss of ${margin}, \u201clost\u201d that all of it lies below.`,
    table({
      caption: "Policies with accuracy, difference, verdict, speed and tokens; intervals are 95% intervals", rows: policies, wide: true,
      columns: [
        {label: "Policy", cell: (p) => [longText(p.label), p.isBaseline && h("span", {class: "range"}, "baseline"), p.endpoint && h("span", {class: "range"}, longText(String(p.endpoint)))]},
        {label: "Accuracy", cell: (p) => estimate(p.accuracy, percent)},
        {label: "Difference", cell: (p) => estimate(p.difference, points)},
        {label: "Verdict", number: false, cell: (p) => (p.verdict ? [verdict(p.verdict.kind), isNumber(p.verdict.more_questions) && h("span", {class: "range"}, `about ${count(p.verdict.more_questions)} more`)] : DASH)},
        {label: "Speed-up", cell: (p) => estimate(p.speed_up, times)},
        {label: "Tokens", cell: (p) => withBelow(count(p.tokens?.mean), isNumber(p.tokens?.p90) && `90% below ${count(p.tokens.p90)}`)},
        {label: "Large share", cell: (p) => percent(p.utilisation)},
        {label: "Handoffs", cell: (p) => oneDecimal(p.handoffs)},
        {label: "Truncated", cell: (p) => percent(p.truncated)},
        {label: "Errors, missing", cell: (p) => `${count(p.errors)}, ${count(p.missing)}`},
      ],
    }));
}

const symbolOf = (p) => (p.isBaseline ? "baseline" : ["kept", "lost", "undecided"].includes(p.verdict?.kind) ? p.verdict.kind : "undecided");
const SYMBOLS = {
  baseline: {type: d3.symbolSquare, fill: "currentColor"},
  kept: {type: d3.symbolCircle, fill: "currentColor"},
  undecided: {type: d3.symbolCircle, fill: "var(--ground)"},
  lost: {type: d3.symbolTriangle, fill: "var(--ground)"},
};
const symbolLegend = (kinds) => ["baseline", "kept", "undecided", "lost"].filter((kind) => kinds.has(kind)).map((kind) => ({
  label: {baseline: "baseline", kept: "accuracy kept", undecided: "undecided", lost: "accuracy lost"}[kind],
  draw: () => [s("path", {d: d3.symbol(SYMBOLS[kind].type, 60)(), transform: "translate(8 6)", fill: SYMBOLS[kind].fill, stroke: "currentColor", "stroke-width": 1.5})],
}));

function tradeOff(data, policies) {
  const shown = policies.map((p) => ({...p, x: valueOf(p.speed_up) ?? (p.isBaseline ? 1 : null), y: valueOf(p.accuracy), e: p.accuracy, sp: p.speed_up}))
    .filter((p) => p.x > 0 && p.y !== null);
  if (shown.length < 2) return null;
  const absent = policies.filter((p) => !shown.some((q) => q.label === p.label));
  const baseline = shown.find((p) => p.isBaseline);
  const floor = baseline && isNumber(data.margin) ? baseline.y - data.margin : null;
  const xs = shown.flatMap((p) => (hasRange(p.sp) ? [p.sp.low, p.sp.high] : [p.x])).filter((x) => x > 0);
  const ys = shown.flatMap((p) => (hasRange(p.e) ? [p.e.low, p.e.high] : [p.y]));
  const logarithmic = d3.max(xs) / d3.min(xs) > 4;
  const pad = (range, fraction) => [range[0] - fraction * (range[1] - range[0] || 0.1), range[1] + fraction * (range[1] - range[0] || 0.1)];
  const xDomain = logarithmic ? pad(d3.extent(xs).map(Math.log), 0.13).map(Math.exp) : pad(d3.extent(xs), 0.13);
  const yDomain = pad(d3.extent(floor === null ? ys : [...ys, floor]), 0.1);
  const floorName = floor === null ? "" : `${shortened(data.baseline, 28)} ${MINUS} ${short(100 * data.margin)} points`;
  const draw = (width) => {
    const narrow = width < NARROW;
    const height = narrow ? 380 : 440;
    const margins = {marginLeft: 52, marginRight: 20, marginTop: 30, marginBottom: 40};
    const ticks = logarithmic ? ratioTicks(xDomain, width - 80) : d3.ticks(...xDomain, narrow ? 4 : 8);
    const svg = plot(width, {
      height, ...margins,
      x: {type: logarithmic ? "log" : "linear", domain: xDomain, label: "speed-up \u2192", labelArrow: "none", labelAnchor: "right", tickFormat: (x) => `${+x.toPrecision(3)}\u00d7`, ticks, tickSize: 0},
      y: {domain: yDomain, label: "\u2191 accuracy", labelArrow: "none", tickFormat: (y) => `${+(100 * y).toFixed(1)}%`, ticks: narrow ? 5 : 7, tickSize: 0},
      marks: [
        valueGrid(width, ticks), Plot.gridY({stroke: "var(--rule)", strokeOpacity: 1, ticks: narrow ? 5 : 7}),
        floor !== null && Plot.ruleY([floor], {stroke: "var(--axis)", strokeDasharray: "4 3"}),
        floor !== null && Plot.text([floor], {y: (d) => d, text: () => floorName, frameAnchor: "right", textAnchor: "end", dy: 9, fill: "var(--muted)"}),
        Plot.link(shown.filter((p) => hasRange(p.sp)), {x1: (p) => Math.max(p.sp.low, 1e-9), x2: (p) => p.sp.high, y1: "y", y2: "y", strokeWidth: 1.5, strokeOpacity: 0.75}),
        Plot.link(shown.filter((p) => hasRange(p.e)), {x1: "x", x2: "x", y1: (p) => p.e.low, y2: (p) => p.e.high, strokeWidth: 1.5, strokeOpacity: 0.75}),
        ...Object.entries(SYMBOLS).map(([kind, look]) => Plot.dot(shown.filter((p) => symbolOf(p) === kind), {x: "x", y: "y", symbol: {draw: (context, size) => look.type.draw(context, size)}, r: 5.5, fill: look.fill, stroke: "currentColor", strokeWidth: 1.75})),
        tip(width, shown, {x: "x", y: "y", title: (p) => tipText(shortened(p.label, 60), `accuracy ${full(p.e, percent)}`, `speed-up ${valueOf(p.sp) === null ? "1 (baseline)" : full(p.sp, times)}`, p.verdict?.kind)}),
      ],
    });
    const x = svg.scale("x").apply, y = svg.scale("y").apply;
    const obstacles = shown.flatMap((p) => [
      {of: p.label, x: x(p.x) - 8, y: y(p.y) - 8, w: 16, h: 16},
      hasRange(p.sp) && {of: p.label, x: x(p.sp.low), y: y(p.y) - 2, w: x(p.sp.high) - x(p.sp.low), h: 4},
      hasRange(p.e) && {of: p.label, x: x(p.x) - 2, y: y(p.e.high), w: 4, h: y(p.e.low) - y(p.e.high)},
    ].filter(Boolean));
    if (floor !== null) obstacles.push({x: width - margins.marginRight - measure(floorName), y: y(floor), w: measure(floorName), h: 18});
    const labels = shown.map((p) => ({of: p.label, text: shortened(p.label, narrow ? 18 : 28), x: x(p.x), y: y(p.y), h: 16})).map((l) => ({...l, w: measure(l.text, 600)}));
    drawLabels(svg, placeLabels(labels, obstacles, {x: margins.marginLeft, y: margins.marginTop, w: width - margins.marginLeft - margins.marginRight, h: height - margins.marginTop - margins.marginBottom}));
    return svg;
  };
  return section("trade-off", "Accuracy and speed",
    `Higher is more accurate, further right is faster than ${data.baseline}. The bars are 95% intervals.` +
    (absent.length ? ` Not shown, for want of a measured speed or accuracy: ${absent.map((p) => shortened(p.label, 40)).join(", ")}.` : ""),
    figure({
      draw, items: symbolLegend(new Set(shown.map(symbolOf))),
      alt: `Accuracy against speed-up of ${shown.length} policies. The table below has the values.`,
      numbers: {caption: "Accuracy and speed-up of each policy", rows: shown, columns: [
        {label: "Policy", cell: (p) => p.label}, {label: "Speed-up", cell: (p) => full(p.sp ?? {value: 1}, times)}, {label: "Accuracy", cell: (p) => full(p.e, percent)}]},
    }));
}

function authorship(policies) {
  const shown = policies.filter((p) => isNumber(p.utilisation) || isNumber(p.small_share));
  if (shown.length === 0) return null;
  const shares = shown.map((p) => {
    const large = p.utilisation ?? 1 - p.small_share;
    const small = p.small_share ?? 1 - large;
    return {name: p.label, large, small, forced: Math.max(0, 1 - large - small)};
  });
  const hasForced = shares.some((d) => d.forced > 0.0005);
  const parts = hasForced ? Object.values(AUTHORS) : [AUTHORS.large, AUTHORS.small];
  return section("authors", "Who wrote the tokens", "The large model\u2019s share is what the method calls utilisation.",
    figure({
      items: legendOf(parts),
      draw: (width) => stackedBars(width, {
        names: shown.map((p) => p.label), parts, domain: [0, 1], format: percent, tick: (x) => `${Math.round(100 * x)}%`, label: "share of the tokens",
        pieces: shares.flatMap((d) => parts.map((part) => ({name: d.name, part: part.key, value: d[part.key]}))),
      }),
      alt: "Share of the tokens by each model, for every policy. The table below has the values.",
      numbers: {caption: "Share of the tokens by author", rows: shares, columns: [
        {label: "Policy", cell: (d) => d.name}, {label: "Large model", cell: (d) => percent(d.large)}, {label: "Small model", cell: (d) => percent(d.small)},
        ...(hasForced ? [{label: "Forced", cell: (d) => percent(d.forced)}] : [])]},
    }));
}

function lengths(policies) {
  const shown = policies.map((p) => ({name: p.label, values: list(p.lengths).filter((x) => isNumber(x) && x >= 0)})).filter((p) => p.values.length > 0);
  if (shown.length === 0) return null;
  const all = shown.flatMap((p) => p.values);
  const end = d3.max(all) || 1;
  const bins = d3.bin().domain([0, end]).thresholds(d3.ticks(0, end, 48).filter((t) => t < end));
  const bars = shown.flatMap((p) => bins(p.values).filter((b) => b.length > 0).map((b) => ({name: p.name, x1: b.x0, x2: b.x1, outputs: b.length, share: b.length / p.values.length})));
  const top = d3.max(bars, (b) => b.share);
  const medians = shown.map((p) => ({name: p.name, value: d3.median(p.values)}));
  const quantile = (q) => (p) => count(d3.quantile(p.values, q));
  return section("lengths", "Lengths of the outputs", "The distribution of tokens an output, one row a policy, all on one scale. The line marks the median.",
    figure({
      draw: (width) => {
        const names = shown.map((p) => p.name);
        const side = rowNames(width, names);
        return plot(width, {
          height: names.length * (62 + 1.25 * side.top) + 46, marginLeft: Math.max(side.left, 8), marginRight: 20, marginTop: 4, marginBottom: 42,
          fy: {domain: names, axis: null, padding: 0}, y: {axis: null, domain: [0, 1.3 * top], insetTop: side.top},
          x: valueAxis(width, {domain: [0, d3.max(bars, (b) => b.x2)], label: "tokens", tickFormat: count}),
          marks: [
            valueGrid(width),
            Plot.rect(bars, {fy: "name", x1: "x1", x2: "x2", y1: () => 0, y2: "share", fill: "var(--forced-fill)", insetLeft: 0.5, insetRight: 0.5}),
            Plot.ruleY([0], {stroke: "var(--axis)"}),
            Plot.ruleX(medians, {fy: "name", x: "value", y1: () => 0, y2: () => 1.2 * top, strokeWidth: 2}),
            [["start", 6], ["end", -6]].map(([textAnchor, dx]) => Plot.text(medians.filter((d) => (d.value > 0.8 * end) === (textAnchor === "end")), {
              fy: "name", x: "value", y: () => 1.12 * top, text: (d) => count(d.value), textAnchor, dx, stroke: "var(--ground)", strokeWidth: 4, fill: "currentColor"})),
            side.marks,
            tip(width, bars, {fy: "name", x: (b) => (b.x1 + b.x2) / 2, y: "share", title: (b) => tipText(shortened(b.name, 60), `${count(b.x1)} to ${count(b.x2)} tokens`, `${count(b.outputs)} outputs (${percent(b.share)})`)}),
          ],
        });
      },
      alt: "Histograms of output lengths for every policy. The table below has the quantiles.",
      numbers: {caption: "Quantiles of output lengths in tokens", rows: shown, columns: [
        {label: "Policy", cell: (p) => p.name}, {label: "Outputs", cell: (p) => count(p.values.length)}, {label: "Shortest", cell: quantile(0)}, {label: "10%", cell: quantile(0.1)},
        {label: "Median", cell: quantile(0.5)}, {label: "90%", cell: quantile(0.9)}, {label: "Longest", cell: quantile(1)}]},
    }));
}

function timeSpent(policies) {
  const shown = policies.filter((p) => PARTS.some((part) => isNumber(object(p.time)[part.field])))
    .map((p) => ({name: p.label, time: p.time, per: p.outputs > 0 ? p.outputs : 1}));
  if (shown.length === 0) return null;
  const each = (d, part) => (isNumber(d.time[part.field]) ? d.time[part.field] / d.per : null);
  const total = (d) => d3.sum(PARTS, (part) => each(d, part) ?? 0);
  return section("time", "Where the time went", "Mean time an output. Catch-up is the model that takes over reading what the other one wrote.",
    figure({
      items: legendOf(PARTS),
      draw: (width) => stackedBars(width, {
        names: shown.map((d) => d.name), parts: PARTS, format: duration, label: "time an output",
        pieces: shown.flatMap((d) => PARTS.map((part) => ({name: d.name, part: part.key, value: each(d, part), exact: `${duration(each(d, part))} (${percent(each(d, part) / total(d))})`}))),
        ends: shown.map((d) => ({name: d.name, x: total(d), text: duration(total(d))})),
      }),
      alt: "Time an output by part, for every policy. The table below has the values.",
      numbers: {caption: "Mean time an output by part", rows: shown, columns: [
        {label: "Policy", cell: (d) => d.name}, ...PARTS.map((part) => ({label: part.label, cell: (d) => duration(each(d, part))})), {label: "Sum", cell: (d) => duration(total(d))}]},
    }));
}

function outputBlock(output) {
  const text = h("div", {class: "text", tabindex: "0", role: "group", "aria-label": `Output of ${shortened(output.policy ?? "", 60)}`});
  for (const segment of list(output.segments).map(object)) {
    const author = Object.hasOwn(AUTHORS, segment.author) ? segment.author : "forced";
    const words = String(segment.text ?? "");
    const [begin, end] = [words.length - words.trimStart().length, words.trimEnd().length];
    // Blanks at the ends stay outside, so that they are not underlined.
    append(text, [words.slice(0, Math.min(begin, words.length)), begin < end && h("span", {class: `by-${author}`},
      author !== "large" && h("span", {class: "hidden"}, `[${AUTHORS[author].label}] `), words.slice(begin, end)), words.slice(Math.max(begin, end))]);
  }
  return h("div", {class: "output"},
    h("h4", null, h("span", null, shortened(output.policy ?? "", 60)), verdict(output.verdict)),
    h("p", {class: "meta"}, output.answer ? `answer ${shortened(output.answer, 200)}` : "no answer", isNumber(output.tokens) && `, ${count(output.tokens)} tokens`),
    text);
}

function disagreements(data) {
  const problems = list(data.disagreements).map(object);
  if (problems.length === 0) return null;
  const baseline = data.baseline;
  const outputs = problems.map((p) => list(p.outputs).map(object));
  const names = [...new Set(outputs.flat().map((o) => o.policy).filter((name) => name !== baseline))];
  const differs = (all, name) => {
    const own = all.find((o) => o.policy === name);
    const base = all.find((o) => o.policy === baseline);
    return own !== undefined && (base === undefined || own.verdict !== base.verdict || own.answer !== base.answer);
  };
  const choice = h("select", {id: "policy-filter"}, h("option", {value: "-1"}, "all policies"), names.map((name, i) => h("option", {value: i}, shortened(name ?? "", 40))));
  const status = h("span", {class: "muted", role: "status"});
  const items = problems.map((problem, i) => {
    const inside = h("div", {class: "inside"});
    const outcome = h("span", {class: "outcome"});
    const item = h("details", {class: "problem"},
      h("summary", null, h("span", {class: "name"}, shortened(problem.problem ?? "", 60)), h("span", {class: "short"}, shortened(problem.question ?? "", 160)), outcome), inside);
    let chosen = null;
    const fill = () => {
      const shown = outputs[i].filter((o) => chosen === null || o.policy === chosen || o.policy === baseline);
      inside.replaceChildren(h("p", {class: "question"}, String(problem.question ?? "")),
        h("p", {class: "muted"}, "Expected: ", String(problem.expected ?? DASH)), h("div", {class: "outputs"}, shown.map(outputBlock)));
    };
    item.addEventListener("toggle", () => { if (item.open) fill(); });
    return {item, show(name) {
      chosen = name;
      item.hidden = name !== null && !differs(outputs[i], name);
      const others = outputs[i].filter((o) => o.policy !== baseline && (name === null || o.policy === name) && differs(outputs[i], o.policy));
      const base = outputs[i].find((o) => o.policy === baseline);
      const gained = others.filter((o) => o.verdict === "right" && base?.verdict !== "right");
      const lost = others.filter((o) => o.verdict !== "right" && base?.verdict === "right");
      const say = (which, word) => which.length > 0 && `${which.map((o) => shortened(o.policy ?? "", 30)).join(", ")} ${word}`;
      outcome.replaceChildren([say(lost, "wrong"), say(gained, "right")].filter(Boolean).join("; ") || "different answers");
      if (item.open) fill();
      return !item.hidden;
    }};
  });
  const apply = () => {
    const index = Number(choice.value);
    const shown = items.filter((entry) => entry.show(index < 0 ? null : names[index])).length;
    status.textContent = `${shown} of ${problems.length} questions`;
  };
  choice.addEventListener("change", apply);
  apply();
  items[0].item.open = true;
  const byAuthor = Object.values(AUTHORS).map((author) => ({label: {large: "large model", small: "small model, underlined", forced: "forced, italic"}[author.key], className: `by-${author.key}`}));
  return section("disagreements", "Where the outputs differ",
    `Questions on which a policy and ${baseline} came to different results, with both texts coloured by author.`,
    h("div", {class: "bar"}, h("label", null, "Policy", choice), status, legend(byAuthor)), items.map((entry) => entry.item));
}

function grades(data, policies) {
  if (!policies.some((p) => p.verdicts || p.mcnemar)) return null;
  return details("Grades and paired counts",
    h("p", {class: "muted"}, `Unfinished outputs and outputs without an answer count as wrong. The last three columns compare with ${data.baseline} on the same questions; p is McNemar\u2019s exact test, two-sided.`),
    table({caption: "Grades of the outputs, and counts of paired questions", rows: policies, wide: true, columns: [
      {label: "Policy", cell: (p) => longText(p.label)}, {label: "Outputs", cell: (p) => count(p.outputs)}, {label: "Right", cell: (p) => count(p.verdicts?.right)}, {label: "Wrong", cell: (p) => count(p.verdicts?.wrong)},
      {label: "No answer", cell: (p) => count(p.verdicts?.no_answer)}, {label: "Unfinished", cell: (p) => count(p.verdicts?.unfinished)},
      {label: "Time", cell: (p) => duration(p.seconds)}, {label: "Compared", cell: (p) => count(p.compared)}, {label: "Only baseline right", cell: (p) => count(p.mcnemar?.only_baseline)}, {label: "Only policy right", cell: (p) => count(p.mcnemar?.only_policy)},
      {label: "p", cell: (p) => probability(p.mcnemar?.p)}]}));
}

const evalSections = {
  kind: "Evaluation",
  facts: (data) => [
    ["Problems", isNumber(data.dataset?.problems) && withSmall(count(data.dataset.problems), [data.dataset.name, data.dataset.samples > 1 && `${data.dataset.samples} samples each`].filter(Boolean).join(", "))],
  ],
  sections: (data) => {
    const policies = policiesOf(data);
    return policies.length === 0 ? [] : [policyTable(data, policies), tradeOff(data, policies), authorship(policies), lengths(policies), timeSpent(policies), disagreements(data)];
  },
  details: (data) => [grades(data, policiesOf(data))],
};
