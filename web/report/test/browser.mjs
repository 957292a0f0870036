// Looks at the reports of tests/data/report in headless Chromium.
//
//   node web/report/test/browser.mjs RENDER_REPORT MODULES PAGES
//
// RENDER_REPORT makes a page from data, MODULES holds node_modules with puppeteer-core, PAGES is where the pages go.
// CHROMIUM names another browser than `chromium` on PATH.
import assert from "node:assert/strict";
import {execFileSync} from "node:child_process";
import {mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath, pathToFileURL} from "node:url";

const [render, modules, pages] = process.argv.slice(2).map((path) => resolve(path));
if (!pages) {
  console.error("usage: browser.mjs RENDER_REPORT MODULES PAGES");
  process.exit(2);
}
const puppeteer = createRequire(join(modules, "index.js"))("puppeteer-core");
const examples = resolve(dirname(fileURLToPath(import.meta.url)), "../../../tests/data/report");

const DESKTOP = 1200;
const PHONE = 360;
const failures = [];
let checks = 0;

async function check(name, body) {
  ++checks;
  try {
    await body();
  } catch (error) {
    failures.push(name);
    console.error(`FAILED: ${name}\n  ${String(error.message).replaceAll("\n", "\n  ")}`);
  }
}

function makePage(name, data) {
  const input = join(pages, `${name}.json`);
  const output = join(pages, `${name}.html`);
  writeFileSync(input, JSON.stringify(data));
  execFileSync(render, [input, output], {stdio: "inherit"});
  return pathToFileURL(output).href;
}

// Opens a page and collects what it must not have: messages, errors, requests.
async function open(browser, url, {width = DESKTOP, scheme = "light"} = {}) {
  const page = await browser.newPage();
  const trouble = [];
  page.on("console", (message) => trouble.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => { trouble.push("a dialog"); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== url && request.url() !== "data:,") trouble.push(`request: ${request.url()}`); });
  await page.setViewport({width, height: 900, isMobile: width === PHONE, hasTouch: width === PHONE});
  await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
  await page.goto(url, {waitUntil: "load"});
  await settled(page);
  return {page, trouble};
}
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))));

const text = (page, selector) => page.$eval(selector, (element) => element.innerText.trim());
const percent = (x) => `${(100 * x).toFixed(1)}%`;
const points = (x) => { const t = (100 * x).toFixed(1); return t > 0 ? `+${t}` : t.replace("-", "\u2212"); };
const times = (x) => `${x.toFixed(Math.abs(x) < 9.995 ? 2 : 1)}\u00d7`;
const count = (x) => Math.round(x).toLocaleString("en-US");
const milliseconds = (x) => `${x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0)} ms`;

// The cells of a table: the header's words, then each row's texts.
const cellsOf = (page, selector) => page.$eval(selector, (table) =>
  [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim())));

async function everyPage(browser, name, url, sections) {
  for (const width of [DESKTOP, 800, PHONE]) {
    for (const scheme of ["light", "dark"]) {
      const where = `${name}, ${width} px, ${scheme}`;
      const {page, trouble} = await open(browser, url, {width, scheme});
      await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
      await settled(page);
      await check(`${where}: sections`, async () => {
        const found = await page.$$eval("section", (all) => all.map((one) => one.id));
        assert.deepEqual(found, sections);
        assert.equal((await page.$$eval("section", (all) => all.filter((one) => one.getBoundingClientRect().height < 20).length)), 0, "an empty section");
      });
      await check(`${where}: nothing is wider than the page`, async () => {
        const [inner, wide] = await page.evaluate(() => { scrollTo(500, 0); const shift = scrollX; scrollTo(0, 0); return [innerWidth, Math.max(document.documentElement.scrollWidth, innerWidth + shift)]; });
        assert.ok(wide <= inner && inner === width, `${wide} px on a page of ${inner} px`);
      });
      await check(`${where}: colours`, () => checkColours(page, scheme));
      if (width === DESKTOP && scheme === "light") await check(`${where}: what a screen reader needs`, () => checkAccessibility(page));
      await check(`${where}: no messages, errors or requests`, () => assert.deepEqual(trouble, []));
      await check(`${where}: markup in the data stays text`, async () => {
        assert.equal(await page.evaluate(() => window.hostile), undefined);
        assert.equal(await page.$$eval("main img, main script, main b, main iframe", (all) => all.length), 0);
      });
      await page.close();
    }
  }
}

// The ground is light or dark as asked for, and every text is readable on it (4.5 to 1, WCAG AA).
async function checkColours(page, scheme) {
  const {ground, worst} = await page.evaluate(() => {
    const parse = (color) => color.match(/[\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = parse(getComputedStyle(at).backgroundColor);
        if (color.length === 3 || color[3] > 0) return color;
      }
      return [255, 255, 255];
    };
    let worst = {ratio: 99};
    for (const element of document.querySelectorAll("main *:not(svg, svg *)")) {
      if (![...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "")) continue;
      const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
      const ratio = (a + 0.05) / (b + 0.05);
      if (ratio < worst.ratio) worst = {ratio, what: `${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}`};
    }
    return {ground: light(parse(getComputedStyle(document.body).backgroundColor)), worst};
  });
  assert.ok(scheme === "dark" ? ground < 0.05 : ground > 0.9, `the ground's luminance is ${ground}`);
  assert.ok(worst.ratio >= 4.5, `contrast ${worst.ratio} of ${worst.what}`);
}

async function checkAccessibility(page) {
  const faults = await page.evaluate(() => {
    const faults = [];
    const need = (holds, what) => { if (!holds) faults.push(what); };
    need(document.documentElement.lang === "en", "no language");
    need(document.title !== "", "no title");
    need(document.querySelectorAll("h1").length === 1, "not one h1");
    for (const figure of document.querySelectorAll("figure")) {
      need(figure.querySelector(".plot > svg[role=img]")?.getAttribute("aria-label"), "a plot without a text");
      need(figure.querySelector("details table tbody tr"), "a plot without its numbers");
    }
    for (const table of document.querySelectorAll("table")) {
      need(table.caption?.textContent, "a table without a caption");
      need([...table.tHead.rows[0].cells].every((cell) => cell.scope === "col"), "a column header without a scope");
      need([...table.tBodies[0].rows].every((row) => row.cells[0].scope === "row"), "a row header without a scope");
    }
    for (const control of document.querySelectorAll("select")) need(control.labels.length > 0, "a control without a label");
    let level = 1;
    for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
      const next = Number(heading.tagName[1]);
      need(next <= level + 1 || heading.closest(".output"), `h${next} after h${level}`);
      level = next;
    }
    return faults;
  });
  assert.deepEqual(faults, []);
}

// No label of a section's plot lies on another one or outside the plot.
async function checkLabels(page, id) {
  await checkApart(page, id, ".plot text.label");
}
async function checkApart(page, id, selector) {
  const boxes = await page.$$eval(`#${id} ${selector}`, (labels) => labels.map((label) => { const b = label.getBoundingClientRect(); return {text: label.textContent, x: b.x, y: b.y, w: b.width, h: b.height}; }));
  assert.ok(boxes.length >= 2);
  for (const [i, a] of boxes.entries()) {
    for (const b of boxes.slice(i + 1)) {
      const w = Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x);
      const h = Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y);
      assert.ok(w <= 0 || h <= 3, `"${a.text}" and "${b.text}" overlap by ${w} x ${h} px`);
    }
  }
  const frame = await page.$eval(`#${id} .plot`, (plot) => { const b = plot.getBoundingClientRect(); return {x: b.x, w: b.width}; });
  for (const box of boxes) assert.ok(box.x >= frame.x - 1 && box.x + box.w <= frame.x + frame.w + 1, `"${box.text}" is cut`);
}

async function checkEval(browser, url, data) {
  const {page, trouble} = await open(browser, url);
  await check("eval: the table says what the data says", async () => {
    const [head, ...rows] = await cellsOf(page, "#policies table");
    assert.equal(rows.length, data.policies.length);
    const column = (name) => { const i = head.indexOf(name); assert.ok(i >= 0, `no column ${name}`); return i; };
    const withRange = (e, format) => (e === null ? "\u2013" : `${format(e.value)}${format(e.low).replace(/[%\u00d7]$/, "")} to ${format(e.high)}`);
    data.policies.forEach((policy, i) => {
      const cell = (name) => rows[i][column(name)];
      assert.ok(cell("Policy").startsWith(policy.name));
      assert.equal(cell("Accuracy"), withRange(policy.accuracy, percent));
      assert.equal(cell("Difference"), withRange(policy.difference, points));
      assert.equal(cell("Speed-up"), withRange(policy.speed_up, times));
      assert.ok(cell("Verdict").startsWith(policy.verdict?.kind ?? "\u2013"));
      assert.ok(cell("Tokens").startsWith(count(policy.tokens.mean)));
      assert.equal(cell("Large share"), percent(policy.utilisation));
      assert.equal(cell("Handoffs"), policy.handoffs.toFixed(1));
      assert.equal(cell("Truncated"), percent(policy.truncated));
      assert.equal(cell("Errors, missing"), `${policy.errors}, ${policy.missing}`);
    });
  });
  await check("eval: headline, title and notes", async () => {
    assert.equal(await page.title(), data.title);
    assert.equal(await text(page, "h1"), data.title);
    assert.match(await text(page, "#headline"), /^relay kept the accuracy of large-only within 2 points/);
    assert.equal(await page.$$eval("#notes li", (all) => all.length), data.notes.length);
  });
  await check("eval: every plot draws all policies", async () => {
    for (const id of ["trade-off", "authors", "lengths", "time"]) {
      const words = await page.$eval(`#${id} .plot svg`, (svg) => svg.textContent);
      for (const policy of data.policies) assert.ok(words.includes(policy.name), `${policy.name} is not in #${id}`);
    }
  });
  await check("eval: a tooltip shows exact values", async () => {
    const bar = (await page.$$("#authors .plot [aria-label=bar] rect"))[1];
    await bar.scrollIntoView();
    const box = await bar.boundingBox();
    await page.mouse.move(box.x + box.width / 2 - 3, box.y + box.height / 2);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.match(await page.$eval("#authors .plot [aria-label=tip]", (tip) => tip.textContent), /relay.*large model: 65\.7%/);
  });
  await check("eval: both texts of a disagreement, marked by author", async () => {
    const problem = data.disagreements[0];
    const item = (await page.$$(".problem"))[0];
    const shown = await item.$$eval(".output .text", (all) => all.map((one) => { const copy = one.cloneNode(true); copy.querySelectorAll(".hidden").forEach((h) => h.remove()); return copy.textContent; }));
    assert.deepEqual(shown, problem.outputs.map((output) => output.segments.map((segment) => segment.text).join("")));
    const look = (name) => item.$eval(`.by-${name}`, (one) => { const style = getComputedStyle(one); return [style.color, style.textDecorationLine, style.fontStyle].join(); });
    const looks = new Set(await Promise.all(["large", "small", "forced"].map(look)));
    assert.equal(looks.size, 3);
    assert.ok([...looks].some((one) => one.includes("underline")) && [...looks].some((one) => one.includes("italic")));
  });
  await check("eval: the filter shows one policy's disagreements", async () => {
    const visible = () => page.$$eval(".problem:not([hidden]) .name", (all) => all.map((one) => one.textContent));
    assert.equal((await visible()).length, data.disagreements.length);
    await page.select("#policy-filter", await page.$$eval("#policy-filter option", (all) => all.find((one) => one.textContent === "relay").value));
    const expected = data.disagreements.filter((d) => d.outputs.some((o) => o.policy === "relay")).map((d) => d.problem);
    assert.deepEqual(await visible(), expected);
    assert.match(await text(page, "[role=status]"), new RegExp(`^${expected.length} of ${data.disagreements.length} `));
    assert.deepEqual(await page.$$eval(".problem[open] .output h4 span:first-child", (all) => all.map((one) => one.textContent)), ["large-only", "relay"]);
    await page.select("#policy-filter", "-1");
    assert.equal((await visible()).length, data.disagreements.length);
  });
  await check("eval: plots follow the width of the window", async () => {
    for (const width of [PHONE, 480, 768, 1000, DESKTOP]) {
      await page.setViewport({width, height: 900});
      await settled(page);
      const [svg, room] = await page.$eval("#trade-off .plot", (plot) => [Number(plot.firstChild.getAttribute("width")), plot.clientWidth]);
      assert.ok(Math.abs(svg - room) <= 1, `${svg} px in ${room} px`);
      await checkLabels(page, "trade-off");
    }
  });
  await check("eval: paper is white, whatever the screen is", async () => {
    await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: "dark"}]);
    await page.emulateMediaType("print");
    assert.equal(await page.$eval("body", (body) => getComputedStyle(body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.$eval(".output .text", (one) => getComputedStyle(one).maxHeight), "none");
    await page.emulateMediaType("screen");
    assert.ok((await page.pdf({format: "A4"})).length > 10000);
  });
  await check("eval: no messages, errors or requests", () => assert.deepEqual(trouble, []));
  await page.close();
}

async function checkBench(browser, url, data) {
  const {page, trouble} = await open(browser, url);
  await check("bench: the table says what the data says", async () => {
    const [head, ...rows] = await cellsOf(page, "#rows table");
    assert.equal(rows.length, data.rows.length);
    const column = (name) => { const i = head.indexOf(name); assert.ok(i >= 0, `no column ${name}`); return i; };
    data.rows.forEach((row, i) => {
      const cell = (name) => rows[i][column(name)];
      assert.ok(cell("Policy").startsWith(row.policy));
      assert.equal(cell("Depth"), count(row.depth));
      assert.ok(cell("Time a token").startsWith(milliseconds(row.ms_per_token.value)), cell("Time a token"));
      assert.ok(cell("Speed-up").startsWith(row.speed_up ? times(row.speed_up.value) : "\u2013"));
      assert.ok(cell("Over ideal").startsWith(`${points(row.over_ideal.value)}%`));
      assert.equal(cell("Tokens"), count(row.tokens));
      assert.equal(cell("Small share"), percent(row.small_share));
      assert.equal(cell("Handoffs"), count(row.handoffs));
      assert.equal(cell("Dropped"), count(row.dropped));
    });
  });
  await check("bench: one plot a depth, all on one scale", async () => {
    for (const id of ["time-a-token", "speed-up", "batch-costs"]) assert.equal((await page.$$(`#${id} .plot > svg`)).length, data.depths.length);
    const scales = await page.$$eval("#time-a-token .plot > svg", (all) => all.map((svg) => [...svg.querySelectorAll("[aria-label=\"x-axis tick label\"] text")].map((one) => one.textContent).join()));
    assert.equal(new Set(scales).size, 1);
  });
  await check("bench: actual and ideal stand beside each other", async () => {
    const rows = await cellsOf(page, "#ideal table");
    assert.equal(rows.length - 1, data.rows.flatMap((row) => row.parts).length);
    assert.match(await page.$eval("#ideal .plot svg", (svg) => svg.textContent), /actual.*ideal/);
  });
  await check("bench: a tooltip shows exact values", async () => {
    const point = (await page.$$("#batch-costs .plot [aria-label=dot] path"))[0];
    await point.scrollIntoView();
    const box = await point.boundingBox();
    await page.mouse.move(box.x + 1, box.y + 1);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    assert.match(await page.$eval("#batch-costs .plot [aria-label=tip]", (tip) => tip.textContent), /large model.*1 rows?.*31\.0 ms/);
  });
  await check("bench: predictions", async () => assert.equal((await cellsOf(page, "#plan table")).length - 1, data.plan.length));
  await check("bench: no messages, errors or requests", () => assert.deepEqual(trouble, []));
  await page.close();
}

const CALIBRATE_SECTIONS = ["candidates", "two-scores", "margins", "steps", "variance", "limits", "example", "all", "details"];

async function checkCalibrate(browser, url, data) {
  const {page, trouble} = await open(browser, url);
  const shownName = (text) => text.replace(/^\s+|\s+$/g, (blanks) => "\u2423".repeat(blanks.length));
  const frequent = data.cues.filter((cue) => cue.decision !== "rare");
  await check("calibrate: headline", async () => assert.match(await text(page, "#headline"), /^9 of 32 candidates are cues for this pair; they hand over 24\.4% of the thinking/));
  await check("calibrate: the plot has every frequent candidate with its decision, the selected ones first", async () => {
    const words = await page.$eval("#candidates .plot svg", (svg) => svg.textContent);
    for (const cue of frequent) assert.ok(words.includes(shownName(cue.text)) && words.includes(cue.decision), cue.text);
    const [head, ...rows] = await cellsOf(page, "#candidates figure table");
    assert.equal(rows.length, frequent.length);
    const selected = rows.map((row) => row[head.indexOf("Decision")] === "selected");
    assert.equal(selected.lastIndexOf(true) + 1, data.cues.filter((cue) => cue.selected).length);
    assert.ok(!selected.slice(0, selected.lastIndexOf(true)).includes(false));
    assert.equal((await cellsOf(page, "#candidates > .body > details table")).length - 1, data.cues.length - frequent.length);
  });
  await check("calibrate: a selected candidate differs from others by more than colour", async () => {
    const fills = await page.$$eval("#candidates .plot [aria-label=dot]", (groups) => groups.map((group) => [...group.querySelectorAll("path")].map((one) => one.getAttribute("d")).join()));
    assert.ok(new Set(fills).size > 1);
    assert.ok((await page.$$eval("#candidates .plot [aria-label=text] g", (all) => all.map((one) => one.getAttribute("font-weight")))).some((weight) => weight > 600));
  });
  await check("calibrate: a tooltip shows exact values", async () => {
    const dot = (await page.$$("#candidates .plot [aria-label=dot] path"))[0];
    await dot.scrollIntoView();
    const box = await dot.boundingBox();
    await page.mouse.move(box.x + 1, box.y + 1);
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await settled(page);
    const cue = data.cues.filter((one) => one.selected).sort((a, b) => b.safe.value - a.safe.value)[0];
    const words = await page.$eval("#candidates .plot [aria-label=tip]", (tip) => tip.textContent);
    for (const part of [cue.text, "selected", percent(cue.safe.value), percent(cue.safe.high), count(cue.count)]) assert.ok(words.includes(part), `${part} is not in ${words}`);
  });
  await check("calibrate: the tables say what the data says", async () => {
    const tables = await page.$$eval("#all table", (all) => all.map((one) => [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, " ").trim()))));
    assert.equal(tables.length, 3);
    const [[head, ...rows], , [proofHead, ...proofs]] = tables;
    assert.equal(rows.length, data.cues.length);
    for (const cue of data.cues) {
      const row = rows.find((one) => one[0].replace("found in the traces", "") === shownName(cue.text));
      assert.ok(row, `no row for ${cue.text}`);
      const cell = (name) => row[head.indexOf(name)];
      assert.equal(cell("Decision"), cue.decision);
      assert.equal(row[0].endsWith("found in the traces"), cue.discovered);
      assert.equal(cell("Occurrences"), count(cue.count));
      assert.ok(cell("Safe").startsWith(cue.safe ? percent(cue.safe.value) : "\u2013"));
      assert.ok(cell("Safe, \u0394 in points").startsWith(cue.safe_against ? points(cue.safe_against.value) : "\u2013"));
    }
    const proved = data.cues.filter((cue) => cue.proof);
    assert.equal(proofs.length, proved.length);
    for (const cue of proved) {
      const row = proofs.find((one) => one[0].replace("found in the traces", "") === shownName(cue.text));
      assert.equal(row[proofHead.indexOf("Places")], count(cue.proof.places));
      assert.ok(row[proofHead.indexOf("Loss, points")].startsWith(points(cue.proof.loss.value)));
    }
  });
  await check("calibrate: the filter shows one decision's candidates", async () => {
    await page.$$eval("#all details", (all) => all.forEach((one) => { one.open = true; }));
    await page.select("#decision-filter", "harmful");
    const expected = data.cues.filter((cue) => cue.decision === "harmful").length;
    for (const width of [DESKTOP, PHONE]) {
      await page.setViewport({width, height: 900});
      await settled(page);
      const visible = await page.$$eval("#all table", (all) => all.map((one) => [...one.tBodies[0].rows].filter((row) => row.getClientRects().length > 0).length));
      assert.deepEqual(visible, [expected, expected, expected]);
    }
    assert.equal(await text(page, "#all [role=status]"), `${expected} of ${data.cues.length} candidates`);
    await page.select("#decision-filter", "");
  });
  await check("calibrate: twelve histograms beside all thinking", async () => {
    assert.equal((await cellsOf(page, "#margins table")).length - 1, 13);
    assert.equal(await page.$$eval("#margins .plot [aria-label=rect] rect", (all) => all.length), 12 * 20);
  });
  await check("calibrate: shares and facts", async () => {
    assert.equal((await cellsOf(page, "#steps table")).length - 1, data.steps.length);
    const {between, within} = data.variance;
    assert.match(await text(page, "#variance .lead"), new RegExp(`^${percent(between / (between + within)).replace(".", "\\.")} of the variance`));
    assert.match(await text(page, "#limits"), /yes.*98\.7%.*155 of 157.*85\.4%.*84\.7%.*0\.0312.*0\.117/s);
  });
  await check("calibrate: the trace is there, token by token", async () => {
    const shown = await page.$eval(".trace", (one) => { const copy = one.cloneNode(true); copy.querySelectorAll(".hidden").forEach((h) => h.remove()); return copy.textContent; });
    const {tokens, handoffs} = data.example;
    assert.equal(shown, tokens.map((token) => token.text).join(""));
    const marked = await page.$$eval(".trace .handoff", (all) => all.map((one) => { const copy = one.cloneNode(true); copy.querySelectorAll(".hidden").forEach((h) => h.remove()); return copy.textContent; }));
    assert.deepEqual(marked, handoffs.map((handoff) => tokens.slice(handoff.first, handoff.last).map((token) => token.text).join("").trim()));
    assert.deepEqual(await page.$$eval(".trace .cue", (all) => all.map((one) => one.textContent)), handoffs.map((handoff) => handoff.cue));
    const levels = tokens.map((token) => Math.min(4, Math.floor(5 * token.small)));
    assert.deepEqual(await page.$$eval(".trace .token", (all) => all.map((one) => Number(one.className.at(-1)))), levels);
    const grounds = await page.$$eval(".scale .token", (all) => all.map((one) => getComputedStyle(one).backgroundColor));
    assert.equal(new Set(grounds).size, 5);
  });
  await check("calibrate: a token tells its margins where one points", async () => {
    const token = (await page.$$(".trace .token"))[4];
    await token.scrollIntoView();
    await token.hover();
    const {text: words, small, large} = data.example.tokens[4];
    assert.equal(await text(page, ".readout"), `\u201c${shownName(words)}\u201d: margin ${small.toFixed(2)} (small model), ${large.toFixed(2)} (large model)`);
  });
  await check("calibrate: no label lies on another one, at any width", async () => {
    for (const width of [PHONE, 480, 600, 660, 768, 1000, DESKTOP]) {
      await page.setViewport({width, height: 900});
      await settled(page);
      for (const id of ["two-scores", "steps"]) await checkLabels(page, id);
      await checkApart(page, "candidates", ".plot .scales text");
    }
  });
  await check("calibrate: no messages, errors or requests", () => assert.deepEqual(trouble, []));
  await page.close();
}

// Markup in every text of a calibration.
function hostileCalibration(data) {
  const image = "<img src=x onerror=\"window.hostile = 2\">";
  const script = "</script><script>window.hostile = 1</script>";
  const spoiled = (i) => [image, script, `${image} `, "__proto__", "constructor", "", "a\nb", "\ufffd".repeat(300)][i % 8];
  return {...data, title: script, settings: {...data.settings, [image]: script, rule: "constructor"}, command: script,
    cues: data.cues.map((cue, i) => ({...cue, text: spoiled(i), decision: i % 5 === 0 ? spoiled(i) : cue.decision, proof: cue.proof && {...cue.proof, loss_of: image}})),
    steps: data.steps.map((step, i) => ({...step, text: spoiled(i)})),
    example: {...data.example, problem: script, tokens: data.example.tokens.map((token, i) => (i % 9 === 0 ? {...token, text: spoiled(i / 9)} : token)), handoffs: data.example.handoffs.map((handoff, i) => ({...handoff, cue: spoiled(i)}))}};
}

// As many candidates as may be found: only the best are in plots, and a phone still shows it all.
function longCalibration(data) {
  const cues = [...Array(10).keys()].flatMap((i) => data.cues.map((cue) => ({...cue, text: `${cue.text} ${i}`})));
  return {...data, cues, steps: cues.filter((cue) => cue.decision !== "rare").map((cue, i, all) => ({text: cue.text, share: i / all.length}))};
}
async function main() {
  mkdirSync(pages, {recursive: true});
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium"], {encoding: "utf8"}).trim(),
    args: ["--disable-gpu", "--disable-dev-shm-usage", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])],
  });
  try {
    const example = (name) => JSON.parse(readFileSync(join(examples, `${name}-example.json`), "utf8"));
    const [evaluation, bench, hostile] = ["eval", "bench", "hostile"].map(example);
    const evalSections = ["policies", "trade-off", "authors", "lengths", "time", "disagreements", "details"];

    const evalUrl = makePage("eval", evaluation);
    await everyPage(browser, "eval", evalUrl, evalSections);
    await checkEval(browser, evalUrl, evaluation);

    const benchUrl = makePage("bench", bench);
    await everyPage(browser, "bench", benchUrl, ["rows", "time-a-token", "speed-up", "ideal", "batch-costs", "depth", "plan", "details"]);
    await checkBench(browser, benchUrl, bench);

    await everyPage(browser, "hostile", makePage("hostile", hostile), evalSections);

    // Less than a report has: only what is there is shown.
    const bare = {kind: "eval", title: "one policy", baseline: "large-only", policies: [{name: "large-only", accuracy: {value: 0.5, low: null, high: null}}]};
    await everyPage(browser, "bare", makePage("bare", bare), ["policies", "details"]);
    await everyPage(browser, "unknown kind", makePage("unknown", {kind: "something new", title: "new"}), ["details"]);
    const [calibration, sparse] = ["calibrate", "calibrate-sparse"].map(example);
    const calibrationUrl = makePage("calibrate", calibration);
    await everyPage(browser, "calibrate", calibrationUrl, CALIBRATE_SECTIONS);
    await checkCalibrate(browser, calibrationUrl, calibration);
    await everyPage(browser, "sparse calibration", makePage("calibrate-sparse", sparse), ["candidates", "example", "all", "details"]);
    await everyPage(browser, "hostile calibration", makePage("calibrate-hostile", hostileCalibration(calibration)), CALIBRATE_SECTIONS);
    const longUrl = makePage("calibrate-long", longCalibration(calibration));
    await everyPage(browser, "long calibration", longUrl, CALIBRATE_SECTIONS);
    const depthless = {...bench, rows: bench.rows.filter((row) => row.depth === 256).map((row) => ({...row, parts: null, over_ideal: null})), batch_costs: null, plan: null};
    await everyPage(browser, "bench without costs", makePage("depthless", depthless), ["rows", "time-a-token", "speed-up", "details"]);
  } finally {
    await browser.close();
  }
  if (failures.length > 0) {
    console.error(`The report in Chromium: ${failures.length} of ${checks} checks failed.`);
    process.exit(1);
  }
  console.log(`The report in Chromium: all ${checks} checks passed.`);
}

await main();
