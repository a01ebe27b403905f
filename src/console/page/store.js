// What the page knows: who reads, the last snapshot, and what pages have asked for.
import { get } from "./api.js";
import { Rates } from "./lanes.js";

export const state = {
  me: null,
  status: null,     // the last snapshot
  skew: 0,          // the server's clock less ours
  live: false,
  lostAt: null,     // when the stream was lost
  trouble: null,    // why the relay cannot ask the database
  refused: false,   // the relay wants a login
  recount: new Map(),
  filter: "",
};

export const rates = new Rates();
const asked = new Map();
let drawing = false, drawer = () => {};

export function onDraw(draw) {
  drawer = draw;
}

/** Draws once, soon, however often it is called. */
export function redraw() {
  if (drawing) return;
  drawing = true;
  if (document.hidden) setTimeout(drawNow, 250);
  else requestAnimationFrame(drawNow);
}

export function drawNow() {
  drawing = false;
  drawer();
}

export const paused = () => new URLSearchParams(location.search).get("pause") === "1";

/** The server's time now, in ms. */
export const serverNow = () => (paused() || !state.live ? Date.parse(state.status ? state.status.server_now : new Date().toISOString()) : Date.now() + state.skew);

export const elapsed = () => (state.status ? Math.max(0, serverNow() - Date.parse(state.status.looked_at)) : 0);

export function take(status) {
  state.status = status;
  state.skew = Date.parse(status.server_now) - Date.now();
  rates.note(status.lanes, status.looked_at);
  redraw();
}

/** {value, error} of a GET; asked again once it is older than `age` ms. To be called while drawing. */
export function use(path, age = 5_000) {
  let one = asked.get(path);
  if (!one) asked.set(path, (one = { at: -Infinity, value: undefined, error: null, busy: false, used: true }));
  one.used = true;
  if (!one.busy && performance.now() - one.at > age && !(paused() && one.value !== undefined)) fetchInto(path, one);
  return one;
}

async function fetchInto(path, one) {
  one.busy = true;
  try {
    one.value = await get(path);
    one.error = null;
  } catch (error) {
    one.error = error;
    if (error.status === 401) state.refused = true;
  }
  one.busy = false;
  one.at = performance.now();
  redraw();
}

/** After an act, or an entry in the journal: what was read is old. */
export function outdate(part = "") {
  for (const [path, one] of asked) if (path.includes(part)) one.at = -Infinity;
  redraw();
}

export function sweep() {
  for (const [path, one] of asked) {
    if (!one.used && !one.busy) asked.delete(path);
    one.used = false;
  }
}
