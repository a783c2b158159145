// browser.mjs PAGE FOLDER: opens a report in Chromium and checks what only a browser can: no script
// fails, nothing is requested, every chart has drawn something, tables sort, nothing is wider than a
// phone, texts stand out. Leaves pictures in FOLDER. Needs Node and Chromium, no packages: the browser
// is spoken to through pipes. Exit code 77 where there is no Chromium.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const page = pathToFileURL(resolve(process.argv[2])).href;
const pictures = resolve(process.argv[3]);
const browser = ["chromium", "chromium-browser", "google-chrome"].find(
  (name) => spawnSync(name, ["--version"]).status === 0);
if (!browser) {
  console.log("skipped: there is no Chromium (on Debian: apt-get install chromium)");
  process.exit(77);
}

const profile = mkdtempSync(join(tmpdir(), "octet-browser-"));
// A group of its own, so that all its processes have ended before its folder is removed.
const child = spawn(browser, [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
  "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
  `--user-data-dir=${profile}`, "about:blank",
], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true });

const failures = [];
const fail = (text) => failures.push(text);
const waiting = new Map();
const requests = [];
let loaded = () => {};
let next = 1;
let session;

function on(message) {
  if (message.id) {
    const { good, bad } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) bad(new Error(message.error.message));
    else good(message.result);
  } else if (message.method === "Runtime.exceptionThrown") {
    fail(`script: ${message.params.exceptionDetails.text}`);
  } else if (message.method === "Log.entryAdded" && message.params.entry.level === "error") {
    fail(`console: ${message.params.entry.text}`);
  } else if (message.method === "Network.requestWillBeSent") {
    requests.push(message.params.request.url);
  } else if (message.method === "Page.loadEventFired") {
    loaded();
  }
}

let buffer = "";
child.stdio[4].setEncoding("utf8");
child.stdio[4].on("data", (text) => {
  buffer += text;
  for (let end = buffer.indexOf("\0"); end >= 0; end = buffer.indexOf("\0")) {
    on(JSON.parse(buffer.slice(0, end)));
    buffer = buffer.slice(end + 1);
  }
});

function send(method, params = {}) {
  const id = next++;
  child.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
  return new Promise((good, bad) => waiting.set(id, { good, bad }));
}

async function evaluate(work, ...values) {
  const expression = `(${work})(${values.map((value) => JSON.stringify(value)).join(",")})`;
  const { result, exceptionDetails } = await send("Runtime.evaluate",
    { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
}

async function open() {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  ({ sessionId: session } = await send("Target.attachToTarget", { targetId, flatten: true }));
  for (const domain of ["Runtime", "Log", "Network", "Page"]) await send(`${domain}.enable`);
  const done = new Promise((good) => { loaded = good; });
  await send("Page.navigate", { url: page });
  await done;
}

async function look(width, scheme) {
  await send("Emulation.setDeviceMetricsOverride",
    { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
  await send("Emulation.setEmulatedMedia",
    { features: [{ name: "prefers-color-scheme", value: scheme }] });
}

// In the page.
function drawn() {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const marks = [...svg.querySelectorAll(".bar, .line, .code")].filter((mark) => {
      const box = mark.getBBox();
      return box.width > 0 || box.height > 0;
    });
    const whole = svg.getBBox();
    const inside = svg.viewBox.baseVal;
    found.push({
      title: svg.querySelector("title").textContent,
      marks: marks.length,
      area: whole.width * whole.height,
      leaves: whole.x < -1 || whole.y < -1 || whole.x + whole.width > inside.width + 1 ||
        whole.y + whole.height > inside.height + 1,
      pixels: svg.getBoundingClientRect().width,
    });
  }
  return found;
}

function sorted() {
  const wrong = [];
  let columns = 0;
  for (const table of document.querySelectorAll("table")) {
    const buttons = table.querySelectorAll("th button");
    const texts = () => [...table.tBodies[0].rows].map((row) => row.textContent).sort().join("|");
    const before = texts();
    buttons.forEach((button, column) => {
      ++columns;
      for (const sign of [1, -1]) {
        button.click();
        const values = [...table.tBodies[0].rows].map((row) => row.cells[column].dataset.value);
        if (values.some((value) => value === undefined)) continue;
        const numbers = values.map(Number);
        if (numbers.some((value, i) => i > 0 && sign * (value - numbers[i - 1]) < 0)) {
          wrong.push(`${table.caption.textContent}: ${button.textContent}`);
        }
      }
      if (button.parentElement.getAttribute("aria-sort") !== "descending") wrong.push("aria-sort");
      if (texts() !== before) wrong.push(`${table.caption.textContent} lost rows`);
    });
  }
  return { wrong, columns };
}

function faint() {
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const check = [["body", "color"], [".muted", "color"], ["caption", "color"], ["a", "color"],
    ["svg text", "fill"], ["svg .muted-text", "fill"], ["figcaption", "color"]];
  return check.flatMap(([selector, property]) => {
    const element = document.querySelector(selector);
    if (!element) return [];
    const found = ratio(light(getComputedStyle(element)[property]), paper);
    return found < 4.5 ? [`${selector}: contrast ${found.toFixed(2)}`] : [];
  });
}

async function check(width, scheme) {
  await look(width, scheme);
  const wide = await evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) fail(`${wide} pixels wide at ${width}`);
  for (const text of await evaluate(faint)) fail(`${scheme}: ${text}`);
  for (const chart of await evaluate(drawn)) {
    if (chart.marks === 0 || chart.area <= 0 || chart.pixels < 100) fail(`empty: ${chart.title}`);
    if (chart.leaves) fail(`leaves its frame: ${chart.title}`);
  }
  const { cssContentSize: size } = await send("Page.getLayoutMetrics");
  const { data } = await send("Page.captureScreenshot", {
    captureBeyondViewport: true, clip: { x: 0, y: 0, width, height: size.height, scale: 1 } });
  writeFileSync(join(pictures, `${width}-${scheme}.png`), Buffer.from(data, "base64"));
}

const limit = setTimeout(() => { fail("no answer within 90 s"); end(); }, 90000);

function end() {
  clearTimeout(limit);
  for (const text of failures) console.error(`browser: ${text.slice(0, 300)}`);
  child.once("exit", () => {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20 });
    process.exit(failures.length > 0 ? 1 : 0);
  });
  process.kill(-child.pid, "SIGKILL");
}

try {
  mkdirSync(pictures, { recursive: true });
  await open();
  const charts = (await evaluate(drawn)).length;
  if (charts < 5) fail(`expected charts, found ${charts}`);
  for (const scheme of ["light", "dark"]) {
    for (const width of [400, 1400]) await check(width, scheme);
  }
  const { wrong, columns } = await evaluate(sorted);
  for (const text of wrong) fail(`not sorted: ${text}`);
  if (columns === 0) fail("no column sorts");
  const others = requests.filter((url) => url !== page && !url.startsWith("data:"));
  for (const url of others) fail(`requested: ${url}`);
  console.log(`${charts} charts, ${columns} columns, ${requests.length} requests of the page and data`);
} catch (error) {
  fail(error.message);
}
end();
