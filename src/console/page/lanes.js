// What a lane's report means: how badly it is stopped, what to expect of it, how fast it goes. Pure, but for the memory of rates.

const RATE_WINDOW_MS = 10_000;

/** The worst first: how the relay says why a lane is stopped. */
const STALLS = ["halted", "nobody holds it", "not read", "fenced", "retrying", "waits", "long call", "barrier", "paused"];

export const blockers = (lane) => (lane.blockers.length ? lane.blockers : lane.wait ? lane.wait.blockers : []);

export const stalled = (lanes) => lanes.filter((lane) => lane.stall).sort((a, b) => STALLS.indexOf(a.stall) - STALLS.indexOf(b.stall) || (b.lag_ms || 0) - (a.lag_ms || 0));

export const keyOf = (lane) => `${lane.process}\u0000${lane.lane}`;

const STORED = ["halted", "retrying", "paused"];

/** What the cursor row has of the lane. Other states, such as idle and fenced, are found when somebody reads, and change all the time. */
export function expectation(lane) {
  const { epoch, state, attempts } = lane;
  return STORED.includes(state) ? { lane: lane.lane, epoch, state, row: lane.row ?? "", attempts } : { lane: lane.lane, epoch };
}

/** Rates of lanes from the differences of their sequences. A change of the epoch begins anew. */
export class Rates {
  constructor() {
    this.seen = new Map();
  }

  note(lanes, at) {
    const now = Date.parse(at), there = new Set();
    for (const lane of lanes) {
      const key = keyOf(lane);
      there.add(key);
      let points = this.seen.get(key);
      if (!points || points[0].epoch !== lane.epoch || points.at(-1).sequence > lane.sequence) this.seen.set(key, (points = []));
      const last = points.at(-1);
      if (last && last.at >= now) continue;
      const moved = last ? (lane.sequence > last.sequence ? now : last.moved) : null;
      points.push({ at: now, sequence: lane.sequence, epoch: lane.epoch, moved });
      while (points.length > 2 && now - points[1].at >= RATE_WINDOW_MS) points.shift();
    }
    for (const key of this.seen.keys()) if (!there.has(key)) this.seen.delete(key);
  }

  moved(lane) {
    return this.seen.get(keyOf(lane))?.at(-1).moved;
  }

  /** Rows a second in the window before `now`; null if it is not known. */
  of(lane, now) {
    const points = this.seen.get(keyOf(lane)) || [], last = points.at(-1), end = Math.max(now, last?.at ?? 0);
    const first = points.find((point) => end - point.at <= RATE_WINDOW_MS) || last;
    if (!first || end - points[0].at < 1000) return null;
    return ((last.sequence - first.sequence) * 1000) / Math.max(1000, end - first.at);
  }
}
