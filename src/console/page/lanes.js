// What a lane's report means: whether it stands, how badly, since when, how fast it goes. Pure, but for the memory of rates.

const LONG_CALL_MS = 10_000;
const LONG_WAIT_MS = 1_000;
const RATE_WINDOW_MS = 10_000;

/** What holds a lane up, worst first; a lane that moves has none. */
const STANDS = [
  ["halted", (lane) => lane.state === "halted"],
  ["nobody holds it", (lane) => !lane.holder_alive],
  ["not read", (lane) => lane.not_read !== null],
  ["fenced", (lane) => (lane.state === "fenced" || lane.blockers.length > 0) && fencedFor(lane) >= LONG_WAIT_MS],
  ["retrying", (lane) => lane.state === "retrying"],
  ["waits", (lane) => lane.wait !== null && (lane.wait.cause === "disk_full" || lane.wait.lasted_ms >= LONG_WAIT_MS)],
  ["long call", (lane) => lane.called_for_ms >= LONG_CALL_MS],
  ["barrier", (lane) => lane.barrier !== null && lane.barrier.reached],
  ["paused", (lane) => lane.state === "paused"],
];

const fencedFor = (lane) => Math.max(lane.fenced_for_ms, ...blockers(lane).map((one) => one.age_ms));

export const blockers = (lane) => (lane.blockers.length ? lane.blockers : lane.wait ? lane.wait.blockers : []);

export function trouble(lane) {
  const rank = STANDS.findIndex(([, holds]) => holds(lane));
  return rank < 0 ? null : { rank, word: STANDS[rank][0] };
}

export function standing(lanes) {
  return lanes.map((lane) => ({ lane, trouble: trouble(lane) })).filter((one) => one.trouble)
    .sort((a, b) => a.trouble.rank - b.trouble.rank || (b.lane.lag_ms || 0) - (a.lane.lag_ms || 0));
}

export const keyOf = (lane) => `${lane.process}\u0000${lane.lane}`;

const STORED = ["halted", "retrying", "paused"];

/** What the cursor row has of the lane. Other states, such as idle and fenced, are found by looking, and change all the time. */
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

    /** Rows a second in the window before `now`, for no snapshot comes while nothing changes; null if it is not known. */
  of(lane, now) {
    const points = this.seen.get(keyOf(lane)) || [], last = points.at(-1), end = Math.max(now, last?.at ?? 0);
    const first = points.find((point) => end - point.at <= RATE_WINDOW_MS) || last;
    if (!first || end - points[0].at < 1000) return null;
    return ((last.sequence - first.sequence) * 1000) / Math.max(1000, end - first.at);
  }
}
