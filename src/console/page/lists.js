// Pages that are lists: the journal, the instances, what `check` finds, and alerts.
import { h } from "./dom.js";
import { count, instance, span } from "./format.js";
import { copyable, empty, link, loaded, more, processPath, rowPath, shape, table, time } from "./parts.js";
import { state, use } from "./store.js";

/** Entries of the journal; `base` is where older ones are asked for. */
export function entries(list, base, named = true) {
  if (!list.entries.length) return empty("The journal has no entry.");
  return [table("Journal", ["At", ...(named ? ["Process"] : []), "Act", "Row", "By", "Why", ">Entry"], list.entries.map((one) => h("tr", { key: one.number },
    h("td", time(one.at)), named && h("td", link(processPath(one.process), one.process)), h("td", h("strong", one.act), one.lane !== null && one.lane > 0 ? h("span.quiet", ` lane ${one.lane}`) : null),
    h("td.id", one.row === null ? "" : link(rowPath(one.process, one.row), one.row)), h("td", byWhom(one.who)), h("td.wide", one.why || ""), h("td.number.quiet", one.number)))),
  more(list.next, `${base}before=${list.next}`)];
}

const byWhom = (who) => (/^[^ ]+:\d+:[0-9a-f]+$/.test(who) ? instance(who) : who);

export function journal({ query }) {
  const before = query.get("before");
  return [h("h1", { key: "h1" }, "Journal"), h("p.quiet", { key: "says" }, "Every act of a person, and each halt and change of holder, newest first."),
    loaded(use(`/journal?limit=50${before === null ? "" : `&before=${before}`}`), (list) => entries(list, "/journal?"))];
}

export function instances() {
  return [h("h1", { key: "h1" }, "Instances"), loaded(use("/relays", 3_000), ({ relays }) => {
    const kinds = new Map(relays.map((one) => [one.config_hash, relays.filter((other) => other.config_hash === one.config_hash).length]));
    return [kinds.size > 1 && h("p.problem", { key: "differ" }, `They run with ${kinds.size} different configurations. Lanes may be delivered by either; make them equal.`),
      relays.length ? table("Relays", ["Relay", "Version", "Configuration", "Processes", "Started", ">Last seen"], relays.map((one) => h("tr", { key: one.name }, h("th", { scope: "row" }, instance(one.name), one.this && h("span.tag", "this page's")),
        h("td", one.version), h("td.id", String(one.config_hash).slice(0, 12)), h("td.wide", one.processes.map((name, index) => [index > 0 && ", ", link(processPath(name), name)])), h("td", time(one.started_at)), h("td.number", `${span(one.seen_ms)} ago`)))) : empty("No relay runs.")];
  }), holders()];
}

/** Who holds how many lanes; the same of all relays. */
function holders() {
  const { instances: list, lanes } = state.status;
  if (list === null) return h("p.problem", { key: "hidden" }, "Who runs the processes is hidden from this role: it lacks SELECT on seriatim.instance.");
  const held = new Map();
  for (const lane of lanes) {
    const key = JSON.stringify([lane.process, lane.holder_alive ? instance(lane.holder) : ""]);
    held.set(key, (held.get(key) || 0) + 1);
  }
  return h("section", { key: "holders" }, h("h2", "Who holds what"), table("Lanes by holder", ["Process", "Holder", ">Lanes"], [...held].map(([key, number]) => {
    const [process, holder] = JSON.parse(key);
    return h("tr", { key }, h("th", { scope: "row" }, link(processPath(process), process)), h("td", holder || h("strong", "nobody")), h("td.number", count(number)));
  })));
}

const SEVERITY = { refusal: "halted", warning: "retrying", ok: "idle" };

export function checks() {
  return [h("h1", { key: "h1" }, "Checks"),
    h("section", { key: "alerts" }, h("h2", "Alerts"), loaded(use("/alerts?limit=50"), ({ alerts }) => (alerts.length ? table("Alerts", ["Opened", "Process", "Alert", "State"], alerts.map((one) => h("tr", { key: one.id }, h("td", time(one.opened_at)), h("td", link(processPath(one.process), one.process)),
      h("td.wide", one.summary), h("td", one.resolved_at ? ["resolved ", time(one.resolved_at)] : h("strong", "open"))))) : empty("No alert was ever raised.")))),
    loaded(use("/checks", 60_000), ({ processes }) => processes.map(({ process, findings }) => h("section", { key: process }, h("h2", link(processPath(process), process)),
      h("ul.findings", [...findings].sort((a, b) => rank(a) - rank(b)).map((one) => h("li", { key: one.what, class: one.severity }, shape(SEVERITY[one.severity]), h("div", h("p", h("span.unseen", one.severity, ": "), one.what), one.remedy && h("p.quiet", /^(ALTER|GRANT|CREATE|seriatim )/.test(one.remedy) ? copyable(one.remedy) : one.remedy)))))))) ];
}

const rank = (finding) => ["refusal", "warning", "ok"].indexOf(finding.severity);
