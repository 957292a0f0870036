// The sections of a calibration: which of the candidates are cues of a pair, what says so, and what they hand over.
const MOST_HISTOGRAMS = 12;

// ---- Margins behind a candidate
const histogramOf = (bins) => {
  const counts = list(bins).map((n) => (n > 0 ? n : 0));
  const all = d3.sum(counts);
  return all > 0 ? counts.map((n, i) => ({x1: i / counts.length, x2: (i + 1) / counts.length, tokens: n, share: n / all})) : null;
};
const FIFTHS = [0, 0.2, 0.4, 0.6, 0.8];
const shareWithin = (bars, from) => d3.sum(bars.filter((b) => b.x1 > from - 0.01 && b.x2 < from + 0.21), (b) => b.share);
const meanOf = (bars) => d3.sum(bars, (b) => (b.share * (b.x1 + b.x2)) / 2);

function marginHistograms(data, cues) {
  const all = histogramOf(data.margins);
  const shown = cues.map((c) => ({...c, bars: histogramOf(c.margins)})).filter((c) => c.bars !== null).sort((a, b) => (b.count ?? 0) - (a.count ?? 0)).slice(0, MOST_HISTOGRAMS);
  if (shown.length === 0) return null;
  const top = d3.max([...shown.flatMap((c) => c.bars), ...(all ?? [])], (b) => b.share);
  const meanText = (c) => `mean ${twoDecimals(valueOf(c.behind.small_margin) ?? meanOf(c.bars))}`;
  const draw = (width) => {
    const across = Math.max(2, Math.min(4, Math.floor(width / 210), shown.length));
    const down = Math.ceil(shown.length / across);
    const at = (i) => ({fx: i % across, fy: Math.floor(i / across)});
    const bars = shown.flatMap((c, i) => c.bars.map((b) => ({...b, ...at(i), cue: c})));
    const outline = all === null ? [] : shown.flatMap((_, i) => all.flatMap((b) => [{x: b.x1, share: b.share, ...at(i)}, {x: b.x2, share: b.share, ...at(i)}]));
    const heads = shown.map((c, i) => ({c, ...at(i)}));
    const [title, panelHeight, left] = [40, 150, 36];
    const room = (width - left) / across - 22;
    const ticks = [0, 0.5, 1].map(String);
    const yTicks = [0.01, 0.1, 0.5].filter((y) => y <= top);
    return plot(width, {
      height: down * panelHeight + 20, marginLeft: left, marginRight: 8, marginTop: 0, marginBottom: 20,
      fx: {domain: d3.range(across), axis: null, padding: 0.09, paddingOuter: 0}, fy: {domain: d3.range(down), axis: null, padding: 0},
      x: {domain: [0, 1], axis: null}, y: {type: "sqrt", domain: [0, 1.02 * top], axis: null, insetTop: title, insetBottom: 22},
      marks: [
        Plot.ruleY(heads.flatMap((d) => yTicks.map((y) => ({...d, y}))), {fx: "fx", fy: "fy", y: "y", stroke: "var(--rule)"}),
        Plot.text(d3.range(down).flatMap((fy) => yTicks.map((y) => ({fx: 0, fy, y}))), {fx: "fx", fy: "fy", x: () => 0, y: "y", text: (d) => percentTick(d.y), textAnchor: "end", dx: -5, fill: "var(--muted)"}),
        Plot.rect(bars, {fx: "fx", fy: "fy", x1: "x1", x2: "x2", y1: () => 0, y2: "share", fill: (b) => (b.cue.selected ? "var(--small-fill)" : "var(--forced-fill)"), insetLeft: 0.5, insetRight: 0.5}),
        Plot.line(outline, {fx: "fx", fy: "fy", x: "x", y: "share", strokeWidth: 1.5}),
        Plot.ruleY(heads, {fx: "fx", fy: "fy", y: () => 0, stroke: "var(--axis)"}),
        Plot.text(heads.flatMap((d) => ticks.map((text) => ({...d, text}))), {fx: "fx", fy: "fy", x: (d) => Number(d.text), y: () => 0, text: "text", dy: 12, fill: "var(--muted)"}),
        [true, false].map((selected) => Plot.text(heads.filter((d) => d.c.selected === selected), {fx: "fx", fy: "fy", frameAnchor: "top-left", textAnchor: "start", dy: 12, fontWeight: selected ? 650 : 400, text: (d) => fitting(d.c.name, room, 650)})),
        Plot.text(heads, {fx: "fx", fy: "fy", frameAnchor: "top-left", textAnchor: "start", dy: 28, fill: "var(--muted)", text: (d) => fitting([meanText(d.c), decisionWord(d.c)].filter(Boolean).join(", "), room + 16)}),
        tip(width, bars, {fx: "fx", fy: "fy", x: (b) => (b.x1 + b.x2) / 2, y: "share", title: (b) => tipText(shortened(b.cue.name, 40), `margin ${twoDecimals(b.x1)} to ${twoDecimals(b.x2)}`, `${count(b.tokens)} tokens (${percent(b.share)})`, all?.length === b.cue.bars.length && `all thinking ${percent(all[b.cue.bars.findIndex((o) => o.x1 === b.x1)].share)}`)}),
      ],
    });
  };
  const row = (name, bars) => ({name, bars});
  return section("margins", "Margins behind the most frequent candidates",
    "How sure the small model is of the tokens behind a candidate: p of its first choice minus p of the second. Bars are shares of tokens; the vertical scale is a square root, so that small shares can be seen.",
    figure({
      draw, items: [
        shown.some((c) => c.selected) && {label: "behind a selected candidate", draw: swatch("var(--small-fill)")}, shown.some((c) => !c.selected) && {label: "behind another", draw: swatch("var(--forced-fill)")},
        all !== null && {label: `all thinking, mean ${twoDecimals(meanOf(all))}`, draw: () => [s("path", {d: "M0 10H6V2H16", fill: "none", stroke: "var(--ink)", "stroke-width": 1.5})]}].filter(Boolean),
      alt: `Histograms of the small model's margins behind ${shown.length} candidates. The table below has the shares.`,
      numbers: {caption: "Shares of tokens by margin", rows: [...(all === null ? [] : [row("all thinking", all)]), ...shown.map((c) => row(c.name, c.bars))], columns: [
        {label: "Behind", cell: (d) => d.name}, ...FIFTHS.map((from) => ({label: `${from} to ${short(from + 0.2)}`, cell: (d) => percent(shareWithin(d.bars, from))})), {label: "Tokens", cell: (d) => count(d3.sum(d.bars, (b) => b.tokens))}]},
    }));
}

// ---- How much is handed over
function handoverSentence(data) {
  const {share_of_thinking: thinking, handoffs, segment_tokens: tokens, apart} = object(data.handover);
  if (valueOf(thinking) === null) return "";
  return `The selected ones hand over ${full(thinking, percent)} of the thinking` +
    (isNumber(handoffs) && isNumber(tokens) ? `, in ${oneDecimal(handoffs)} handoffs a trace of ${oneDecimal(tokens)} tokens each` : "") +
    (apart === true ? "; measured on problems that did not choose them." : apart === false ? "; measured on the problems that chose them, so a little too good." : ".");
}

function steps(data, cues) {
  const byText = new Map(cues.map((c) => [c.text, c]));
  const known = list(data.steps).map(object).filter((d) => isNumber(d.share));
  if (known.length < 2) return null;
  const names = distinct(known.map((d) => cueName(d.text)));
  const dots = known.map((d, i) => {
    const cue = byText.get(d.text);
    return {name: names[i], x: i + 1, y: d.share, gain: d.share - (known[i - 1]?.share ?? 0), selected: cue?.selected === true, decision: cue?.decision ?? null};
  });
  const target = isNumber(object(data.settings).target_share) ? data.settings.target_share : null;
  // The name of the line stands where the curve is far from it: above it on the left, or below it on the right.
  const isLate = target !== null && (dots.find((d) => d.y >= target)?.x ?? dots.length) > dots.length / 2;
  const top = 1.06 * (d3.max([...dots.map((d) => d.y), target ?? 0]) || 0.01);
  const draw = (width) => {
    const narrow = width < NARROW;
    const height = narrow ? 300 : 360;
    const frame = {x: 46, y: 30, w: width - 46 - 16, h: height - 30 - 40};
    const ticks = d3.ticks(0, dots.length, Math.min(dots.length, narrow ? 5 : 10)).filter(Number.isInteger);
    const yTicks = d3.ticks(0, top, 5);
    const svg = plot(width, {
      height, marginLeft: frame.x, marginRight: 16, marginTop: frame.y, marginBottom: 40,
      x: {domain: [0, dots.length + 0.5], label: "candidates, the best first \u2192", labelArrow: "none", labelAnchor: "right", ticks, tickFormat: count, tickSize: 0},
      y: {domain: [0, top], label: "\u2191 share of the thinking", labelArrow: "none", ticks: yTicks, tickFormat: percentTick, tickSize: 0},
      marks: [
        Plot.gridY(yTicks, {stroke: "var(--rule)", strokeOpacity: 1}),
        target !== null && Plot.ruleY([target], {stroke: "var(--muted)", strokeDasharray: "4 3"}),
        target !== null && Plot.text([target], {y: (d) => d, text: () => "wanted share", ...(isLate ? {frameAnchor: "left", textAnchor: "start", dx: 6, dy: -9} : {frameAnchor: "right", textAnchor: "end", dx: -6, dy: 10}), fill: "var(--muted)", stroke: "var(--ground)", strokeWidth: 4}),
        Plot.line([{x: 0, y: 0}, ...dots], {x: "x", y: "y", stroke: "var(--axis)", strokeWidth: 1.5}),
        decisionDots(dots, {x: "x", y: "y", r: dots.length > width / 14 ? 2.5 : 4.5}),
        tip(width, dots, {x: "x", y: "y", title: (d) => tipText(shortened(d.name, 40) + (d.decision === null ? "" : `: ${decisionWord(d)}`), `the best ${count(d.x)}: ${percent(d.y)} of the thinking`, `this one adds ${points(d.gain)} points`)}),
      ],
    });
    const x = svg.scale("x").apply, y = svg.scale("y").apply;
    const obstacles = dots.map((d) => ({of: d.name, x: x(d.x) - 7, y: y(d.y) - 7, w: 14, h: 14}));
    [{x: 0, y: 0}, ...dots].forEach((d, i, all) => { if (i > 0) obstacles.push(...dotsOf({x1: x(all[i - 1].x), y1: y(all[i - 1].y), x2: x(d.x), y2: y(d.y)})); });
    if (target !== null) obstacles.push({x: isLate ? frame.x : frame.x + frame.w - 12 - measure("wanted share"), y: y(target) - (isLate ? 17 : 0), w: 12 + measure("wanted share"), h: 18});
    const first = [...dots].sort((a, b) => b.gain - a.gain).slice(0, narrow ? 10 : 30);
    labelPoints(svg, first.map((d) => ({of: d.name, text: shortened(d.name, narrow ? 12 : 18), x: x(d.x), y: y(d.y), weight: d.selected ? 650 : 400})), obstacles, frame, 24);
    return svg;
  };
  return section("steps", "Share against the number of cues",
    `What would be handed over if only the best candidates were cues, by what the rule looks at. ${handoverSentence(data)}`.trim(),
    figure({
      draw, items: decisionLegend(dots), alt: `Share of the thinking handed over by the best candidates, up to ${dots.length}. The table below has the values.`,
      numbers: {caption: "Share of the thinking by number of candidates", rows: dots, columns: [
        {label: "With", cell: (d) => d.name}, {label: "Candidates", cell: (d) => count(d.x)}, {label: "Share", cell: (d) => percent(d.y)}, {label: "It adds, points", cell: (d) => points(d.gain)}, {label: "Decision", number: false, cell: (d) => verdict(d.decision)}]},
    }));
}

// ---- Variance between and within sentences
const VARIANCES = [
  {key: "between", label: "between sentences", fill: "var(--small-fill)", on: "small"},
  {key: "within", label: "within sentences", fill: "var(--other-fill)"},
];
function variance(data) {
  const {between, within, sentences, tokens} = object(data.variance);
  if (!isNumber(between) || !isNumber(within) || !(Math.min(between, within) >= 0 && between + within > 0)) return null;
  const of = {between: between / (between + within), within: within / (between + within)};
  return section("variance", "What a choice by sentence can see",
    `${percent(of.between)} of the variance of the small model\u2019s margins lies between sentences; a choice by sentence can see that part and no more. The other ${percent(of.within)} lies between the tokens of one sentence.`,
    figure({
      items: VARIANCES.map((part) => ({label: `${part.label} ${percent(of[part.key])}`, draw: swatch(part.fill)})),
      draw: (width) => plot(width, {
        height: 62, marginLeft: 8, marginRight: 16, marginTop: 4, marginBottom: 24, y: {axis: null, domain: [0, 1]}, x: valueAxis(width, {domain: [0, 1], tickFormat: percentTick, label: null}),
        marks: [
          Plot.rect(VARIANCES, {x1: (p) => (p.key === "between" ? 0 : of.between), x2: (p) => (p.key === "between" ? of.between : 1), y1: () => 0, y2: () => 1, fill: (p) => p.fill, insetLeft: 0.5, insetRight: 0.5}),
          tip(width, VARIANCES, {x: (p) => (p.key === "between" ? of.between / 2 : (1 + of.between) / 2), y: () => 0.5, title: (p) => tipText(p.label, percent(of[p.key]))}),
        ],
      }),
      alt: "Variance of margins between and within sentences. The table below has the values.",
      numbers: {caption: `Variance of the small model's margins${isNumber(sentences) && isNumber(tokens) ? `, over ${count(tokens)} tokens in ${count(sentences)} sentences` : ""}`, rows: VARIANCES, columns: [
        {label: "Part", cell: (p) => p.label}, {label: "Mean square", cell: (p) => threeDigits(object(data.variance)[p.key])}, {label: "Share", cell: (p) => percent(of[p.key])}]},
    }));
}

// ---- Answers and thresholds
function answersAndThresholds(data) {
  const answers = object(data.answers);
  const limits = object(data.thresholds);
  const some = (entries) => entries.filter(([, value]) => value !== null && value !== undefined && value !== false);
  const who = some([
    ["The small model may answer", typeof answers.small_may_answer === "boolean" && (answers.small_may_answer ? "yes" : "no")],
    ["Same answer behind the same thinking", valueOf(answers.agreement) !== null && withSmall(percent(answers.agreement.value),
      [isNumber(answers.same) && isNumber(answers.compared) && `${count(answers.same)} of ${count(answers.compared)}`, hasRange(answers.agreement) && rangeText(answers.agreement, percent)].filter(Boolean).join(", "))],
    ["Right answers by the large model", isNumber(answers.right_large) && percent(answers.right_large)],
    ["Right answers by the small model", isNumber(answers.right_small) && percent(answers.right_small)],
  ]);
  const numbers = some([
    ["Plausible from this probability on (\u03b5)", isNumber(limits.verify_epsilon) && withSmall(threeDigits(limits.verify_epsilon), isNumber(limits.tokens) && `from ${count(limits.tokens)} tokens`)],
    ["Guard: hands back below this margin", isNumber(limits.guard_margin) && withSmall(threeDigits(limits.guard_margin),
      isNumber(limits.guard_catches) && `stops ${percent(limits.guard_catches)} of ${isNumber(limits.guard_refused) ? `${count(limits.guard_refused)} ` : ""}refused tokens`)],
  ]);
  if (who.length === 0 && numbers.length === 0) return null;
  return section("limits", "Answers and thresholds", null, panels([
    who.length > 0 && panel("Who may write the answer", pairs(who)),
    numbers.length > 0 && panel("Thresholds for checking what the small model writes", pairs(numbers)),
  ].filter(Boolean)));
}

const RULES = {effect: "what the large model lets stand, and the proof", published: "the paper\u2019s score is above 0"};

const calibrateSections = {
  kind: "Calibration",
  facts: (data) => {
    const counts = object(data.counts);
    const rule = object(data.settings).rule ?? "";
    const cues = cuesOf(data);
    const {share: all, share_of_thinking: thinking} = object(data.handover);
    const joined = (...parts) => parts.filter(Boolean).join(", ");
    return [
      ["Cues", cues.length > 0 && withSmall(count(cues.filter((c) => c.selected).length), `of ${count(cues.length)} candidates`)],
      ["Handed over", valueOf(thinking) !== null && withSmall(percent(thinking.value), joined(`of the thinking${hasRange(thinking) ? ` (${rangeText(thinking, percent)})` : ""}`, valueOf(all) !== null && `${percent(all.value)} of all tokens`))],
      ["Problems", isNumber(counts.problems) && withSmall(count(counts.problems), joined(
        isNumber(counts.for_selection) && `${count(counts.for_selection)} to choose`, isNumber(counts.for_thresholds) && `${count(counts.for_thresholds)} for thresholds`, isNumber(counts.for_report) && `${count(counts.for_report)} to report`))],
      ["Traces", isNumber(counts.traces) && withSmall(count(counts.traces), joined(isNumber(counts.finished) && `${count(counts.finished)} finished`, isNumber(counts.thinking_tokens) && `${count(counts.thinking_tokens)} tokens of thinking`))],
      ["Rule", Object.hasOwn(RULES, rule) && withSmall(rule, RULES[rule])],
    ];
  },
  sections: (data) => {
    const cues = cuesOf(data);
    return [candidates(data, cues), twoScores(data, cues), marginHistograms(data, cues), steps(data, cues), variance(data), answersAndThresholds(data), exampleTrace(data), allCandidates(data, cues)];
  },
  details: () => [],
};
