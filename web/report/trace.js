// One trace, token by token: how sure the small model is of each, and what it would be handed.
const LEVELS = ["0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1"];  // of the margin; classes margin-0 to margin-4
const levelOf = (margin) => (isNumber(margin) ? Math.min(LEVELS.length - 1, Math.max(0, Math.floor(LEVELS.length * margin))) : null);
const LONGEST_CUE = 12;  // tokens

// Handoffs that lie in the text, one behind the other, each with the first token of the cue before it where that is found.
function handoffsOf(example, tokens) {
  let end = 0;
  const found = [];
  for (const handoff of list(example.handoffs).map(object)) {
    const {first, last} = handoff;
    if (!Number.isInteger(first) || !Number.isInteger(last) || first < end || last <= first || last > tokens.length) continue;
    const cue = String(handoff.cue ?? "").trim();
    let begin = null;
    let before = "";
    for (let i = first - 1; cue !== "" && begin === null && i >= end && first - i <= LONGEST_CUE; --i) {
      before = tokens[i].text + before;
      if (before.includes(cue)) begin = i;
    }
    found.push({first, last, cue, begin});
    end = last;
  }
  return found;
}

// A token as [blanks, word]: the blanks before a word are neither shaded nor underlined.
function nodesOf(token) {
  const level = levelOf(token.small);
  const both = [isNumber(token.small) && `${twoDecimals(token.small)} (small model)`, isNumber(token.large) && `${twoDecimals(token.large)} (large model)`].filter(Boolean).join(", ");
  const blanks = token.text.trim() === "" ? 0 : token.text.length - token.text.trimStart().length;
  return [token.text.slice(0, blanks), h("span", {class: level === null ? "token" : `token margin-${level}`, title: both ? `\u201c${cueName(token.text)}\u201d: margin ${both}` : null}, token.text.slice(blanks))];
}

function wrapped(tokens, element) {
  const [blanks, ...rest] = tokens.flatMap(nodesOf);
  return [blanks, append(element, rest)];
}

function traceText(tokens, handoffs) {
  const text = h("div", {class: "text trace", tabindex: "0", role: "group", "aria-label": "The trace, shaded by the small model\u2019s margin"});
  let at = 0;
  for (const {first, last, cue, begin} of handoffs) {
    append(text, tokens.slice(at, begin ?? first).map(nodesOf));
    append(text, begin === null ? [cue !== "" && h("span", {class: "cue"}, `[${shortened(cue, 40)}] `)] : wrapped(tokens.slice(begin, first), h("span", {class: "cue"})));
    append(text, wrapped(tokens.slice(first, last), h("span", {class: "handoff"}, h("span", {class: "hidden"}, `[small model${cue ? ` behind ${shortened(cue, 40)}` : ""}] `))));
    at = last;
  }
  return append(text, tokens.slice(at).map(nodesOf));
}

function handoffTable(tokens, handoffs) {
  const mean = (handoff, key) => twoDecimals(d3.mean(tokens.slice(handoff.first, handoff.last).map((token) => token[key]).filter(isNumber)));
  return table({caption: "Handoffs in this trace", rows: handoffs, wide: true, columns: [
    {label: "Cue", cell: (d) => longText(cueName(d.cue) || DASH)}, {label: "Tokens", cell: (d) => count(d.last - d.first)},
    {label: "Mean margin, small", cell: (d) => mean(d, "small")}, {label: "Mean margin, large", cell: (d) => mean(d, "large")},
    {label: "What stands there", number: false, cell: (d) => longText(tokens.slice(d.first, d.last).map((token) => token.text).join("").trim())}]});
}

function exampleTrace(data) {
  const example = object(data.example);
  const tokens = list(example.tokens).map((token) => ({...object(token), text: String(object(token).text ?? "")}));
  if (tokens.length === 0) return null;
  const handoffs = handoffsOf(example, tokens);
  const handed = d3.sum(handoffs, (d) => d.last - d.first);
  const text = traceText(tokens, handoffs);
  const first = "Point at a token or tap it for its margins.";
  const readout = h("p", {class: "readout muted"}, first);
  const hasMargins = tokens.some((token) => levelOf(token.small) !== null);
  for (const event of ["pointerover", "click"]) text.addEventListener(event, (e) => { readout.textContent = e.target.closest(".token")?.title || first; });
  const tokenTable = details(`All ${count(tokens.length)} tokens`);
  tokenTable.addEventListener("toggle", () => {
    const inside = tokenTable.querySelector(".inside");
    if (!tokenTable.open || inside.hasChildNodes()) return;
    const author = (i) => (handoffs.some((d) => i >= d.first && i < d.last) ? "small" : "large");
    inside.append(table({caption: "Tokens of this trace with the margins of both models", rows: tokens.map((token, i) => ({...token, i})), columns: [
      {label: "Number", cell: (d) => count(d.i)}, {label: "Token", number: false, cell: (d) => cueName(d.text)}, {label: "Small model", cell: (d) => twoDecimals(d.small)}, {label: "Large model", cell: (d) => twoDecimals(d.large)}, {label: "Would be written by", number: false, cell: (d) => author(d.i)}]}));
  });
  return section("example", "One trace",
    `The thinking of the large model${example.problem ? ` on ${shortened(example.problem, 60)}` : ""}${isNumber(example.sample) ? `, sample ${count(example.sample)}` : ""}, shaded by the small model\u2019s margin. ` +
    (handoffs.length > 0 ? `With these cues the small model would write in place of what is underlined: ${count(handoffs.length)} ${handoffs.length === 1 ? "handoff" : "handoffs"}, ${percent(handed / tokens.length)} of these ${count(tokens.length)} tokens.` : "No cue would hand over any of it."),
    hasMargins && h("ul", {class: "legend scale"}, h("li", null, "margin, from unsure to sure:"), LEVELS.map((range, i) => h("li", null, h("span", {class: `token margin-${i}`}, range)))),
    handoffs.length > 0 && h("ul", {class: "legend"}, h("li", {class: "text-sample"}, h("span", {class: "cue"}, "a cue"), "then", h("span", {class: "handoff"}, "left to the small model"))),
    text, hasMargins && readout,
    handoffs.length > 0 && details(handoffs.length === 1 ? "1 handoff" : `${count(handoffs.length)} handoffs`, handoffTable(tokens, handoffs)), tokenTable);
}
