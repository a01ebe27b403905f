// One process: its lanes, what comes next, its history, what is parked, its journal, its recounts.
import { actButton, commandOf } from "./acts.js";
import { endRecount, of, recount } from "./api.js";
import { askFor, busy, close, mayAct, notify, tokenField } from "./dialogs.js";
import { button, h } from "./dom.js";
import { bytes, count, ms, rows, span } from "./format.js";
import { expectation, stalled } from "./lanes.js";
import { card, laneTable } from "./home.js";
import { entries } from "./lists.js";
import { choices, command, commands, copyable, dim, empty, link, mono, num, path, processPath, quiet, read, rowPath, table, td, time, tr, wide } from "./parts.js";
import { chart, meanCall, most, noted, perMinute, sum, whole } from "./spark.js";
import { serverNow, state } from "./store.js";

const TABS = [["lanes", "Lanes"], ["ahead", "Ahead"], ["history", "History"], ["parked", "Parked"], ["journal", "Journal"], ["audit", "Audit"]];

export const title = ({ name }) => name;

export function process({ name, query }) {
  const lanes = state.status.lanes.filter((lane) => lane.process === name);
  if (!lanes.length) return [h("h1", name), empty("No process of this name runs here.")];
  const tab = TABS.some(([id]) => id === query.get("tab")) ? query.get("tab") : "lanes";
  const show = { lanes: lanesTab, ahead, history, parked, journal, audit }[tab];
  return [h("div.page-head", { key: "head" }, h("h1", name), mayAct() && processActs(name, lanes)),
    choices("tabs", TABS.map(([id, text]) => [processPath(name, id === "lanes" ? null : id), [text, id === "parked" && parkedOf(name) > 0 && h("span.tag", count(parkedOf(name)))], id === tab])),
    h("section", { key: tab, "aria-label": tab }, show({ name, lanes, query }))];
}

const parkedOf = (name) => state.status.processes.find((one) => one.name === name)?.parked?.rows || 0;

function processActs(name, lanes) {
  const stopped = lanes.filter((lane) => lane.state === "paused");
  const seen = lanes.length === 1 ? expectation(lanes[0]) : {};
  const order = (act) => ({ process: name, act, expect: act === "rewind" ? {} : seen });
  return h("div.buttons", stopped.length > 0 && actButton(order("resume")), lanes.some((lane) => lane.state !== "paused" && lane.state !== "halted") && actButton(order("pause")), actButton(order("rewind")));
}

function lanesTab({ name, lanes }) {
  const move = lanes.filter((lane) => !lane.stall);
  return [stalled(lanes).map(card), move.length > 0 && laneTable(move, `Lanes of ${name}`),
    h("details", { key: "cli" }, h("summary", "Done on the command line only"), commands([command("lanes", name, "N"), command("adopt", name), command("prune", name), command("init")]))];
}

function ahead({ name, lanes, query }) {
  const lane = Number(query.get("lane")) || 0;
  return [lanes.length > 1 && choices("choice", lanes.slice(0, 64).map((one) => [processPath(name, "ahead", { lane: one.lane }), `lane ${one.lane}`, one.lane === lane])),
    read(`${of(name)}/rows?lane=${lane}&limit=20`, 2_000, (list) => [
      list.rows.length === 0 && !list.error ? empty("No row waits.") : table(`The next rows of ${name}`, ["Row", "Created", "Key", "Type", ">Size", "What it is"], list.rows.map((row) => tr(row.id, 
        mono(link(rowPath(name, row.id), row.id)), td(time(row.created_at)), td(row.key), td(row.type), num(bytes(row.payload_bytes)),
        td([row.settled ? "settled" : "behind the fence", row.late && "late", row.queues && "its key is parked"].filter(Boolean).join(", "))))),
      list.error && h("p.problem", `${list.error.row === null ? "" : `Row ${list.error.row}: `}${list.error.answer || list.error.text}`)])];
}

const callTime = (value) => (value ? ms(value) : "none");

function history({ name, query }) {
  const minutes = query.get("minutes") === "1440" ? 1440 : 60;
  const choice = choices("choice", [[60, "1 h"], [1440, "24 h"]].map(([value, text]) => [processPath(name, "history", { minutes: value }), text, value === minutes]));
  return [choice, read(`${of(name)}/history?minutes=${minutes}`, 15_000, ({ minutes: reports }) => {
    const now = noted(reports, serverNow()), line = (text, pick, write) => chart(text, perMinute(reports, minutes, now, pick), now, write);
    return h("div.charts", { key: minutes }, line("Rows a minute", sum("delivered"), whole), line("Failures a minute", sum("failures"), whole), line("Mean of a call", meanCall, callTime), line("Longest call", most("call_max_ms"), callTime), line("Lag: age of the oldest row delivered", most("age_max_ms"), (value) => (value ? span(value) : "none")));
  })];
}

function parked({ name, query }) {
  const key = query.get("key"), after = query.get("after");
  return read(path(`${of(name)}/parked`, { limit: 50, key, after }), 2_000, (list) => {
    if (!list.rows.length) return empty("No row is parked.");
    const groups = new Map();
    for (const row of list.rows) {
      const group = row.holds_key && row.key !== null ? `key ${row.key}` : "rows by themselves";
      groups.set(group, [...(groups.get(group) || []), row]);
    }
    return [h("div.heading", { key: "all" }, h("p", list.parked.rows > 0 && [`${rows(list.parked.rows)} parked, ${count(list.parked.heads)} failed${list.parked.redriven ? `, ${count(list.parked.redriven)} going out again` : ""}, the first at `, time(list.parked.since), ". "],
      list.parked.held_keys > 0 && [`${count(list.parked.held_keys)} held with ${rows(list.parked.held_rows)}, tried again by themselves, the first since `, time(list.parked.held_since)]),
      mayAct() && key === null && h("div.buttons", ["redrive", "discard"].map((act) => actButton({ process: name, act, all: true }, { label: act === "redrive" ? "Redrive all" : "Discard all" })))),
    [...groups].map(([group, list]) => parkedGroup(name, group, list)),
    list.next && h("p.more", link(`${processPath(name, "parked")}${key === null ? "" : `&key=${encodeURIComponent(key)}`}&after=${encodeURIComponent(list.next)}`, "Later rows"))];
  });
}

function parkedGroup(name, group, list) {
  const key = list[0].holds_key ? list[0].key : null, head = list.find((row) => row.head);
  const context = { headline: head && { row: head.id, answer: head.detail } };
  return h("article.card", { key: group }, h("header", h("h2", key === null ? group : ["Key ", link(processPath(name, "parked", { key }), key)]),
    key !== null && mayAct() && h("div.buttons", ["redrive", "discard"].map((act) => actButton({ process: name, act, key }, { ...context, label: act === "redrive" ? "Redrive key" : "Discard key" })))),
  key !== null && !mayAct() && copyable(commandOf({ process: name, act: "redrive", key })),
  table(`Parked rows, ${group}`, ["Row", "State", "Answer", ">Attempts", "Parked", ...(mayAct() ? ["Acts"] : [])], list.map((row) => tr(row.id, mono(link(rowPath(name, row.id), row.id)),
    td(row.redriven ? "goes out again" : row.head ? row.retry_at ? ["held until ", time(row.retry_at)] : "failed" : "queues"), wide(row.detail || (row.head ? "" : dim("behind an older row of its key"))), num(count(row.attempts)), td(time(row.parked_at)),
    mayAct() && h("td.row-acts", !row.redriven && ["redrive", "discard"].map((act) => actButton({ process: name, act, row: row.id }, { headline: { row: row.id, answer: row.detail || "queues behind an older row of its key" } }, { class: "small" })))))));
}

function journal({ name, query }) {
  const before = query.get("before");
  return read(path("/journal", { process: name, limit: 50, before }), 5_000, (list) => entries(list, processPath(name, "journal", { before: list.next }), false));
}

function audit({ name }) {
  const running = state.recount.get(name);
  return [h("div.heading", { key: "run" }, quiet("A recount reads everything that was delivered and compares it with the table."),
    mayAct() && (running && !running.done ? button("", () => askRecount(name, true), "End the recount…", { key: "end" }) : button("", () => askRecount(name, false), "Recount now…", { key: "begin" }))),
  running && h("p", { class: `recount ${running.done && running.sound === false ? "bad" : ""}`, key: "progress", role: "note" }, running.done ? `${running.sound ? "Complete and in order" : "Not sound"}: ${running.finding || ""}` : `Recounting: ${rows(running.rows)} so far`),
  mayAct() ? null : copyable(command("audit", name)),
  read(`${of(name)}/audit`, 10_000, ({ reports }) => (reports.length ? table(`Recounts of ${name}`, ["Recounted", "Verdict", ">Rows", "Through row", "By", "Hash"], reports.map((one) => tr(one.at, 
    td(time(one.at)), wide(h("details", h("summary", one.sound ? "complete and in order" : "not sound"), h("p.pre", one.detail))), num(count(one.rows)), mono(one.through_row ?? "–"), td(one.who), mono(one.hash)))) : empty("Never recounted.")))];
}

function askRecount(name, ends) {
  const done = () => busy(async () => { await (ends ? endRecount : recount)(name); close(); notify([`${name}: the recount ${ends ? "ends" : "has begun"}`]); });
  askFor({ title: `${ends ? "End the recount of" : "Recount"} ${name}`, show: () => [quiet(ends ? "Nothing is kept of what was compared so far." : "It reads the whole table beside delivery, which goes on."), tokenField()], label: ends ? "End it" : "Recount", done });
}
