#include "simulation/setup.hpp"

namespace seriatim::simulation {

using std::chrono::milliseconds;

namespace {

unsigned small(Random& random, unsigned low, unsigned high) {
  return static_cast<unsigned>(random.between(low, high));
}

/// Most seeds leave a trouble out, so that each is also seen alone.
double sometimes(Random& random, double highest) {
  return random.chance(0.5) ? random.unit() * highest : 0;
}

void draw_config(Setup& setup, Random& random) {
  auto& config = setup.config;
  config.name = "p";
  config.batch_rows = small(random, 1, 12);
  config.commit_every = random.chance(0.4) ? 1 : small(random, 1, config.batch_rows);
  config.on_unknown = random.chance(0.5) ? OnUnknown::retry : OnUnknown::halt;
  config.max_attempts = random.chance(0.5) ? 0 : small(random, 1, 4);
  config.max_crashes = small(random, 0, 3);
  config.backoff = {milliseconds{10}, milliseconds{200}, milliseconds{1'000}};
  config.handler_deadline = milliseconds{500};
  config.max_hold = milliseconds{random.between(1, 300)};
  config.poll_interval_max = milliseconds{random.between(2, 60)};
  config.lease = milliseconds{random.between(300, 3'000)};
  config.standby_interval = milliseconds{random.between(5, 200)};
}

void draw_producers(Setup& setup, Random& random) {
  setup.clock_tick = random.chance(0.5) ? 1 : random.chance(0.5) ? 1'000 : 20'000;
  setup.insert_latency = random.chance(0.3) ? 5 * millisecond : 0;
  // A coarse clock that goes back at all goes back a tick.
  setup.clock_step = setup.clock_tick > setup.insert_latency ? 0 : setup.insert_latency;
  setup.scan_gap_max = random.chance(0.5) ? 100 : 4 * millisecond;
  setup.think_max = random.between(1, 30) * millisecond;
  setup.long_transaction = sometimes(random, 0.4);
  setup.rollback = sometimes(random, 0.3);
  setup.savepoint = sometimes(random, 0.4);
  setup.prepare = sometimes(random, 0.9);
}

void draw_receiver(Setup& setup, Random& random) {
  setup.retry_later = sometimes(random, 0.2);
  setup.unknown = sometimes(random, 0.1);
  setup.poison = sometimes(random, 0.05);
  setup.throws = sometimes(random, 0.05);
  setup.partial = sometimes(random, 0.2);
  setup.bad_payload = sometimes(random, 0.03);
}

void draw_faults(Setup& setup, Random& random) {
  setup.faults = true;
  setup.safety_phase = 20 * second;
  setup.think_max = random.between(3, 1'200) * millisecond;
  setup.async_commit = sometimes(random, 1.0);
  setup.killed = sometimes(random, 0.01);
  setup.vanished = sometimes(random, 0.005);
  setup.frozen = sometimes(random, 0.01);
  setup.cut_off = 0.3;
  setup.answer_lost = sometimes(random, 0.02);
  setup.backend_terminated = random.chance(0.3) ? random.between(1, 5) * second : 0;
  setup.server_crash = random.chance(0.4) ? random.between(500, 8'000) * millisecond : 0;
  setup.crash_in_call = sometimes(random, 0.02);
  setup.operator_act = random.chance(0.5) ? random.between(100, 4'000) * millisecond : 0;
}

/// Whatever instances decide on who is to hold the lane.
void draw_sharing(Setup& setup, Random& random) {
  if (random.chance(0.5)) {
    draw_receiver(setup, random);
    draw_faults(setup, random);
  } else {
    setup.think_max = random.between(3, 200) * millisecond;
    setup.stopped = 0;
  }
  setup.relays = small(random, 2, 4);
  setup.whims = 0.1 * random.unit();
}

/// What no fence can know of, alone in every other seed. Not all is delivered by `--drain`: the
/// audit takes its time.
void draw_meddling(Setup& setup, Random& random) {
  if (random.chance(0.5)) {
    draw_receiver(setup, random);
    draw_faults(setup, random);
  } else {
    setup.safety_phase = 8 * second;
    setup.think_max = random.between(3, 400) * millisecond;
  }
  setup.drain_at_end = false;
  setup.astray = sometimes(random, 0.3);
  setup.astray_max = random.between(10, 3'000) * millisecond;
  if (setup.order == OrderBy::created_at && random.chance(0.5)) {
    setup.lookback = random.between(200, 5'000) * millisecond;
    setup.astray = random.unit();
    setup.ahead_max = random.chance(0.5) ? random.between(1, 2'000) * millisecond : 0;
  }
  setup.clock_leap = random.chance(0.5) ? random.between(20, 5'000) * millisecond : 0;
  if (setup.clock_leap > 0) setup.clock_tick = 1;
  setup.rewinds = random.chance(0.5);
  setup.operator_act = random.between(100, 2'000) * millisecond;
}

/// Failures to park, and people who decide on them; half of the seeds without other faults, some
/// with late rows and rewinds.
void draw_parking(Setup& setup, Random& random) {
  auto& config = setup.config;
  const auto poison = 0.02 + 0.2 * random.unit();
  if (random.chance(0.5)) {
    draw_receiver(setup, random);
    draw_faults(setup, random);
  } else {
    setup.safety_phase = 8 * second;
    setup.think_max = random.between(3, 200) * millisecond;
    setup.retry_later = sometimes(random, 0.1);
  }
  setup.poison = poison;
  setup.operator_act = random.between(50, 1'500) * millisecond;
  if (random.chance(0.25)) {
    setup.drain_at_end = false;
    setup.astray = sometimes(random, 0.3);
    setup.rewinds = random.chance(0.5);
    if (setup.order == OrderBy::created_at && random.chance(0.6)) {
      setup.lookback = random.between(200, 5'000) * millisecond;
    }
  }
  config.on_poison = random.chance(0.75) ? OnPoison::park_key : OnPoison::dead_letter;
  config.max_parked = random.chance(0.7) ? 0 : small(random, 1, 6);
  setup.on_poison_changes = random.chance(0.15);
  setup.keys = small(random, 1, 5);
  setup.keyless = sometimes(random, 0.5);
}

/// From a source of its own, so that the schedules of the other seeds stay what they were.
void draw_late_rows(Setup& setup) {
  Random random(setup.seed * 104'729);
  setup.drain_at_end = false;
  setup.astray = 0.3 * random.unit();
  setup.lookback = random.between(200, 5'000) * millisecond;
}

/// Several calls in flight; half of the seeds without faults, some with failures that are parked.
void draw_flights(Setup& setup, Random& random) {
  auto& config = setup.config;
  if (random.chance(0.5)) {
    draw_receiver(setup, random);
    draw_faults(setup, random);
  } else {
    setup.safety_phase = 8 * second;
    setup.think_max = random.between(1, 30) * millisecond;
  }
  setup.slow = sometimes(random, 0.3);
  config.in_flight = small(random, 2, 8);
  config.window_rows = config.in_flight + config.commit_every + small(random, 0, 40);
  setup.in_flight_changes = random.chance(0.2);
  setup.keys = small(random, 1, 8);
  setup.keyless = sometimes(random, 0.3);
  setup.rewinds = random.chance(0.2);
  if (setup.seed % 5 == 2 && setup.order == OrderBy::created_at) draw_late_rows(setup);
  if (!random.chance(0.4)) return;
  if (!setup.faults) setup.retry_later = sometimes(random, 0.1);
  setup.poison = 0.1 * random.unit();
  setup.operator_act = random.between(50, 1'500) * millisecond;
  config.on_poison = random.chance(0.75) ? OnPoison::park_key : OnPoison::dead_letter;
}

/// Rows that fail for now hold their key; half of the seeds with several calls in flight.
void draw_holding(Setup& setup, Random& random) {
  auto& config = setup.config;
  if (random.chance(0.5)) {
    draw_flights(setup, random);
  } else {
    draw_parking(setup, random);
  }
  setup.retry_later = 0.02 + 0.4 * random.unit();
  setup.poison = sometimes(random, 0.1);
  if (setup.operator_act == 0) setup.operator_act = random.between(50, 1'500) * millisecond;
  config.on_poison = OnPoison::park_key;
  config.on_retry = OnRetry::hold_key;
  config.max_parked = 0;
  config.max_held_keys = random.chance(0.7) ? 1'000 : small(random, 0, 4);
  setup.on_poison_changes = false;
  setup.keys = small(random, 1, 8);
}

std::string rate_text(const char* name, const RateLimit& limit) {
  return limit.rows == 0 ? "" : name + std::to_string(limit.rows) + "/s";
}

/// From a source of its own, so that the schedules of the other seeds stay what they were.
void draw_rates(Setup& setup) {
  Random random(setup.seed * 7'919 + static_cast<std::uint64_t>(setup.profile));
  if (random.chance(0.85)) return;
  if (random.chance(0.7)) setup.config.rate_limit.rows = small(random, 30, 300);
  if (random.chance(0.7)) setup.config.key_rate_limit.rows = small(random, 30, 300);
}

}  // namespace

std::optional<std::string> key_of(const Setup& setup, std::size_t number) {
  if (setup.keys == 0) return std::nullopt;
  Random random(setup.seed * 1'000'003 + number);
  if (random.chance(setup.keyless)) return std::nullopt;
  const auto turn = setup.keys_by_turns ? number : static_cast<std::size_t>(random.next() >> 8);
  return "k" + std::to_string(turn % setup.keys);
}

const char* to_string(Profile profile) {
  switch (profile) {
    case Profile::calm: return "calm";
    case Profile::producers: return "producers";
    case Profile::everything: return "everything";
    case Profile::sharing: return "sharing";
    case Profile::meddling: return "meddling";
    case Profile::parking: return "parking";
    case Profile::flights: return "flights";
    case Profile::holding: return "holding";
  }
  return "?";
}

Setup draw_setup(std::uint64_t seed, Profile profile) {
  Random random(seed * 3 + static_cast<std::uint64_t>(profile) *
                               (profile >= Profile::parking ? 1'000'003 : 1));
  Setup setup;
  setup.seed = seed;
  setup.profile = profile;
  setup.order = random.chance(0.6) ? OrderBy::created_at : OrderBy::id;
  setup.hints = random.chance(0.5);
  setup.drain_at_end = random.chance(0.3);
  setup.relays = small(random, 1, 3);
  setup.producers = small(random, 2, 4);
  setup.slow = sometimes(random, 0.05);
  setup.stopped = sometimes(random, 0.005);
  draw_config(setup, random);
  setup.config.read_ahead = seed % 2 == 0;
  setup.asks_behind = seed % 8 >= 4;
  if (profile != Profile::calm) draw_producers(setup, random);
  if (profile == Profile::everything) {
    draw_receiver(setup, random);
    draw_faults(setup, random);
  }
  if (profile == Profile::sharing) draw_sharing(setup, random);
  if (profile == Profile::meddling) draw_meddling(setup, random);
  if (profile == Profile::parking) draw_parking(setup, random);
  if (profile == Profile::flights) draw_flights(setup, random);
  if (profile == Profile::holding) draw_holding(setup, random);
  draw_rates(setup);
  return setup;
}

std::string describe(const Setup& setup) {
  const auto& config = setup.config;
  return std::string("profile ") + to_string(setup.profile) + ", order by " +
         (setup.order == OrderBy::id ? "id" : "created_at") + ", " + std::to_string(setup.relays) +
         " relays, " + std::to_string(setup.producers) + " producers, batch_rows " +
         std::to_string(config.batch_rows) + ", commit_every " +
         std::to_string(config.commit_every) + ", max_attempts " +
         std::to_string(config.max_attempts) + ", clock tick " + std::to_string(setup.clock_tick) +
         " µs" + (config.read_ahead ? ", reads ahead" : "") +
         (config.in_flight > 1 ? ", in_flight " + std::to_string(config.in_flight) + ", " +
                                     std::to_string(setup.keys) + " keys"
                               : "") +
         (setup.in_flight_changes ? " or 1" : "") + rate_text(", rate_limit ", config.rate_limit) +
         rate_text(", key_rate_limit ", config.key_rate_limit) +
         (setup.asks_behind ? ", asks behind" : "") + (setup.drain_at_end ? ", drain" : "") +
         (setup.faults ? ", faults" : "") + (setup.astray > 0 ? ", rows astray" : "") +
         (setup.clock_leap > 0 ? ", clock leaps" : "") + (setup.rewinds ? ", rewinds" : "") +
         (setup.lookback > 0 ? ", late delivered" : "") +
         (parks(setup) ? std::string(", ") +
                             (config.on_poison == OnPoison::park_key ? "park_key" : "dead_letter") +
                             ", max_parked " + std::to_string(config.max_parked) + ", " +
                             std::to_string(setup.keys) + " keys" +
                             (setup.on_poison_changes ? ", on_poison changes" : "")
                       : "");
}

}  // namespace seriatim::simulation
