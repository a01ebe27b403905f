// The first page: does it move, if not which row and why, and what may be done.
import { actRows, offersOf } from "./acts.js";
import { of } from "./api.js";
import { h } from "./dom.js";
import { clock, count, instance, rate, rows, span } from "./format.js";
import { blockers, keyOf, stalled } from "./lanes.js";
import { commands, dim, empty, link, mono, num, path, processPath, quiet, rowPath, shape, stateWord, table, td, time, tr } from "./parts.js";
import { noted, perMinute, spark, sum } from "./spark.js";
import { elapsed, rates, redraw, serverNow, state, use } from "./store.js";

const CARDS_MAX = 20;
const LANES_MAX = 50;
const WORST = 20;
const SPARK_LANES_MAX = 64;

export const title = () => (state.status ? state.status.verdict.text : "seriatim");

export function home() {
  const { lanes, verdict } = state.status;
  const stopped = stalled(lanes);
  return [verdictNode(verdict, stopped[0]),
    stopped.length > 0 && h("section", { key: "stopped", "aria-label": "Lanes that are stopped" }, stopped.slice(0, CARDS_MAX).map(card),
      stopped.length > CARDS_MAX && h("p.more", `${count(stopped.length - CARDS_MAX)} more are stopped: `, h("code", "seriatim status"), " lists them all.")),
    moving(lanes.filter((lane) => !lane.stall)),
    strip()];
}

function verdictNode(verdict, worst) {
  const tone = { well: "running", waits: "running", stalled: worst && worst.state !== "paused" ? "halted" : "paused", unknown: "unknown" }[verdict.state];
  return h("div", { class: `verdict ${verdict.state}`, key: "verdict" }, shape(tone), h("h1", verdict.text));
}

export function card(lane) {
  const title = `${lane.process} · lane ${lane.lane}`, from = since(lane);
  return h("article", { class: `card ${lane.state === "halted" || lane.stall === "nobody holds it" ? "worst" : ""}`, key: keyOf(lane), "aria-label": `${title}: ${lane.stall || lane.state}` },
    h("header", stateWord(lane.stall === "nobody holds it" ? "standby" : lane.stall === "waits" ? "fenced" : lane.state, lane.stall), h("h2", link(processPath(lane.process), lane.process), lane.lane > 0 || lanesOf(lane) > 1 ? dim(` lane ${lane.lane}`) : null),
      from && h("p.since", "since ", time(from), dim(` (${ago(from)})`))),
    what(lane), facts(lane), transactions(blockers(lane)), remedies(lane), actRows(offersOf(lane)));
}

const ago = (at) => span(Math.max(0, serverNow() - Date.parse(at)));

/** When it was halted or paused: the status says so, or the journal. */
function since(lane) {
  if (lane.since || (lane.state !== "halted" && lane.state !== "paused")) return lane.since;
  const list = use(path("/journal", { process: lane.process, limit: 50 }), 10_000).value;
  return list?.entries.find((one) => (one.lane === lane.lane || one.lane === null) && (one.act === "halt" || one.act === "pause"))?.at;
}

const lanesOf = (lane) => state.status.processes.find((one) => one.name === lane.process)?.lanes ?? 1;

function what(lane) {
  const row = lane.row ?? lane.next;
  const text = answerOf(lane);
  return h("p.answer", row !== null && [link(rowPath(lane.process, row), row), text && ": "], text);
}

function answerOf(lane) {
  if (lane.not_read !== null) return lane.not_read;
  if (lane.error) return lane.error.answer;
  if (!lane.holder_alive) return (lane.wait && lane.wait.text) || "nobody holds this lane: no relay that runs this process is alive";
  if (lane.detail) return lane.detail;
  if (lane.wait) return lane.wait.text;
  if (lane.state === "paused") return "paused by an operator";
  if (lane.called_for_ms !== null) return "its call is in flight";
  return lane.row === null && lane.next === null ? "no row waits" : "";
}

function facts(lane) {
  const late = elapsed();
  const behind = lane.lag_records === null ? "unknown" : count(Math.max(0, lane.lag_records - (lane.next === null ? 0 : 1))) + (lane.lag_more ? " or more" : "");
  const list = [["Rows behind it", behind],
    lane.lag_ms !== null && lane.lag_records !== 0 && ["Oldest waits", span(lane.lag_ms + late)],
    lane.attempts > 0 && ["Attempts", count(lane.attempts)],
    lane.reason && ["Code", lane.reason],
    lane.state === "retrying" && lane.retry_in_ms > late && ["Next attempt in", span(lane.retry_in_ms - late)],
    lane.called_for_ms !== null && ["Call in flight for", span(lane.called_for_ms + late)],
    lane.barrier && ["Barrier", `at row ${lane.barrier.row}${lane.barrier.who ? `, set by ${lane.barrier.who}` : ""}`],
    ["Holder", lane.holder_alive ? instance(lane.holder) : "nobody"]];
  return h("dl.facts", list.filter(Boolean).map(([name, text]) => h("div", { key: name }, h("dt", name), h("dd", text))));
}

/** Transactions that hold something up, and what ends each. */
export function transactions(list) {
  if (!list.length) return null;
  const hidden = list.some((one) => one.pid !== 0 && !one.user && !one.application);
  return [table("Open transactions", ["Transaction", "Application", "User", "State", ">Open for", ">Statement for"],
    list.map((one) => tr(`${one.pid}${one.gid}`, td(one.pid ? `pid ${one.pid}` : `prepared ${one.gid}`, one.ours && h("span.tag", "ours")),
      td(one.application), td(one.user), td(one.pid ? one.state || "–" : "prepared"), num(span(one.age_ms + elapsed())),
      num(one.pid ? span(one.statement_age_ms + elapsed()) : "–")))),
  quiet("Waiting is always right: nothing is lost by it. To end it:"),
  commands(list.flatMap((one) => (one.pid ? [`SELECT pg_terminate_backend(${one.pid})`] : ["COMMIT", "ROLLBACK"].map((end) => `${end} PREPARED '${one.gid.replaceAll("'", "''")}'`)))),
  hidden && quiet("The rest is hidden from our role. To show it: ", h("code", "GRANT pg_read_all_stats TO ROLE"))];
}

/** What the relay says under the lane, without what the card has said already. */
function remedies(lane) {
  const texts = lane.notes && lane.notes.length ? lane.notes : lane.wait && lane.wait.remedy ? [lane.wait.remedy] : [];
  const more = texts.filter((text) => !(lane.detail && text.includes(lane.detail)) && text !== lane.wait?.text && text !== lane.error?.answer);
  return more.length > 0 && h("ul.notes", more.map((text) => h("li", { key: text }, text)));
}

function moving(all) {
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = words.length ? all.filter((lane) => words.every((text) => `${lane.process} ${lane.lane} ${lane.state} ${lane.holder || ""}`.toLowerCase().includes(text))) : all;
  const sorted = [...chosen].sort((a, b) => (b.lag_ms || 0) - (a.lag_ms || 0));
  const shown = chosen.length > LANES_MAX ? sorted.slice(0, WORST) : chosen.length > 12 ? sorted : chosen;
  return h("section", { key: "moving" }, h("div.heading", h("h2", "Lanes that move"), dim(shown.length < chosen.length ? `the ${WORST} with the oldest rows, of ${count(chosen.length)}` : count(chosen.length)),
    (all.length > 8 || state.filter !== "") && h("input", { id: "filter", type: "search", placeholder: "Filter  /", "aria-label": "Filter lanes", value: state.filter, oninput: (event) => { state.filter = event.target.value; redraw(); } })),
  shown.length ? laneTable(shown, "Lanes that move") : empty(all.length ? "No lane matches the filter." : "No lane moves."));
}

export function laneTable(lanes, caption) {
  const late = elapsed();
  return table(caption, ["State", "Process", ">Lag", ">Oldest", ">Rate", "Last hour", "At row", ">Last delivered", "Holder"],
    lanes.map((lane) => tr(keyOf(lane), 
      td(stateWord(lane.state)),
      h("th", { scope: "row" }, link(processPath(lane.process), lane.process), lanesOf(lane) > 1 && dim(` lane ${lane.lane}`)),
      num(lane.lag_records === 0 ? dim("none") : lane.lag_records === null ? "unknown" : count(lane.lag_records) + (lane.lag_more ? "+" : "")),
      num(lane.lag_ms === null || lane.lag_records === 0 ? "" : span(lane.lag_ms + late)),
      num(rate(rates.of(lane, serverNow()))),
      h("td.line", hour(lane)),
      mono(lane.next !== null ? link(rowPath(lane.process, lane.next), lane.next) : lane.position ? dim(`after ${lane.position.id}`) : ""),
      num(lastDelivered(lane)),
      h("td.quiet", instance(lane.holder)))), { class: "scroll lanes" });
}

function reports(lane) {
  const history = lanesOf(lane) <= SPARK_LANES_MAX && use(`${of(lane.process)}/history?minutes=60`, 30_000).value;
  return history && history.minutes.filter((one) => one.lane === lane.lane);
}

/** As seen from here, or to the minute from the history. */
function lastDelivered(lane) {
  const seen = rates.moved(lane);
  if (seen) return `${ago(new Date(seen))} ago`;
  const minute = (reports(lane) || []).filter((one) => one.delivered > 0).map((one) => one.minute).sort().at(-1);
  return minute ? clock(minute).slice(0, -3) : "";
}

function hour(lane) {
  const list = reports(lane);
  if (!list) return null;
  const mine = perMinute(list, 60, noted(list, serverNow()), sum("delivered"));
  return spark(mine, `Rows a minute in the last hour: ${count(mine.reduce((a, b) => a + b, 0))} in all, at most ${count(Math.max(...mine))}`);
}

function strip() {
  const { processes, alerts_open: alerts } = state.status;
  return h("section.strip", { key: "strip", "aria-label": "The rest" }, parkedTile(processes), auditTile(processes), relayTile(), tile("Database", `read ${span(elapsed())} ago`, `at ${clock(state.status.looked_at)}`, "/checks"),
    tile("Alerts", alerts === null ? "unknown" : alerts === 0 ? "none open" : `${count(alerts)} open`, "", "/checks", alerts > 0 && "warn"));
}

function tile(name, text, small, href, tone) {
  return h("a", { class: `tile ${tone || ""}`, href, key: name }, dim(name), h("strong", text), h("span.quiet.small", small));
}

function parkedTile(processes) {
  const some = processes.filter((one) => one.parked && one.parked.rows > 0);
  const total = some.reduce((all, one) => all + one.parked.rows, 0), heads = some.reduce((all, one) => all + one.parked.heads, 0);
  return tile("Parked", total ? `${rows(total)}, ${count(heads)} failed` : "none", some.map((one) => one.name).join(", "), some.length ? processPath(some[0].name, "parked") : "/", total && "warn");
}

function auditTile(processes) {
  const known = processes.filter((one) => one.audit), bad = known.filter((one) => !one.audit.sound);
  const first = [...(bad.length ? bad : known)].sort((a, b) => a.audit.at.localeCompare(b.audit.at))[0];
  const process = first || processes[0];
  const href = process ? processPath(process.name, "audit") : "/";
  if (!first) return tile("Recount", "never recounted", "seriatim audit", href);
  const through = /up to (\d{4}-\S+Z)/.exec(first.audit.detail);
  return tile("Recount", bad.length ? `${bad.length} not sound` : through ? `complete and in order up to ${clock(through[1])}` : "complete and in order",
    `${first.name}, recounted ${clock(first.audit.at)}${known.length < processes.length ? `; ${processes.length - known.length} never` : ""}`, href, bad.length && "bad");
}

function relayTile() {
  const data = use("/relays", 10_000);
  if (!data.value) return tile("Instances", data.error ? "unknown" : "…", "", "/instances");
  const { relays } = data.value, kinds = new Set(relays.map((one) => one.config_hash)).size;
  return tile("Instances", count(relays.length), kinds > 1 ? `${kinds} different configurations` : kinds ? "same configuration" : "", "/instances", kinds > 1 && "warn");
}
