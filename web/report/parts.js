"use strict";
// The parts that every report is made of: numbers as text, elements, a table, a plot with its numbers, details.
// Text from the data enters the document as text nodes and attribute values only, never as markup.

// ---- Numbers. A missing number is a dash.
const MINUS = "\u2212";
const DASH = "\u2013";
const NARROW = 440;  // pixels of a plot below which it is laid out for a phone

const isNumber = (x) => typeof x === "number" && Number.isFinite(x);
const decimals = (x, n) => {
  const [whole, rest] = Math.abs(x).toFixed(n).split(".");
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? `.${rest}` : "");
  return x < 0 && /[1-9]/.test(text) ? MINUS + text : text;
};
const orDash = (format) => (x) => (isNumber(x) ? format(x) : DASH);
const count = orDash((x) => decimals(x, 0));
const oneDecimal = orDash((x) => decimals(x, 1));
const percent = orDash((x) => decimals(100 * x, 1) + "%");
const signedNumber = (x) => {
  const text = decimals(100 * x, 1);
  return x > 0 && /[1-9]/.test(text) ? "+" + text : text;
};
const points = orDash(signedNumber);
const signedPercent = orDash((x) => signedNumber(x) + "%");
const times = orDash((x) => decimals(x, Math.abs(x) < 9.995 ? 2 : 1) + "\u00d7");
const milliseconds = (x) => decimals(x, Math.abs(x) < 9.995 ? 2 : Math.abs(x) < 99.95 ? 1 : 0) + " ms";
const duration = orDash((s) => {
  const size = Math.abs(s);
  if (size < 0.9995) return milliseconds(1e3 * s);
  if (size < 99.95) return decimals(s, size < 9.995 ? 2 : 1) + " s";
  if (size < 5970) return decimals(s / 60, 1) + " min";
  return decimals(s / 3600, 1) + " h";
});
// Ticks of an axis of seconds that ends at `end`: one unit for all of them.
function durationTick(end) {
  const [unit, name] = end < 1 ? [1e-3, "ms"] : end < 100 ? [1, "s"] : end < 6000 ? [60, "min"] : [3600, "h"];
  return (seconds) => `${+(seconds / unit).toPrecision(3)} ${name}`;
}
const short = (x, most = 1) => (x < 0 ? MINUS : "") + Math.abs(x).toLocaleString("en-US", {maximumFractionDigits: most});
const signed = (n) => orDash((x) => {
  const text = decimals(x, n);
  return x > 0 && /[1-9]/.test(text) ? "+" + text : text;
});
const threeDecimals = orDash((x) => decimals(x, 3));
const twoDecimals = orDash((x) => decimals(x, 2));
const percentTick = (x) => `${+(100 * x).toFixed(1)}%`;
const threeDigits = orDash((x) => String(+x.toPrecision(3)));
const probability = orDash((p) => (p < 0.001 ? "< 0.001" : decimals(p, 3)));

const valueOf = (estimate) => (estimate && isNumber(estimate.value) ? estimate.value : null);
const hasRange = (e) => valueOf(e) !== null && isNumber(e.low) && isNumber(e.high);
const rangeText = (e, format) => (hasRange(e) ? `${bare(format(e.low))} to ${format(e.high)}` : "");
const bare = (text) => text.replace(/(%|\u00d7| ms| s)$/, "");
// "91.1% (90.2 to 92.0%)": for tooltips
const full = (e, format) => (valueOf(e) === null ? DASH : format(e.value) + (hasRange(e) ? ` (${rangeText(e, format)})` : ""));

const list = (x) => (Array.isArray(x) ? x : []);
const object = (x) => (x !== null && typeof x === "object" && !Array.isArray(x) ? x : {});
const shortened = (text, length) => {
  const characters = Array.from(String(text));
  return characters.length <= length ? characters.join("") : characters.slice(0, length - 1).join("").trimEnd() + "\u2026";
};

function date(text) {
  if (typeof text !== "string") return "";
  const moment = new Date(/^\d{4}-\d\d-\d\dT/.test(text) ? text : NaN);
  if (Number.isNaN(moment.getTime())) return shortened(text, 60);
  const parts = {day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", hour12: false, timeZone: "UTC"};
  return `${new Intl.DateTimeFormat("en-GB", parts).format(moment).replace(/,? at |, /, ", ")} UTC`;
}

// Names for rows, all different and none empty: two policies may share a name and differ in their endpoint.
function distinct(names) {
  const seen = new Map();
  return names.map((name) => {
    const shown = typeof name === "string" && name.trim() !== "" ? name : "(no name)";
    const number = (seen.get(shown) ?? 0) + 1;
    seen.set(shown, number);
    return number === 1 ? shown : `${shown} (${number})`;
  });
}

// ---- Elements
function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return parent;
}

function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  return append(element, children);
}

function s(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes ?? {})) element.setAttribute(name, value);
  return append(element, children);
}

const ICONS = {
  kept: "M2 8.5 6 12.5 14 3.5", right: "M2 8.5 6 12.5 14 3.5",
  lost: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5", wrong: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5",
  undecided: "M2 8h12", no_answer: "M2 8h12", unfinished: "M3 8h.01M8 8h.01M13 8h.01",
  selected: "M2 8.5 6 12.5 14 3.5", redundant: "M2 8h12", unproven: "M2 8h12", rare: "M3 8h.01M8 8h.01M13 8h.01",
  refused: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5", harmful: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5", low_score: "M3.5 3.5 12.5 12.5M12.5 3.5 3.5 12.5",
};
const WORDS = {no_answer: "no answer", low_score: "low score"};
const wordOf = (kind) => (Object.hasOwn(WORDS, kind) ? WORDS[kind] : kind);
// A verdict as icon and word; colour only repeats them.
function verdict(kind) {
  if (typeof kind !== "string") return DASH;
  const known = Object.hasOwn(ICONS, kind);
  return h("span", {class: known ? `verdict known ${kind}` : "verdict"},
    known && s("svg", {viewBox: "0 0 16 16", "aria-hidden": "true"}, s("path", {d: ICONS[kind]})),
    shortened(wordOf(kind), 40));
}

// A number with its interval below it.
const estimate = (e, format) =>
  valueOf(e) === null ? DASH : [h("span", {class: "main"}, format(e.value)), hasRange(e) && h("span", {class: "range"}, rangeText(e, format))];
const withBelow = (main, below) => [h("span", {class: "main"}, main), below && h("span", {class: "range"}, below)];
const longText = (text) => h("span", {class: text.length > 24 ? "clip long" : "clip", title: text.length > 120 ? shortened(text, 1000) : null}, text);

// ---- Table. columns: {label, cell: (row) => content, number: whether it is aligned as one}; the first names the row.
// A wide table becomes one block a row on a phone, so its roles are written out.
function table({caption, columns, rows, wide = false}) {
  const align = (column) => (column.number === false || column === columns[0] ? null : "number");
  const head = h("tr", {role: "row"}, columns.map((c) => h("th", {scope: "col", role: "columnheader", class: align(c)}, c.label)));
  const body = rows.map((row) => h("tr", {role: "row"}, columns.map((c, i) =>
    i === 0 ? h("th", {scope: "row", role: "rowheader", class: wide ? "deep" : null}, c.cell(row))
            : h("td", {role: "cell", class: align(c), "data-label": c.label}, c.cell(row)))));
  return h("div", {class: "scroll"}, h("table", {role: "table", class: wide ? "wide" : null},
    h("caption", {class: "hidden"}, caption), h("thead", {role: "rowgroup"}, head), h("tbody", {role: "rowgroup"}, body)));
}

function section(id, title, lead, ...body) {
  return h("section", {id, "aria-labelledby": `${id}-title`},
    h("h2", {id: `${id}-title`}, title), lead && h("p", {class: "lead"}, lead), h("div", {class: "body"}, body));
}

// Plots side by side where there is room.
const panels = (children) => h("div", {class: children.length > 1 ? "panels" : null}, children);
const panel = (title, child) => h("div", null, title && h("h3", {class: "panel"}, title), child);

// [name, text] as a list of terms.
function pairs(entries, kind = "pairs") {
  return h("dl", {class: kind}, entries.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) =>
    h("div", null, h("dt", null, name), h("dd", null, value))));
}

function details(title, ...body) {
  return h("details", {class: "detail"}, h("summary", null, title), h("div", {class: "inside"}, body));
}

// ---- Legend. items: {label, draw: () => svg children, className}
const swatch = (fill) => () => [s("rect", {width: 16, height: 12, rx: 2, fill})];
function legend(items) {
  return h("ul", {class: "legend"}, items.map((item) =>
    h("li", null, item.draw && s("svg", {viewBox: "0 0 16 12", "aria-hidden": "true"}, item.draw()), h("span", {class: item.className}, item.label))));
}

// ---- Plot: drawn for the width that it has, drawn again when that changes. `numbers` is its table for readers who
// cannot see it or want the exact values; `alt` says in a sentence what is drawn.
const redraws = [];
function figure({draw, items, alt, numbers}) {
  const frame = h("div", {class: "plot"});
  let drawn = 0;
  const redraw = (width) => {
    if (width <= 0 || Math.abs(width - drawn) < 1) return;
    drawn = width;
    const svg = draw(width);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", alt);
    frame.replaceChildren(svg);
  };
  redraws.push((width) => redraw(width ?? frame.clientWidth));
  new ResizeObserver(() => redraw(frame.clientWidth)).observe(frame);
  return h("figure", null, items && legend(items), frame,
    h("details", {class: "numbers"}, h("summary", null, "Numbers of this plot"), table(numbers)));
}
window.addEventListener("beforeprint", () => redraws.forEach((redraw) => redraw(680)));
window.addEventListener("afterprint", () => redraws.forEach((redraw) => redraw()));

function plot(width, {marks, ...options}) {
  return Plot.plot({
    width,
    ...options,
    marks: marks.flat(Infinity).filter(Boolean),
    style: {background: "transparent", color: "currentColor", fontFamily: "inherit", fontSize: "12.5px", overflow: "visible"},
  });
}

const tip = (width, data, channels) => Plot.tip(data, Plot.pointer({...channels, fill: "var(--raised)", stroke: "var(--axis)", textPadding: 9, lineHeight: 1.35, lineWidth: Math.max(10, Math.min(36, width / 22))}));
const tipText = (...lines) => lines.filter((line) => line).join("\n");

// Width in pixels of a text in a plot.
const measure = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text, weight = 400) => {
    context.font = `${weight} 12.5px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(text).width;
  };
})();

// As much of a text as there is room for in a plot.
function fitting(text, room, weight = 400) {
  let length = 60;
  while (length > 2 && measure(shortened(text, length), weight) > room) --length;
  return shortened(text, length);
}

// Names of rows, one facet on y each: left of the plot where there is room, above what they name where there is not.
function rowNames(width, names, inner = 0) {
  const narrow = width < NARROW;
  const show = (name) => shortened(name, narrow ? 36 : 28);
  return {
    narrow,
    left: narrow ? 0 : 14 + Math.max(...names.map((name) => measure(show(name), 600))),
    top: narrow ? 24 : 0,  // room for the name above
    marks: Plot.text(names, narrow ? {fy: (d) => d, text: show, frameAnchor: "top-left", dx: -inner, dy: 12, fontWeight: 600, textAnchor: "start", stroke: "var(--ground)", strokeWidth: 4, fill: "currentColor"}
                                   : {fy: (d) => d, text: show, frameAnchor: "left", textAnchor: "end", dx: -12 - inner, fontWeight: 600}),
  };
}

// Round numbers between two others: these multiples of the powers of ten.
function roundTicks([low, high], multiples) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) ticks.push(...multiples.map((m) => +`${m}e${power}`));
  return ticks.filter((tick) => tick >= low && tick <= high);
}
const ratioTicks = (domain, width) => {
  const many = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 5], [1, 2, 5], [1]].map((multiples) => roundTicks(domain, multiples));
  return many.find((ticks) => ticks.length * 60 <= width) ?? many.at(-1);
};

const valueAxis = (width, options) => ({labelAnchor: "right", labelArrow: "none", tickSize: 0, ticks: Math.max(3, Math.floor(width / 110)), ...options});
const valueGrid = (width, ticks = Math.max(3, Math.floor(width / 110))) => Plot.gridX(Array.isArray(ticks) ? ticks : undefined, {stroke: "var(--rule)", strokeOpacity: 1, ...(Array.isArray(ticks) ? {} : {ticks})});

// Bars that are stacked from parts, one facet a name and, where `rows` is given, one bar a row in it.
// pieces: {name, row, part, value, exact}; parts: [{key, label, fill, on}]; ends: {name, row, x, text}
function stackedBars(width, {names, rows, pieces, parts, label, format, tick, domain, ends}) {
  const inner = rows ? 10 + Math.max(...rows.map((row) => measure(row))) : 0;
  const side = rowNames(width, names, inner);
  const lines = rows ?? [""];
  const stacked = [];
  for (const name of names) {
    for (const row of lines) {
      let at = 0;
      for (const part of parts) {
        const piece = pieces.find((p) => p.name === name && (p.row ?? "") === row && p.part === part.key);
        if (!piece || !(piece.value > 0)) continue;
        stacked.push({...piece, row, style: part, x1: at, x2: at + piece.value});
        at += piece.value;
      }
    }
  }
  const end = domain ?? [0, 1.02 * Math.max(1e-12, d3.max(stacked, (d) => d.x2) ?? 1)];
  const marginLeft = Math.max(8, side.left + inner);
  const marginRight = ends ? 12 + Math.max(...ends.map((d) => measure(d.text))) : 16;
  const pixels = (width - marginLeft - marginRight) / (end[1] - end[0]);
  const y = (d) => d.row ?? "";
  const inside = (on) => Plot.text(stacked.filter((d) => d.style.on === on && (d.x2 - d.x1) * pixels > measure(format(d.value)) + 12), {
    fy: "name", y, x: (d) => (d.x1 + d.x2) / 2, text: (d) => format(d.value), fill: `var(--on-${on})`,
  });
  return plot(width, {
    height: names.length * (lines.length * 27 + 14 + side.top) + 46, marginLeft, marginRight, marginTop: 4, marginBottom: 42,
    fy: {domain: names, axis: null, padding: 0},
    y: {domain: lines, axis: null, padding: 0.1, insetTop: 7 + side.top, insetBottom: side.narrow ? 4 : 7},
    x: valueAxis(width, {domain: end, label, tickFormat: tick ?? durationTick(end[1])}),
    marks: [
      valueGrid(width),
      Plot.barX(stacked, {fy: "name", y, x1: "x1", x2: "x2", fill: (d) => d.style.fill, insetLeft: 0.5, insetRight: 0.5}),
      rows && Plot.text(names.flatMap((name) => rows.map((row) => ({name, row}))), {fy: "name", y, text: "row", frameAnchor: "left", textAnchor: "end", dx: -8, fill: "var(--muted)"}),
      inside("large"), inside("small"),
      ends && Plot.text(ends, {fy: "name", y, x: "x", text: "text", textAnchor: "start", dx: 6}),
      side.marks,
      tip(width, stacked, {fy: "name", y, x: (d) => (d.x1 + d.x2) / 2, title: (d) => tipText(shortened(d.name, 60) + (d.row ? `, ${d.row}` : ""), `${d.style.label}: ${d.exact ?? format(d.value)}`)}),
    ],
  });
}

// The ends of an axis for these estimates; logarithmic where they lie far apart and zero is not among them.
function axisFor(estimates, {reference, fromZero}) {
  const bounds = estimates.flatMap((e) => (hasRange(e) ? [e.low, e.high, e.value] : [e.value]));
  if (reference !== undefined) bounds.push(reference);
  const [low, high] = d3.extent(bounds);
  if (!fromZero && low > 0 && high / low > 4) return {type: "log", domain: [low / (high / low) ** 0.06, high * (high / low) ** 0.06]};
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return {domain: [fromZero ? Math.min(0, low - room) : low - room, high + room]};
}

// Values with intervals, one row a name. dots: {name, e}; `reference` is where a dashed line stands.
function dotsWithIntervals(width, {names, dots, axis, label, format, tick, reference}) {
  const side = rowNames(width, names);
  const known = dots.filter((d) => valueOf(d.e) !== null);
  const ranged = known.filter((d) => hasRange(d.e));
  const ticks = axis.type === "log" ? ratioTicks(axis.domain, width - side.left) : undefined;
  const cap = (key) => Plot.link(ranged, {fy: "name", x1: (d) => d.e[key], x2: (d) => d.e[key], y1: () => -0.4, y2: () => 0.4, strokeWidth: 1.5});
  return plot(width, {
    height: names.length * (32 + side.top) + 46, marginLeft: Math.max(side.left, 8), marginRight: 12 + Math.max(...known.map((d) => measure(format(d.e.value)))), marginTop: 4, marginBottom: 42,
    fy: {domain: names, axis: null, padding: 0},
    y: {axis: null, domain: [-1, 1], insetTop: side.narrow ? side.top : 2, insetBottom: 2},
    x: valueAxis(width, {...axis, label, tickFormat: tick, ...(ticks && {ticks})}),
    marks: [
      valueGrid(width, ticks),
      reference !== undefined && Plot.ruleX([reference], {stroke: "var(--muted)", strokeDasharray: "4 3"}),
      Plot.link(ranged, {fy: "name", x1: (d) => d.e.low, x2: (d) => d.e.high, y1: () => 0, y2: () => 0, strokeWidth: 1.5}),
      cap("low"), cap("high"),
      Plot.dot(known, {fy: "name", x: (d) => d.e.value, y: () => 0, r: 3, fill: "currentColor"}),
      Plot.text(known, {fy: "name", x: (d) => (hasRange(d.e) ? d.e.high : d.e.value), y: () => 0, text: (d) => format(d.e.value), textAnchor: "start", dx: 8, stroke: "var(--ground)", strokeWidth: 4, fill: "currentColor"}),
      side.marks,
      tip(width, known, {fy: "name", x: (d) => d.e.value, y: () => 0, title: (d) => tipText(shortened(d.name, 60), full(d.e, format))}),
    ],
  });
}

// ---- Labels beside points: none over another label, a point or an interval if that can be had, and near its point.
// labels: {x, y, w, h, of}; obstacles: {x, y, w, h, of}, where `of` says whose they are; frame: {x, y, w, h}. Gives each
// label's box with its distance.
const overlap = (a, b) => Math.max(0, Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x)) * Math.max(0, Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y));
const outside = (a, frame) => Math.max(0, frame.x - a.x) + Math.max(0, a.x + a.w - frame.x - frame.w) + Math.max(0, frame.y - a.y) + Math.max(0, a.y + a.h - frame.y - frame.h);

// The line from a point to its label, from the edge of the point's mark to the nearest place of the label.
function leaderOf(label, box) {
  const x = Math.min(Math.max(label.x, box.x), box.x + box.w);
  const y = Math.min(Math.max(label.y, box.y + 3), box.y + box.h - 3);
  const edge = 9 / Math.max(9, Math.hypot(x - label.x, y - label.y));
  return {x1: label.x + edge * (x - label.x), y1: label.y + edge * (y - label.y), x2: x, y2: y};
}

const dotsOf = (line) => d3.range(0.05, 1, 0.1).map((t) => ({x: line.x1 + t * (line.x2 - line.x1) - 1, y: line.y1 + t * (line.y2 - line.y1) - 1, w: 2, h: 2}));

function placeLabels(labels, obstacles, frame) {
  const placed = [];
  for (const label of labels) {
    let best = null;
    for (const distance of [12, 24, 40, 60, 84, 112]) {
      for (const angle of [-45, 45, -135, 135, -90, 90, 0, 180, -20, 20, -160, 160]) {
        const dx = Math.cos((angle * Math.PI) / 180) * distance;
        const dy = Math.sin((angle * Math.PI) / 180) * distance;
        const box = {x: label.x + dx - (dx < -1 ? label.w : dx > 1 ? 0 : label.w / 2), y: label.y + dy - label.h / 2, w: label.w, h: label.h, label, distance};
        let cost = d3.sum(obstacles, (o) => overlap(box, o)) + 3 * d3.sum(placed, (o) => overlap(box, o)) + 60 * outside(box, frame) + 0.35 * distance;
        if (distance > 20) {
          cost += 12 * d3.sum(dotsOf(leaderOf(label, box)), (dot) => d3.sum(obstacles, (o) => (o.of === label.of ? 0 : overlap(dot, o))) + d3.sum(placed, (o) => overlap(dot, o)));
        }
        if (best === null || cost < best.cost) best = {cost, box};
      }
    }
    placed.push(best.box, ...(best.box.distance > 20 ? dotsOf(leaderOf(label, best.box)) : []));
  }
  return placed.filter((box) => box.label);
}

// Draws placed labels with lines to their points, below the tooltips, which Plot draws last.
function drawLabels(svg, boxes) {
  const layer = s("g");
  for (const box of boxes) {
    if (box.distance > 20) layer.append(s("line", {...leaderOf(box.label, box), stroke: "var(--muted)"}));
    layer.append(s("text", {class: "halo label", x: box.x + box.w / 2, y: box.y + box.h / 2, dy: "0.34em", "text-anchor": "middle", "font-weight": box.label.weight ?? 600}, box.label.text));
  }
  svg.insertBefore(layer, svg.querySelector('[aria-label="tip"]'));
}
