// Pages that are lists: the journal, the instances, what `check` finds, and alerts.
import { h } from "./dom.js";
import { count, instance, span } from "./format.js";
import { copyable, dim, empty, link, mono, num, path, processPath, quiet, read, rowPath, shape, table, td, time, tr, wide } from "./parts.js";
import { state } from "./store.js";

/** Entries of the journal; older ones are at `older`. */
export function entries(list, older, named = true) {
  if (!list.entries.length) return empty("The journal has no entry.");
  return [table("Journal", ["At", ...(named ? ["Process"] : []), "Act", "Row", "By", "Why", ">Entry"], list.entries.map((one) => tr(one.number, 
    td(time(one.at)), named && td(link(processPath(one.process), one.process)), td(h("strong", one.act), one.lane !== null && one.lane > 0 ? dim(` lane ${one.lane}`) : null),
    mono(one.row === null ? "" : link(rowPath(one.process, one.row), one.row)), td(byWhom(one.who)), wide(one.why || ""), h("td.number.quiet", one.number)))),
  list.next && h("p.more", link(older, "Older"))];
}

const byWhom = (who) => (/^[^ ]+:\d+:[0-9a-f]+$/.test(who) ? instance(who) : who);

export function journal({ query }) {
  const before = query.get("before");
  return [h("h1", { key: "h1" }, "Journal"), quiet({ key: "says" }, "Every act of a person, and each halt and change of holder, newest first."),
    read(path("/journal", { limit: 50, before }), 5_000, (list) => entries(list, path("/journal", { before: list.next })))];
}

export function instances() {
  return [h("h1", { key: "h1" }, "Instances"), read("/relays", 3_000, ({ relays }) => {
    const kinds = new Map(relays.map((one) => [one.config_hash, relays.filter((other) => other.config_hash === one.config_hash).length]));
    return [kinds.size > 1 && h("p.problem", { key: "differ" }, `They run with ${kinds.size} different configurations. Lanes may be delivered by either; make them equal.`),
      relays.length ? table("Relays", ["Relay", "Version", "Configuration", "Processes", "Started", ">Last seen"], relays.map((one) => tr(one.name, h("th", { scope: "row" }, instance(one.name), one.this && h("span.tag", "this page's")),
        td(one.version), mono(String(one.config_hash).slice(0, 12)), wide(one.processes.map((name, index) => [index > 0 && ", ", link(processPath(name), name)])), td(time(one.started_at)), num(`${span(one.seen_ms)} ago`)))) : empty("No relay runs.")];
  }), holders()];
}

function holders() {
  const held = new Map();
  for (const { process, holder, holder_alive } of state.status.lanes) {
    const key = JSON.stringify([process, holder_alive ? instance(holder) : ""]);
    held.set(key, (held.get(key) || 0) + 1);
  }
  return h("section", { key: "holders" }, h("h2", "Who holds what"), table("Lanes by holder", ["Process", "Holder", ">Lanes"], [...held].map(([key, number]) => {
    const [process, holder] = JSON.parse(key);
    return tr(key, td(link(processPath(process), process)), td(holder || h("strong", "nobody")), num(count(number)));
  })));
}

const SEVERITY = { refusal: "halted", warning: "retrying", ok: "idle" };

export function checks() {
  return [h("h1", { key: "h1" }, "Checks"),
    h("section", { key: "alerts" }, h("h2", "Alerts"), read("/alerts?limit=50", 5_000, ({ alerts }) => (alerts.length ? table("Alerts", ["Opened", "Process", "Alert", "State"], alerts.map((one) => tr(one.id, td(time(one.opened_at)), td(link(processPath(one.process), one.process)),
      wide(one.summary), td(one.resolved_at ? ["resolved ", time(one.resolved_at)] : h("strong", "open"))))) : empty("No alert was ever raised.")))),
    read("/checks", 60_000, ({ processes }) => processes.map(({ process, findings }) => h("section", { key: process }, h("h2", link(processPath(process), process)),
      h("ul.findings", [...findings].sort((a, b) => rank(a) - rank(b)).map((one) => h("li", { key: one.what, class: one.severity }, shape(SEVERITY[one.severity]), h("div", h("p", h("span.unseen", one.severity, ": "), one.what), one.remedy && quiet(/^(ALTER|GRANT|CREATE|seriatim )/.test(one.remedy) ? copyable(one.remedy) : one.remedy)))))))) ];
}

const rank = (finding) => ["refusal", "warning", "ok"].indexOf(finding.severity);
