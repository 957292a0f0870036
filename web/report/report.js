// The page: what every report has, and the sections of its kind.
const KINDS = {eval: evalSections, bench: benchSections, calibrate: calibrateSections};

function withSmall(main, below) {
  return [main, below && h("small", null, below)];
}

// A free object as terms with text; objects in it are left out.
function freePairs(value) {
  return Object.entries(object(value)).filter(([, v]) => v !== null && typeof v !== "object")
    .map(([key, v]) => [key.replaceAll("_", " "), isNumber(v) && Number.isInteger(v) && v >= 1e4 ? count(v) : String(v)]);
}

function header(data, kind) {
  const models = object(data.models);
  const machine = object(data.machine);
  const facts = [
    ...(kind?.facts(data) ?? []),
    ["Large model", models.large], ["Small model", models.small], ["Profile", data.profile],
    ["Machine", machine.cpu && withSmall(String(machine.cpu), [isNumber(machine.cores) && `${count(machine.cores)} cores`, isNumber(machine.threads) && `${count(machine.threads)} ${machine.threads === 1 ? "thread" : "threads"}`].filter(Boolean).join(", "))],
  ].filter(([, value]) => value);
  const notes = list(data.notes).filter((note) => typeof note === "string" && note !== "");
  return h("header", null,
    h("p", {class: "kind"}, ["RelayGen", kind?.kind, date(data.created)].filter(Boolean).join(" \u00b7 ")),
    h("h1", null, String(data.title ?? "Report")),
    data.headline && h("p", {class: "headline", id: "headline"}, String(data.headline)),
    notes.length > 0 && h("div", {class: "notes", role: "note", id: "notes"}, h("h2", null, "Read this first"), h("ul", null, notes.map((note) => h("li", null, note)))),
    facts.length > 0 && pairs(facts, "facts"));
}

function detailSection(data, kind) {
  const entries = (title, value) => (freePairs(value).length > 0 ? details(title, pairs(freePairs(value))) : null);
  return section("details", "Details", null,
    kind?.details(data),
    entries("Settings", data.settings), entries("Dataset", data.dataset), entries("Machine", data.machine),
    data.command && details("Command", h("pre", {class: "code"}, String(data.command)), data.program && h("p", {class: "muted below"}, String(data.program))),
    details("Licences of the plotting library", h("pre", {class: "licences code", tabindex: "0"}, document.getElementById("licences").textContent.trim())));
}

function show() {
  const data = object(JSON.parse(document.getElementById("data").textContent));
  const kind = Object.hasOwn(KINDS, data.kind ?? "") ? KINDS[data.kind] : undefined;
  const main = document.getElementById("report");
  main.replaceChildren();
  append(main, [header(data, kind), kind?.sections(data), detailSection(data, kind),
    h("footer", null, "This file needs nothing else: its data is inside, as JSON in the element with the id \u201cdata\u201d.")]);
}

show();
