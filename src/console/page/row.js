// The story of one row: where it is, why it does not move, what may be done, and the facts.
import { actRows, offersOf } from "./acts.js";
import { of, reveal } from "./api.js";
import { askFor, busy, field, mayAct, tokenField } from "./dialogs.js";
import { button, h } from "./dom.js";
import { transactions } from "./home.js";
import { command, copyable, dim, link, path, processPath, quiet, read, rowPath, stateWord, time } from "./parts.js";
import { redraw, state } from "./store.js";

const STEADY = { delivered: "running", set_aside: "idle", filtered: "idle", passed: "idle", parked: "retrying", late: "retrying" };
const NAMES = { created_at: "created", cursor: "cursor", holder: "holder", journal: "journal", key: "key" };

export const title = ({ name, query }) => `row ${query.get("id")} of ${name}`;

export function row({ name, query }) {
  const id = query.get("id") || "";
  return [h("h1", { key: "h1" }, link(processPath(name), name), " row ", h("span.id", id)),
    h("div", { key: id }, read(path(`${of(name)}/row`, { id }), 2_000, (story) => storyNodes(name, story)))];
}

function storyNodes(name, story) {
  const lane = story.lane;
  const halted = lane && (lane.state === "halted" || lane.state === "retrying") && lane.row !== null;
  const stuck = story.state === "next" || story.state === "waiting" ? lane?.state : null;
  return [h("article", { class: `card story ${stuck === "halted" ? "worst" : ""}` },
    h("header", stateWord(stuck || STEADY[story.state] || story.state, story.state === "next" ? stuck : story.state.replaceAll("_", " ")), lane && quiet(`lane ${lane.lane}${story.state === "next" ? " is at it" : ` is ${lane.state}`}`)),
    h("p.answer", story.answer),
    story.next_steps.length > 0 && h("ul.notes", story.next_steps.map((text) => h("li", { key: text }, text))),
    halted && stuck && (lane.row === story.id ? actRows(offersOf(lane)) : h("p", link(rowPath(name, lane.row), `Row ${lane.row}`), " is the one that the lane is at.")),
    copyable(command("why", name, story.id))),
  story.writers.length > 0 && [h("h2", "Transactions that may still write it"), transactions(story.writers)],
  h("h2", "Facts"),
  h("dl.evidence", facts(story).map(([term, text]) => h("div", { key: term }, h("dt", NAMES[term] || term.replaceAll("_", " ")), h("dd", text)))),
  h("h2", "Payload"), payload(name, story)];
}

function facts(story) {
  const list = Object.entries(story.evidence).map(([term, text]) => [term, term === "created_at" ? time(text) : text]);
  if (!story.evidence.created_at && story.created_at) list.unshift(["created_at", time(story.created_at)]);
  return list;
}

function payload(name, story) {
  if (!story.in_table) return quiet("The row is not in the table.");
  return [story.payload_masked !== undefined && story.payload_masked !== null && h("pre", { tabindex: "0", "aria-label": "Payload, masked" }, story.payload_masked),
    mayAct() ? h("p.line-up", button("", () => askReveal(name, story.id), "Reveal…"), dim("Shown to you once; that you saw it is kept in the journal."))
      : quiet(`${story.payload_masked ? "The rest is hidden" : "Hidden"}. ${state.me.why_not || ""}`)];
}

function askReveal(name, id) {
  let text;
  const show = () => (text === undefined ? [quiet("That you saw it is kept in the journal, with your name. Nothing of the payload is kept here."), field("reason", "Reason, if there is one to tell", "Kept in the journal."), tokenField()]
    : h("pre", { tabindex: "0", class: "payload", "aria-label": "Payload" }, text === null ? "NULL" : text));
  const done = () => busy(async (mine) => {
    text = (await reveal(name, id, (mine.values.reason || "").trim() || undefined)).payload;
    mine.done = undefined;
    mine.closes = "Close";
    redraw();
  });
  askFor({ title: `Payload of row ${id}`, show, label: "Reveal", done });
}
