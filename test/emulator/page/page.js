// Asks the emulator once a second what goes on and shows it. What the emulator says holds text of clients, so it goes into the page
// as text and attributes only, never as HTML.
"use strict";

const every = 1000; // ms between two questions
const patience = 5000; // ms to wait for an answer
const $ = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en");

let paused = false;
let timer = 0;
let asking = null; // the AbortController of the question that is under way
let back = 0; // when the FE that serves this page is expected back, by performance.now(); 0: it is not known to be away
let before = null; // the counts of the answer before: {at, rows: Map}
const drawn = new Map(); // what was drawn last, by section

// element makes an element; attributes are set as they are, children are elements or text.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children);
  return e;
}

// changed says whether a section has to be drawn again; what is selected or has the focus stays when it has not.
function changed(section, data) {
  const text = JSON.stringify(data);
  if (drawn.get(section) === text) return false;
  drawn.set(section, text);
  return true;
}

// put sets a text, and touches nothing when it is that already, so that it is not read out again.
function put(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

const count = (n, one, many) => `${whole.format(n)} ${n === 1 ? one : many}`;
const seconds = (ms) => `${Math.max(1, Math.ceil(ms / 1000))} s`;

function bytes(n) {
  for (const unit of ["B", "KiB", "MiB"]) {
    if (n < 1024) return `${unit === "B" || n >= 100 ? Math.round(n) : n.toFixed(1)} ${unit}`;
    n /= 1024;
  }
  return `${n.toFixed(1)} GiB`;
}

function duration(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 120000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60000)} min`;
}

function clock(text) {
  const t = new Date(text);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

async function ask() {
  clearTimeout(timer);
  asking?.abort();
  const mine = (asking = new AbortController());
  const late = setTimeout(() => mine.abort(), patience);
  try {
    const answer = await fetch("/emulator/live", { cache: "no-store", signal: mine.signal });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const data = await answer.json();
    if (asking !== mine) return; // a newer question is under way
    here();
    show(data);
  } catch {
    if (asking !== mine) return;
    away();
  } finally {
    clearTimeout(late);
    if (asking === mine) {
      asking = null;
      if (!paused && !document.hidden) timer = setTimeout(ask, every);
    }
  }
}

function here() {
  if (performance.now() > back) back = 0; // before that it may not have gone yet
  $("banner").hidden = true;
  put($("banner-text"), "");
  put($("connection"), paused ? "Paused" : "Live");
}

function away() {
  put($("connection"), "No answer");
  $("banner").hidden = false;
  const left = back - performance.now();
  put($("banner-text"), back > 0 && left > -patience
    ? "The FE that serves this page is off the network. It comes back by itself, and the page goes on then."
    : "The emulator does not answer. The page goes on as soon as it does.");
  put($("banner-time"), left > 0 ? `About ${seconds(left)} left.` : "");
  before = null; // a rate over the gap would be wrong
}

function show(data) {
  const server = `${data.dialect === "starrocks" ? "StarRocks" : "Apache Doris"} ${data.version}`;
  put($("server"), server);
  document.title = `${server} emulator`;
  showNodes(data.nodes);
  showSwitches(data.switches);
  showOthers(data.faults, data.faults_total);
  showTables(data);
  showRunning(data.running, data.running_total);
  showLoads(data.loads, data.loads_total);
}

function showNodes(nodes) {
  const list = nodes.map((n) => {
    let state = n.up ? "up" : "down";
    if (n.up && n.master) state += ", master";
    if (n.back_in_ms) state += `, back in ${seconds(n.back_in_ms)}`;
    return [n.name, n.address, n.up, state];
  });
  if (!changed("nodes", list)) return;
  $("nodes").replaceChildren(...list.map(([name, address, up, state]) =>
    element("li", { class: up ? "up" : "down" }, element("b", {}, name), ` ${address} ${state}`)));
}

// The switches are made once and changed from then on, so that they keep the focus.
const switches = new Map();

function showSwitches(list) {
  for (const s of list) {
    let parts = switches.get(s.name);
    if (!parts) {
      const button = element("button", { type: "button", role: "switch", "aria-describedby": `help-${s.name}` },
        element("span", { class: "knob", "aria-hidden": "true" }), s.title);
      const struck = element("p", { class: "struck" });
      parts = { button, struck, item: element("li", { id: `switch-${s.name}` }, button, element("p", { id: `help-${s.name}` }, s.help), struck), title: s.title };
      switches.set(s.name, parts);
      button.addEventListener("click", () => flip(s.name, button.getAttribute("aria-checked") !== "true"));
      $("switches").append(parts.item);
    }
    parts.button.setAttribute("aria-checked", String(s.on));
    parts.item.className = s.on ? "on" : "";
    const how = { third: "One load in three. ", once: "Once. " }[s.on ? s.strike : ""] ?? "";
    put(parts.struck, `${how}${s.strike === undefined && s.name.endsWith("-down") ? "Taken down" : "Struck"} ${count(s.struck, "time", "times")}`);
    parts.struck.className = s.struck > 0 ? "struck some" : "struck";
  }
}

function showOthers(list, total) {
  if (!changed("others", [list, total])) return;
  $("others").hidden = total === 0;
  const items = list.map((f) => element("li", {}, element("code", {}, f.fault), ` struck ${count(f.hits, "time", "times")}`));
  if (total > list.length) items.push(element("li", {}, `and ${whole.format(total - list.length)} more`));
  $("others-list").replaceChildren(...items);
}

const cards = new Map(); // the cards of the tables, by database and name

function showTables(data) {
  const now = { at: performance.now(), rows: new Map() };
  $("tables-none").hidden = data.tables_total > 0;
  put($("tables-sum"), data.tables_total === 0 ? "" : `${count(data.rows, "row", "rows")} in ${count(data.tables_total, "table", "tables")}` +
    (data.tables_total > data.tables.length ? `, of which ${whole.format(data.tables.length)} are shown` : ""));
  for (const t of data.tables) {
    const key = `${t.database}.${t.name}`;
    now.rows.set(key, t.rows);
    const old = before?.rows.get(key);
    const rate = old === undefined ? 0 : Math.round((t.rows - old) * 1000 / Math.max(1, now.at - before.at));
    showTable(key, t, rate);
  }
  for (const [key, card] of cards) {
    if (!now.rows.has(key)) {
      card.box.remove();
      cards.delete(key);
    }
  }
  before = now;
}

function showTable(key, t, rate) {
  let card = cards.get(key);
  if (!card) {
    const columns = element("tr");
    const rows = element("tbody");
    const tally = element("span", { class: "count" });
    const small = element("span", { class: "small" });
    const scroll = element("div", { class: "scroll", role: "region", "aria-label": `Last rows of ${key}`, tabindex: "0" },
      element("table", {}, element("thead", {}, columns), rows));
    card = { columns, rows, tally, small, scroll, box: element("article", { class: "table", "aria-label": key }, element("h3", {}, key, small, tally), scroll) };
    cards.set(key, card);
    $("tables").append(card.box);
  }
  card.box.dataset.rows = t.rows;
  put(card.tally, count(t.rows, "row", "rows"));
  let small = t.model;
  if (rate > 0) small += ` · ${whole.format(rate)} rows/s`;
  if (t.waiting > 0) small += ` · ${whole.format(t.waiting)} committed, not yet visible`;
  put(card.small, small);
  card.scroll.hidden = t.last.length === 0;
  if (!changed(`table ${key}`, [t.columns, t.columns_total, t.last])) return;
  const names = t.columns.map((c) => element("th", { scope: "col" }, c));
  if (t.columns_total > t.columns.length) names.push(element("th", { scope: "col" }, `and ${t.columns_total - t.columns.length} more`));
  card.columns.replaceChildren(...names);
  card.rows.replaceChildren(...t.last.map((row) => element("tr", {}, ...row.map((v) =>
    v === null ? element("td", { class: "null" }, "NULL") : element("td", { class: "cell", title: v }, v)))));
}

function badge(text, kind) {
  return element("span", { class: `badge ${kind}` }, text);
}

function cell(name, kind, ...children) {
  return element("td", { class: kind || undefined, "data-name": name || undefined }, ...children);
}

function nameCell(database, table) {
  return table ? cell("", "name", `${database}.`, element("wbr"), table) : cell("", "name", database);
}

function labelCell(label) {
  return cell("", "label", element("code", {}, label));
}

function stateBadge(state) {
  const kind = { VISIBLE: "good", COMMITTED: "warn", ABORTED: "bad", UNKNOWN: "bad" }[state] ?? "warn";
  return badge(state, kind);
}

function showRunning(list, total) {
  $("running-none").hidden = total > 0;
  $("running-box").hidden = total === 0;
  put($("running-sum"), total > list.length ? `${whole.format(total)}, of which the newest ${list.length} are shown` : "");
  const rows = list.map((t) => [String(t.txn), t.state, t.database, t.table, t.label, t.be, duration(t.age_ms)]);
  if (!changed("running", rows)) return;
  $("running").replaceChildren(...rows.map(([txn, state, database, table, label, be, age]) => element("tr", {},
    cell("txn", "", txn), cell("", "", stateBadge(state)), nameCell(database, table), labelCell(label), cell("", "", be), cell("since", "num", age))));
}

let seen = -1; // how many loads there were when they were drawn last

function showLoads(list, total) {
  $("loads-none").hidden = total > 0;
  $("loads-box").hidden = list.length === 0;
  put($("loads-sum"), total === 0 ? "" : `${count(total, "load", "loads")}${total > list.length ? `, the last ${list.length} of them` : ""}, newest first`);
  if (!changed("loads", list)) return;
  const fresh = seen < 0 ? 0 : total - seen;
  seen = total;
  // Each load is a body of the table: its message has a row of its own, with room for it.
  $("loads").replaceChildren($("loads").tHead, ...list.map((l, i) => {
    const answered = l.answered ? badge(l.status, { Success: "good", "Publish Timeout": "warn" }[l.status] ?? "bad")
      : badge(l.status ? `${l.status}, not delivered` : "none", "bad");
    const noted = l.message !== "" && l.message !== "OK";
    const body = element("tbody", { class: i < fresh ? "fresh" : undefined }, element("tr", { class: noted ? "noted" : undefined },
      cell("", "time", clock(l.end)), cell("", "", answered), cell("", "", stateBadge(l.state)), nameCell(l.database, l.table), labelCell(l.label),
      cell("txn", "", l.txn < 0 ? "–" : String(l.txn)), cell("", "", l.be),
      cell("rows", "num", whole.format(l.rows)), cell("loaded", "num", whole.format(l.loaded)), cell("filtered", "num", whole.format(l.filtered)),
      cell("unselected", "num", whole.format(l.unselected)), cell("", "num", bytes(l.bytes)), cell("", "num", duration(new Date(l.end) - new Date(l.start)))));
    if (noted) body.append(element("tr", { class: "note" }, element("td"), element("td", { class: "message", colspan: "12" }, l.message)));
    return body;
  }));
}

// order asks the emulator to change something, and says what came of it.
async function order(what, done) {
  try {
    const answer = await fetch("/emulator/switches", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(what), signal: AbortSignal.timeout(patience),
    });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const did = await answer.json();
    put($("said"), done);
    if (did.back_in_ms) back = performance.now() + did.back_in_ms;
  } catch (error) {
    put($("said"), `That did not work: ${error.message}`);
  }
  ask();
}

function flip(name, on) {
  order({ switch: name, on, strike: $("strike").value }, `${switches.get(name).title}: ${on ? "on" : "off"}.`);
}

$("clear").addEventListener("click", () => order({ clear: true }, "All faults are off and every server is up."));
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  if (paused) {
    clearTimeout(timer);
    put($("connection"), "Paused");
  } else {
    ask();
  }
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !paused) ask();
});
ask();
