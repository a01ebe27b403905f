// The acts, their tiers, and how each is done on the command line.
import { button, h } from "./dom.js";
import { command, copyable } from "./parts.js";
import { ask, mayAct } from "./dialogs.js";
import { state } from "./store.js";
import { expectation } from "./lanes.js";

/** light: one click. aside: a reason. wide: a preview, a reason and the name of the process. */
export const ACTS = {
  retry: { label: "Retry", tier: "light", says: "Hands the row over again at once." },
  pause: { label: "Pause", tier: "light", says: "Stops handing rows over. Nothing is lost; rows wait." },
  resume: { label: "Resume", tier: "light", says: "Goes on handing rows over." },
  skip: { label: "Set aside", tier: "aside", danger: true, says: "This row is never handed over. The rows behind it go on." },
  redrive: { label: "Redrive", tier: "aside", says: "Hands the parked rows over again, in the order in which they were parked." },
  discard: { label: "Discard", tier: "aside", danger: true, says: "The parked rows are set aside for good." },
  rewind: { label: "Rewind", tier: "wide", danger: true, says: "Moves the cursor, so that another row is delivered next." },
};

export const tierOf = (order) => (order.act === "discard" && order.all ? "wide" : ACTS[order.act].tier);

const idWords = (...words) => (words.some((text) => text.startsWith("-")) ? ["--", ...words] : words);

export function commandOf(order, reason) {
  const why = reason || tierOf(order) !== "light" ? ["--reason", reason || "TEXT"] : [];
  if (order.act === "redrive" || order.act === "discard") {
    const what = order.all ? ["--all"] : order.key !== undefined ? ["--key", order.key] : [];
    return command("parked", order.act, ...why, ...what, ...idWords(order.process, ...(order.row !== undefined ? [order.row] : [])));
  }
  if (order.act === "rewind") return command("rewind", "--to", order.place || "PLACE", "--yes", ...why, ...idWords(order.process));
  const lane = order.lane !== undefined ? ["--lane", String(order.lane)] : [];
  return command(order.act, ...lane, ...why, ...idWords(order.process, ...(order.act === "skip" ? [order.row] : [])));
}

export function actButton(order, context = {}, props = {}) {
  const one = ACTS[order.act], light = tierOf(order) === "light";
  const text = context.label || one.label;
  return button("", () => ask(order, context), light ? text : text + "…", { key: order.act, ...props });
}

export function actRows(offers) {
  return h("ul.acts", offers.map(({ order, context, primary }) => h("li", { key: order.act },
    mayAct() && h("span.pair",
      actButton(order, context, { class: primary && "primary" }),
      tierOf(order) === "light" && button(".plain", () => ask(order, { ...context, reason: true }), "with a reason…", { "aria-label": `${ACTS[order.act].label} with a reason` })),
    copyable(commandOf(order)))));
}

export function offersOf(lane) {
  const order = (act, more) => ({ process: lane.process, act, lane: lane.lane, expect: expectation(lane), ...more });
  const context = { headline: lane.row === null ? null : { row: lane.row, answer: lane.detail, lane } };
  if (lane.state === "paused") return [{ order: order("resume"), context, primary: true }];
  const offers = [];
  if (lane.state === "halted" || lane.state === "retrying") {
    offers.push({ order: order("retry"), context, primary: true });
    if (lane.row !== null) offers.push({ order: order("skip", { row: lane.row, lane: undefined }), context });
  }
  if (lane.state !== "halted") offers.push({ order: order("pause"), context });
  return offers;
}
