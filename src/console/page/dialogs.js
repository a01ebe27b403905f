// The dialog of an act: it asks what its tier wants, shows the plan, and stays if somebody was faster.
import { act, dropToken, hasToken as tokenKept, keepToken } from "./api.js";
import { ACTS, commandOf, tierOf } from "./acts.js";
import { button, h } from "./dom.js";
import { rows } from "./format.js";
import { expectation } from "./lanes.js";
import { copyable, dim, link, quiet, shape } from "./parts.js";
import { outdate, redraw, state } from "./store.js";

const QUICK_MS = 800;
let box = null;    // the open dialog
let said = null;   // what the last act did
let serial = 0, silence = null;

/** Begins an act. A light one is done at once if a token is at hand. */
export function ask(order, context = {}) {
  const light = tierOf(order) === "light" && !context.reason;
  open({ order, context, quick: light, plan: undefined });
  if (light && hasToken()) send();
  else if (planned(box) && order.act !== "rewind" && hasToken()) preview();
}

/** A dialog of another kind: `show(box)` gives its content, `done(box)` is its act; both may use `field`. */
export const askFor = (content) => open(content);

export function close() {
  box = null;
  redraw();
}

function open(content) {
  box = { key: ++serial, values: {}, errors: {}, problem: null, busy: false, opener: document.activeElement, ...content };
  redraw();
}

/** A proxy or a socket may say who acts; then no token is asked. */
const hasToken = () => tokenKept() || state.me?.needs_token === false;

/** Does the act have a plan that must be seen first? */
const planned = (mine) => ["rewind", "redrive", "discard"].includes(mine.order?.act);

export function notify(done, journal) {
  said = { done, journal };
  clearTimeout(silence);
  silence = setTimeout(() => { said = null; redraw(); }, 12_000);
  redraw();
}

export function saidNodes() {
  return said && h("div.said", shape("running"), h("div", said.done.map((text) => h("p", text)), said.journal && quiet(link("/journal", `journal entry ${said.journal}`))),
    button(".plain", () => { said = null; redraw(); }, "×", { "aria-label": "Dismiss" }));
}

export function field(name, label, hint, props = {}, tag = "input") {
  const error = box.errors[name];
  return h("div.field", { key: name }, h("label", { for: `f-${name}` }, label),
    h(tag, { id: `f-${name}`, name, value: box.values[name] || "", "aria-invalid": error && "true", "aria-describedby": `h-${name}`, autocomplete: "off", spellcheck: "false",
      oninput: (event) => { box.values[name] = event.target.value; delete box.errors[name]; redraw(); }, ...props }),
    h("p", { id: `h-${name}`, class: error ? "error" : "quiet" }, error || hint));
}

export const tokenField = (hint) => !hasToken() && field("token", "Your token", hint || "Kept in this tab's memory only, for 15 idle minutes.", { type: "password" });

export function filled(names) {
  const texts = { token: "An act needs your token.", reason: "A reason is required: it is kept in the journal.", place: "Say where to." };
  for (const name of names) if (!(box.values[name] || "").trim()) box.errors[name] = texts[name];
  redraw();
  const first = names.find((name) => box.errors[name]);
  if (first) document.getElementById(`f-${first}`)?.focus();
  return !first;
}

function takeToken() {
  if (hasToken()) return true;
  if (!filled(["token"])) return false;
  keepToken(box.values.token.trim());
  return true;
}

/** Runs `work` while the dialog waits; a refusal is shown in it. */
export async function busy(work) {
  const mine = box;
  if (!mine || mine.busy || !takeToken()) return;
  mine.busy = true;
  mine.problem = null;
  setTimeout(() => { mine.quick = false; redraw(); }, QUICK_MS);  // it waits for a call: the dialog says so
  redraw();
  try {
    await work(mine);
  } catch (problem) {
    if (problem.status === 401) {
      dropToken();
      mine.values.token = "";
    }
    if (problem.status === 409 && planned(mine)) mine.plan = undefined;
    mine.quick = false;
    mine.problem = problem;
    if (box !== mine) notify([`${mine.order?.process ?? "It"}: not done: ${problem.message}`]);
  }
  mine.busy = false;
  redraw();
}

async function preview() {
  await busy(async (mine) => {
    mine.plan = await act(mine.order.process, { ...bodyOf(mine), preview: true, reason: undefined, confirm: undefined });
    mine.planPlace = mine.values.place;
  });
}

function bodyOf(mine) {
  const { process: _, ...order } = mine.order;
  const expect = { ...order.expect };
  if (mine.plan) {
    expect.count = mine.plan.count ?? undefined;
    expect.plan = mine.plan.plan ?? undefined;
  }
  return { ...order, place: order.act === "rewind" ? (mine.values.place || "").trim() : undefined, expect, reason: (mine.values.reason || "").trim() || undefined, confirm: mine.values.confirm };
}

async function send() {
  const mine = box, tier = tierOf(mine.order);
  if (mine.order.act === "rewind" && !filled(["place"])) return;
  if (planned(mine) && (!mine.plan || mine.planPlace !== mine.values.place)) return void preview();
  if (tier !== "light" && !filled(hasToken() ? ["reason"] : ["token", "reason"])) return;
  if (tier === "wide" && mine.values.confirm !== mine.order.process) {
    mine.errors.confirm = `That is not the name of the process, ${mine.order.process}.`;
    redraw();
    return void document.getElementById("f-confirm")?.focus();
  }
  await busy(async () => {
    const answer = await act(mine.order.process, bodyOf(mine));
    if (box === mine) close();
    notify(answer.done.map((text) => `${mine.order.process}: ${text}`), answer.journal);
    outdate();
  });
}

export function dialogNodes() {
  if (!box || (box.quick && box.busy)) return null;
  const mine = box;
  const title = mine.title || titleOf(mine);
  return h("dialog", { key: mine.key, "aria-labelledby": "dialog-title", ref: (element) => queueMicrotask(() => { element.showModal(); focusFirst(element); }),
    onclose: () => { if (box === mine) close(); mine.opener?.isConnected && mine.opener.focus(); } },
  h("form", { method: "dialog", novalidate: true, onsubmit: (event) => { event.preventDefault(); if (!mine.busy) (mine.done || send)(mine); } },
    h("h2", { id: "dialog-title" }, title),
    mine.show ? mine.show(mine) : actFields(mine),
    mine.problem && problemNodes(mine),
    h("div.buttons",
      button("", close, mine.closes || (mine.busy ? "Close; it goes on" : "Cancel")),
      (mine.order || mine.done) && h("button", { class: mine.order && ACTS[mine.order.act].danger && ready(mine) ? "primary danger" : "primary", "aria-disabled": mine.busy && "true" }, mine.busy ? "Working…" : mine.label || labelOf(mine)))));
}

function focusFirst(element) {
  (element.querySelector("input, textarea") || element.querySelector("button.primary") || element.querySelector("button"))?.focus();
}

const ready = (mine) => !planned(mine) || (mine.plan && mine.planPlace === mine.values.place);
const labelOf = (mine) => (ready(mine) ? mine.context.label || ACTS[mine.order.act].label : "Preview");

function titleOf({ order }) {
  const label = ACTS[order.act].label;
  const what = order.all ? "all parked rows of" : order.key !== undefined ? `parked rows of key ${order.key} of` : order.row !== undefined ? `row ${order.row} of` : "";
  return `${label} ${what} ${order.process}${order.lane !== undefined && order.row === undefined ? `, lane ${order.lane}` : ""}`.replace("  ", " ");
}

function actFields(mine) {
  const { order, context } = mine, tier = tierOf(order);
  return [quiet(ACTS[order.act].says),
    context.headline && h("p.answer", h("strong", context.headline.row), ": ", context.headline.answer || "no answer is known"),
    order.act === "rewind" && field("place", "Deliver next", "start, end, the id of a row, or a time such as 2026-01-31T08:15:00Z", {}),
    mine.plan && planNodes(mine),
    tier === "light" && (context.reason || !mine.quick) && field("reason", "Reason, if there is one", "Kept in the journal, with your name."),
    tier !== "light" && ready(mine) && field("reason", "Reason", "Kept in the journal, with your name.", { required: true, rows: "2" }, "textarea"),
    tier === "wide" && ready(mine) && field("confirm", `Type ${order.process} to confirm`, "The name of the process.", {}),
    tokenField(),
    mine.busy && quiet("An act waits for the call in flight, at most for handler_deadline and a second."),
    h("p.as-command", dim("The same on a terminal: "), copyable(commandOf({ ...order, place: mine.values.place }, mine.values.reason)))];
}

function planNodes(mine) {
  const { text } = mine.plan;
  return h("div.plan", { role: "note" }, quiet("What would happen:"), text.map((line) => h("p", line)),
    !ready(mine) && h("p.error", "This is the plan of another place."));
}

function problemNodes(mine) {
  const { problem } = mine, now = problem.now;
  const lane = now && typeof now === "object" ? now : null;
  const same = lane && (mine.order.act !== "skip" || lane.row === mine.order.row);
  return h("div.problem", { role: "alert" },
    h("p", problem.status === 409 ? h("strong", "Changed meanwhile, nothing was done: ") : null, problem.message),
    typeof now === "number" && h("p", `Now: ${rows(now)}.`),
    lane && h("p", `Now: ${lane.state}${lane.row === null ? "" : ` at row ${lane.row}`}, ${lane.attempts} attempts, epoch ${lane.epoch}.`),
    problem.remedy && quiet(problem.remedy),
    same && button("", () => { mine.order = { ...mine.order, expect: expectation(lane) }; mine.problem = null; redraw(); }, "Go by the new state"));
}

export const isOpen = () => box !== null;
export const mayAct = () => state.me !== null && state.me.may_act;
