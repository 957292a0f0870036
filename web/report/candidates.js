// The candidates of a calibration: what is known of each, what became of it and why.

// What became of a candidate. The mark is one of SYMBOLS, the tone a colour that repeats what mark and word say.
const DECISIONS = {
  selected: {mark: "kept", tone: "var(--good)", means: "a cue of this pair"},
  redundant: {mark: "undecided", tone: "var(--muted)", means: "as good as a cue, but the wanted share is reached without it"},
  unproven: {mark: "undecided", tone: "var(--open)", means: "may be safe, and too few places show it"},
  refused: {mark: "lost", tone: "var(--bad)", means: "the large model refuses too much of what the small one would write"},
  harmful: {mark: "lost", tone: "var(--bad)", means: "the proof shows that answers change for the worse"},
  low_score: {mark: "lost", tone: "var(--bad)", means: "the paper\u2019s score is not above 0"},
  rare: {mark: "undecided", tone: "var(--open)", means: "too few occurrences to say"},
};
const UNKNOWN_DECISION = {mark: "undecided", tone: "var(--muted)"};
const decisionOf = (cue) => (Object.hasOwn(DECISIONS, cue.decision) ? DECISIONS[cue.decision] : cue.selected ? DECISIONS.selected : UNKNOWN_DECISION);
const decisionWord = (cue) => (cue.decision === null ? "" : shortened(cueName(wordOf(cue.decision)), 14));
const MOST_IN_A_PLOT = 40;

const scoreText = signed(3);

// Blanks that belong to a cue are shown.
const cueName = (text) => String(text ?? "").replace(/[\r\n]/g, "\u21b5").replace(/^\s+|\s+$/g, (blanks) => "\u2423".repeat(blanks.length));

// Candidates, each with a name of its own: those that are selected first, then by what the rule looks at.
function cuesOf(data) {
  const cues = list(data.cues).filter((c) => c !== null && typeof c === "object" && !Array.isArray(c));
  const names = distinct(cues.map((c) => cueName(c.text)));
  const ruledBy = object(data.settings).rule === "published" ? "published_score" : "safe";
  const rank = (c) => valueOf(c[ruledBy]) ?? -1e9;
  return cues.map((c, i) => ({...c, name: names[i], selected: c.selected === true, decision: typeof c.decision === "string" && c.decision !== "" ? c.decision : c.selected === true ? "selected" : null,
                              proof: object(c.proof), behind: object(c.behind), against: object(c.against)}))
    .sort((a, b) => b.selected - a.selected || rank(b) - rank(a));
}
const frequent = (cues) => cues.filter((c) => c.decision !== "rare");

// The best ones for a plot, with room for some that are not selected.
function bestOf(cues) {
  const [selected, others] = [cues.filter((c) => c.selected), cues.filter((c) => !c.selected)];
  const most = Math.max(MOST_IN_A_PLOT - others.length, Math.round(0.7 * MOST_IN_A_PLOT));
  const shown = selected.slice(0, most);
  return [...shown, ...others.slice(0, MOST_IN_A_PLOT - shown.length)];
}

const markOf = (cue, {x, y}) => s("path", {d: d3.symbol(SYMBOLS[decisionOf(cue).mark].type, 60)(), transform: `translate(${x} ${y})`,
                                           fill: decisionOf(cue).mark === "kept" ? decisionOf(cue).tone : "var(--ground)", stroke: decisionOf(cue).tone, "stroke-width": 1.75});
// The marks of these candidates with the decisions that they stand for.
function decisionLegend(cues) {
  const present = Object.keys(DECISIONS).filter((name) => cues.some((c) => c.decision === name));
  return ["kept", "undecided", "lost"].map((mark) => present.filter((name) => DECISIONS[name].mark === mark)).filter((names) => names.length > 0)
    .map((names) => ({label: names.map((name) => wordOf(name)).join(", "), draw: () => [markOf({decision: names[0]}, {x: 8, y: 6})]}));
}
const decisionDots = (cues, {r = 4.5, ...channels}) => Object.entries(SYMBOLS).map(([mark, look]) => Plot.dot(cues.filter((c) => decisionOf(c).mark === mark), {
  ...channels, symbol: {draw: (context, size) => look.type.draw(context, size)}, r, fill: mark === "kept" ? (c) => decisionOf(c).tone : "var(--ground)", stroke: (c) => decisionOf(c).tone, strokeWidth: 1.75}));

// What is known of a candidate in one place: for tooltips.
const cueTip = (c) => tipText(shortened(c.name, 40) + (c.decision === null ? "" : `: ${decisionWord(c)}`), valueOf(c.safe) !== null && `safe ${full(c.safe, percent)}`,
  valueOf(c.published_score) !== null && `paper\u2019s score ${full(c.published_score, scoreText)}`, valueOf(c.proof.loss) !== null && `loss ${full(c.proof.loss, points)} points`,
  isNumber(c.count) && `${count(c.count)} occurrences`);

// ---- Safe share, score and loss, side by side
function measuresOf(data, cues) {
  const {min_safe: floor, max_loss: ceiling} = object(data.settings);
  const domain = (estimates, {at, limits: [least, most]}) => {
    const [low, high] = d3.extent([...estimates.flatMap((e) => (hasRange(e) ? [e.low, e.high, e.value] : [e.value])), ...at]);
    const room = Math.max(0.05 * (high - low), (0.1 - (high - low)) / 2);
    return [Math.max(least, low - room), Math.min(most, high + room)];
  };
  return [
    {label: "safe", title: "safe sentences", of: (c) => c.safe, at: [floor].filter(isNumber), limits: [0, 1], format: percent, tick: percentTick, weight: 1.35},
    {label: "score", title: "paper\u2019s score", of: (c) => c.published_score, at: [0], limits: [-1, 1], format: scoreText, tick: (x) => (x > 0 ? "+" : "") + short(x, 3), weight: 1},
    {label: "loss, points", title: "loss, in points", of: (c) => c.proof.loss, at: [0, ceiling].filter(isNumber), limits: [-1, 1], format: points, tick: (x) => short(100 * x), weight: 1},
  ].map((m) => ({...m, estimates: cues.map(m.of).filter((e) => valueOf(e) !== null)})).filter((m) => m.estimates.length > 0).map((m) => ({...m, domain: domain(m.estimates, m)}));
}

// The most ticks whose texts do not touch.
function ticksThatFit({x, tick}) {
  for (let most = 6; most > 1; --most) {
    const ticks = x.ticks(most);
    if (d3.pairs(ticks).every(([a, b]) => x(b) - x(a) >= (measure(tick(a)) + measure(tick(b))) / 2 + 8)) return ticks;
  }
  return x.ticks(1);
}

// One row a candidate, one column a measure, each with a scale of its own.
function intervalColumns(width, {rows, measures}) {
  const narrow = width < 560;  // names stand above
  const words = 14 + Math.max(...rows.map((c) => measure(decisionWord(c))));
  const shown = new Map(rows.map((c) => [c.name, fitting(c.name, narrow ? width - measure(decisionWord(c)) - 28 : 190, 600)]));
  const left = narrow ? 8 : 14 + Math.max(...[...shown.values()].map((name) => measure(name, 600)));
  const right = narrow ? 8 : words;
  const gap = 28;
  const unit = (width - left - right - gap * (measures.length - 1)) / d3.sum(measures, (m) => m.weight);
  const valueRoom = unit < 115 ? 0 : 46;  // for the values beside the dots
  let begin = left;
  const columns = measures.map((m) => {
    const column = {...m, x: d3.scaleLinear(m.domain, [begin, begin + unit * m.weight - valueRoom]), begin, end: begin + unit * m.weight - valueRoom};
    begin = column.end + valueRoom + gap;
    return column;
  });
  const dots = columns.flatMap((column) => rows.filter((c) => valueOf(column.of(c)) !== null).map((c) => {
    const e = column.of(c);
    return {...c, x: column.x(e.value), ...(hasRange(e) && {low: column.x(e.low), high: column.x(e.high)}), value: column.format(e.value)};
  }));
  const ranged = dots.filter((d) => isNumber(d.low));
  const tone = (d) => decisionOf(d).tone;
  const cap = (end) => Plot.link(ranged, {fy: "name", x1: end, x2: end, y1: () => -0.45, y2: () => 0.45, stroke: tone, strokeWidth: 1.5});
  const [top, bottom, row, above] = [38, 24, narrow ? 46 : 27, narrow ? 22 : 0];
  const height = top + rows.length * row + bottom;
  const svg = plot(width, {
    height, marginLeft: left, marginRight: right, marginTop: top, marginBottom: bottom,
    fy: {domain: rows.map((c) => c.name), axis: null, padding: 0},
    y: {axis: null, domain: [-1, 1], insetTop: above + 2, insetBottom: 2},
    x: {axis: null, domain: [left, width - right]},  // pixels, as every column has its own scale
    marks: [
      Plot.link(ranged, {fy: "name", x1: "low", x2: "high", y1: () => 0, y2: () => 0, stroke: tone, strokeWidth: 1.5}),
      cap("low"), cap("high"),
      decisionDots(dots, {fy: "name", x: "x", y: () => 0}),
      valueRoom > 0 && Plot.text(dots, {fy: "name", x: (d) => d.high ?? d.x, y: () => 0, text: "value", textAnchor: "start", dx: 8, stroke: "var(--ground)", strokeWidth: 4, fill: "currentColor"}),
      // Two marks, as a weight is one for a whole mark.
      [true, false].map((selected) => Plot.text(rows.filter((c) => c.selected === selected), {fy: "name", text: (c) => shown.get(c.name), fontWeight: selected ? 650 : 400, fill: "currentColor",
        ...(narrow ? {frameAnchor: "top-left", textAnchor: "start", dy: 5} : {frameAnchor: "left", textAnchor: "end", dx: -12})})),
      Plot.text(rows, {fy: "name", text: decisionWord, fill: "var(--muted)", ...(narrow ? {frameAnchor: "top-right", textAnchor: "end", dy: 5} : {frameAnchor: "right", textAnchor: "start", dx: 12})}),
      tip(width, dots, {fy: "name", x: "x", y: () => 0, title: cueTip}),
    ],
  });
  // The middle of a text that may stand out of its column by little.
  const within = (column, middle, half) => Math.min(Math.max(middle, Math.max(0, column.begin - 12) + half), Math.min(width, column.end + valueRoom + 12) - half);
  const scales = s("g", {class: "scales", "aria-hidden": "true", fill: "var(--muted)"});
  for (const column of columns) {
    scales.append(s("text", {x: column.begin, y: 10, "text-anchor": "start", "font-weight": 600, fill: "currentColor"}, narrow ? column.label : column.title));
    const ticks = ticksThatFit(column);
    const upright = (at, look) => (narrow ? rows.map((_, i) => top + i * row) : [top]).map((y) =>
      s("line", {x1: column.x(at), x2: column.x(at), y1: y + above, y2: narrow ? y + row : height - bottom, ...look}));
    for (const tick of ticks) {
      scales.append(...upright(tick, {stroke: "var(--rule)"}),
        ...[top - 8, height - bottom + 16].map((y) => s("text", {x: within(column, column.x(tick), measure(column.tick(tick)) / 2), y, "text-anchor": "middle"}, column.tick(tick))));
    }
    for (const at of column.at) scales.append(...upright(at, {stroke: "var(--muted)", "stroke-dasharray": "4 3"}));
  }
  const lines = rows.map((_, i) => i).filter((i) => narrow || rows[i].selected !== rows[i - 1]?.selected);
  for (const i of [...lines, rows.length]) {
    const between = i > 0 && i < rows.length && rows[i].selected !== rows[i - 1].selected;
    scales.append(s("line", {x1: 0, x2: width, y1: top + i * row, y2: top + i * row, stroke: between ? "var(--axis)" : "var(--rule)"}));
  }
  svg.insertBefore(scales, svg.querySelector("g"));
  return svg;
}

function cueTable(caption, rows, measures) {
  return {caption, rows, columns: [
    {label: "Candidate", cell: (c) => c.name}, {label: "Decision", number: false, cell: (c) => verdict(c.decision)}, {label: "Occurrences", cell: (c) => count(c.count)}, {label: "Problems", cell: (c) => count(c.problems)},
    ...measures.map((m) => ({label: m.title, cell: (c) => full(m.of(c), m.format)}))]};
}

function candidates(data, cues) {
  const common = frequent(cues);
  const measures = measuresOf(data, common);
  const known = common.filter((c) => measures.some((m) => valueOf(m.of(c)) !== null));
  const rare = cues.filter((c) => c.decision === "rare");
  if (known.length === 0 && rare.length === 0) return null;
  const rows = bestOf(known);
  const settings = object(data.settings);
  const {epsilon, delta} = object(settings.typical);
  const has = (label) => measures.some((m) => m.label.startsWith(label));
  const asked = measures.flatMap((m) => m.at);
  const present = Object.entries(DECISIONS).filter(([name]) => cues.some((c) => c.decision === name));
  const lead = [
    has("safe") && "Safe is the share of sentences behind a candidate in which the large model would let everything stand that the small model writes.",
    has("loss") && "Loss is what one handoff costs in answers, where the small model really wrote and the large one went on.",
    measures.some((m) => m.estimates.some(hasRange)) && "Bars are 95% intervals.",
    asked.length > 0 && `Dashed lines are at ${asked.every((x) => x === 0) ? "0" : asked.includes(0) ? "0 and at what the rule asks for" : "what the rule asks for"}.`,
    rows.length < known.length && `Shown are ${count(rows.length)} of ${count(known.length)}; the table at the end has all.`,
  ].filter(Boolean).join(" ");
  const meanings = [
    isNumber(epsilon) && isNumber(delta) && ["safe", `nothing in the sentence is implausible, that is, below min(${threeDigits(epsilon)}, ${threeDigits(delta)}\u00b7exp(\u2212entropy)) under the large model`],
    has("score") && ["paper\u2019s score", "mean margin of the small model behind the candidate minus its mean elsewhere"],
    ...present.map(([name, decision]) => [wordOf(name), decision.means]),
  ].filter(Boolean);
  return section("candidates", "Candidates and what became of them", lead,
    rows.length > 0 && figure({
      draw: (width) => intervalColumns(width, {rows, measures}), items: decisionLegend(rows),
      alt: `Safe share, score and loss of ${rows.length} candidates with intervals. The table below has the values.`,
      numbers: cueTable("Safe share, score and loss of each candidate", rows, measures),
    }),
    rare.length > 0 && details(rare.length === 1 ? "1 candidate is too rare to judge" : `${count(rare.length)} candidates are too rare to judge`,
      table(cueTable("Candidates that are too rare to judge", rare, measuresOf(data, rare)))),
    meanings.length > 0 && details("What the words mean", pairs(meanings)));
}

// ---- Score against safe share
function twoScores(data, cues) {
  const dots = frequent(cues).filter((c) => valueOf(c.safe) !== null && valueOf(c.published_score) !== null)
    .map((c) => ({...c, x: c.published_score.value, y: c.safe.value}));
  if (dots.length < 2) return null;
  const floor = isNumber(object(data.settings).min_safe) ? data.settings.min_safe : null;
  const differ = (p) => floor !== null && (p.x > 0) !== (p.y >= floor);
  const apart = dots.filter(differ);
  const few = dots.length <= 2 * MOST_IN_A_PLOT;  // more intervals would only be haze
  const pad = ([low, high], least, most) => [Math.max(least, low - 0.08 * (high - low || 0.1)), Math.min(most, high + 0.08 * (high - low || 0.1))];
  const xDomain = pad(d3.extent([0, ...dots.map((p) => p.x)]), -1, 1);
  const yDomain = pad(d3.extent([...(floor === null ? [] : [floor]), ...dots.map((p) => p.y)]), 0, 1.02);
  const draw = (width) => {
    const narrow = width < NARROW;
    const height = narrow ? 400 : 460;
    const margins = {marginLeft: 46, marginRight: 16, marginTop: 30, marginBottom: 40};
    const xTicks = d3.ticks(...xDomain, narrow ? 4 : 8);
    const yTicks = d3.ticks(...yDomain, narrow ? 5 : 8).filter((y) => y <= 1);
    const svg = plot(width, {
      height, ...margins,
      x: {domain: xDomain, label: "paper\u2019s score \u2192", labelArrow: "none", labelAnchor: "right", tickFormat: signed(2), ticks: xTicks, tickSize: 0},
      y: {domain: yDomain, label: "\u2191 safe sentences", labelArrow: "none", tickFormat: percentTick, ticks: yTicks, tickSize: 0},
      marks: [
        valueGrid(width, xTicks), Plot.gridY(yTicks, {stroke: "var(--rule)", strokeOpacity: 1}),
        Plot.ruleX([0], {stroke: "var(--muted)", strokeDasharray: "4 3"}), floor !== null && Plot.ruleY([floor], {stroke: "var(--muted)", strokeDasharray: "4 3"}),
        few && Plot.link(dots.filter((p) => hasRange(p.safe)), {x1: "x", x2: "x", y1: (p) => Math.max(p.safe.low, yDomain[0]), y2: (p) => Math.min(p.safe.high, yDomain[1]), stroke: (d) => decisionOf(d).tone, strokeOpacity: 0.3}),
        few && Plot.link(dots.filter((p) => hasRange(p.published_score)), {x1: (p) => Math.max(p.published_score.low, xDomain[0]), x2: (p) => Math.min(p.published_score.high, xDomain[1]), y1: "y", y2: "y", stroke: (d) => decisionOf(d).tone, strokeOpacity: 0.3}),
        decisionDots(dots, {x: "x", y: "y", r: few ? 4.5 : 3}),
        tip(width, dots, {x: "x", y: "y", title: cueTip}),
      ],
    });
    const x = svg.scale("x").apply, y = svg.scale("y").apply;
    const obstacles = dots.map((p) => ({of: p.name, x: x(p.x) - 7, y: y(p.y) - 7, w: 14, h: 14}));
    const corners = s("g", {fill: "var(--muted)"});
    if (floor !== null) {
      const corner = (text, at, anchor, line, room) => {
        if (measure(text) > room - 8) return;
        corners.append(s("text", {class: "halo corner", x: at, y: line, "text-anchor": anchor, style: "fill: var(--muted)"}, text));
        obstacles.push({x: anchor === "end" ? at - measure(text) : at, y: line - 12, w: measure(text), h: 16});
      };
      corner("only the large model would take these", margins.marginLeft + 6, "start", margins.marginTop + 12, x(0) - margins.marginLeft);
      corner("only the score would take these", width - margins.marginRight - 6, "end", height - margins.marginBottom - 8, width - margins.marginRight - x(0));
    }
    svg.insertBefore(corners, svg.querySelector('[aria-label="tip"]'));
    // Where the two differ, a name matters most.
    const first = [...dots].sort((a, b) => differ(b) - differ(a) || b.selected - a.selected || (b.count ?? 0) - (a.count ?? 0)).slice(0, 2 * MOST_IN_A_PLOT);
    labelPoints(svg, first.map((p) => ({of: p.name, text: shortened(p.name, narrow ? 12 : 20), x: x(p.x), y: y(p.y), weight: p.selected ? 650 : 400})), obstacles,
      {x: margins.marginLeft, y: margins.marginTop, w: width - margins.marginLeft - margins.marginRight, h: height - margins.marginTop - margins.marginBottom}, narrow ? 24 : 60);
    return svg;
  };
  return section("two-scores", "Margin against what the large model says",
    "The paper\u2019s score asks only whether the small model is sure, the safe share whether the large model would let its text stand." +
    (floor === null ? "" : apart.length === 0 ? " Here both take the same candidates." : ` They differ about ${count(apart.length)} of ${count(dots.length)}: lower right of the dashed lines, the score would take what the large model refuses; upper left, it would miss what is safe.`),
    figure({
      draw, items: decisionLegend(dots), alt: `Safe share against the paper's score of ${dots.length} candidates. The table below has the values.`,
      numbers: {caption: "The paper's score and the safe share of each candidate", rows: dots, columns: [
        {label: "Candidate", cell: (p) => p.name}, {label: "Paper\u2019s score", cell: (p) => full(p.published_score, scoreText)}, {label: "Safe", cell: (p) => full(p.safe, percent)},
        ...(floor === null ? [] : [{label: "They", number: false, cell: (p) => (differ(p) ? "differ" : "agree")}])]},
    }));
}

// Names beside points; one for which there is no room is left out, as a tooltip has it too.
function labelPoints(svg, labels, obstacles, frame, farthest) {
  const boxes = placeLabels(labels.map((l) => ({...l, w: measure(l.text, l.weight), h: 16})), obstacles, frame);
  const kept = [];
  for (const box of boxes) {
    const hit = (other) => overlap(box, {x: other.x - 1, y: other.y + 1, w: other.w + 2, h: other.h - 2}) > 0;
    if (box.distance <= farthest && outside(box, frame) <= 0 && !kept.some(hit) && !obstacles.some((o) => o.of !== box.label.of && hit(o))) kept.push(box);
  }
  drawLabels(svg, kept);
}

// ---- Everything about every candidate
function allCandidates(data, cues) {
  if (cues.length === 0) return null;
  const name = {label: "Candidate", cell: (c) => [longText(c.name), c.discovered === true && h("span", {class: "range"}, "found in the traces")]};
  const decision = {label: "Decision", number: false, cell: (c) => verdict(c.decision)};
  const besideOthers = (label, key, format, difference) => ({label, cell: (c) => [estimate(c.behind[key], format), valueOf(c.against[key]) !== null && [h("span", {class: "range"}, `\u0394 ${difference(c.against[key].value)}`), h("span", {class: "range"}, rangeText(c.against[key], difference))]]});
  const proved = cues.filter((c) => Object.keys(c.proof).length > 0);
  const opinions = cues.filter((c) => Object.keys(c.behind).length > 0);
  const tables = [
    ["Scores", "Numbers and scores of each candidate", cues, [name, decision, {label: "Occurrences", cell: (c) => count(c.count)}, {label: "Problems", cell: (c) => count(c.problems)}, {label: "Tokens behind", cell: (c) => count(c.tokens)},
      {label: "Safe", cell: (c) => estimate(c.safe, percent)}, {label: "p, safe enough", cell: (c) => probability(c.safe_p)}, {label: "Safe, \u0394 in points", cell: (c) => estimate(c.safe_against, points)},
      {label: "Paper\u2019s score", cell: (c) => estimate(c.published_score, scoreText)}, {label: "p, above 0", cell: (c) => probability(c.published_p)}]],
    ["What both models say", "What both models say of the tokens behind each candidate", opinions, [name, decision, besideOthers("Margin, small", "small_margin", threeDecimals, signed(3)), besideOthers("Margin, large", "large_margin", threeDecimals, signed(3)),
      besideOthers("Agreement", "agreement", percent, points), besideOthers("log p, large", "large_logprob", twoDecimals, signed(2)), besideOthers("Refused", "refused", percent, points)]],
    ["Proof", "What became of answers where the small model really wrote the sentence", proved, [name, decision, {label: "Places", cell: (c) => count(c.proof.places)}, {label: "Problems", cell: (c) => count(c.proof.problems)},
      {label: "Other answers", cell: (c) => withBelow(count(c.proof.flips), isNumber(c.proof.own_flips) && `${count(c.proof.own_flips)} by other dice`)}, {label: "Share", cell: (c) => estimate(c.proof.flip_rate, percent)}, {label: "Share by other dice", cell: (c) => estimate(c.proof.own_flip_rate, percent)},
      {label: "Loss, points", cell: (c) => [estimate(c.proof.loss, points), c.proof.loss_of && h("span", {class: "range"}, `of ${shortened(c.proof.loss_of, 40)}`)]}]],
  ].filter(([, , rows]) => rows.length > 0).map(([title, caption, rows, columns]) => ({title, rows, element: table({caption, rows, columns, wide: true})}));
  const kinds = Object.keys(DECISIONS).filter((kind) => cues.some((c) => c.decision === kind));
  const choice = h("select", {id: "decision-filter"}, h("option", {value: ""}, "all"), kinds.map((kind) => h("option", {value: kind}, wordOf(kind))));
  const status = h("span", {class: "muted", role: "status"});
  const apply = () => {
    const fits = (c) => choice.value === "" || c.decision === choice.value;
    for (const {rows, element} of tables) element.querySelectorAll("tbody > tr").forEach((row, i) => { row.hidden = !fits(rows[i]); });
    status.textContent = `${count(cues.filter(fits).length)} of ${count(cues.length)} candidates`;
  };
  choice.addEventListener("change", apply);
  apply();
  return section("all", "All candidates with all numbers", "Intervals are 95% intervals over problems. \u0394 is the difference to comparable sentences of the same problem.",
    kinds.length > 1 && h("div", {class: "bar"}, h("label", null, "Decision", choice), status), tables.map(({title, element}) => details(title, element)));
}
