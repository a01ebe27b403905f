#include "simulation/world.hpp"

#include <algorithm>
#include <set>

#include "simulation/one_lane.hpp"

namespace seriatim::simulation {

namespace {

constexpr Micros liveness_bound = 60 * second;
/// Until people have examined one row behind the cursor and decided on it.
constexpr Micros decided_within = 5 * second;
constexpr unsigned actions_per_idle_second_max = 2'500;
constexpr unsigned drains_max = 60;

}  // namespace

World::World(const Setup& setup, bool traced, testing::Choices* choices)
    : stage_(setup, traced, choices),
      server_(stage_),
      receiver_(stage_),
      operators_(stage_, server_, receiver_) {
  stage_.operator_act = [this] { operators_.act_once(); };
  for (unsigned i = 0; i < setup.producers; ++i) producers_.emplace_back(stage_, server_);
  for (unsigned i = 0; i < setup.relays; ++i) {
    relays_.emplace_back(stage_, server_, receiver_, i + 1);
    auditors_.emplace_back(stage_, server_, relays_.back());
  }
}

void World::start() {
  server_.start();
  operators_.start();
  for (auto& producer : producers_) producer.start();
  for (auto& auditor : auditors_) auditor.start();
  for (auto& relay : relays_) {
    relay.keep_restarting(!stage_.setup.fleet);
    if (stage_.setup.fleet) continue;
    stage_.scheduler.after(stage_.random.between(0, 300 * millisecond), [&relay] { relay.run(); });
  }
}

/// Time passes until the fact holds, at most `time`; answers whether it holds.
bool World::until(Micros time, const std::function<bool()>& fact) {
  const auto latest = std::min(stage_.now() + time, end_);
  while (!fact() && stage_.now() < latest) {
    stage_.scheduler.run_until(std::min(stage_.now() + 20 * millisecond, latest),
                               [] { return false; });
  }
  return fact();
}

std::optional<Violation> World::live(Micros end) {
  end_ = end;
  start();
  const bool space = stage_.choices != nullptr;  // at rest nothing new can be tried
  until(stage_.setup.safety_phase,
        [&] { return space && all_rows_are_there() && nothing_waits() && none_goes_out_again(); });
  end_faults();
  const bool at_rest = stage_.setup.drain_at_end ? stop_all() && drain() : come_to_rest();
  return verdict(at_rest);
}

void World::end_faults() {
  stage_.faults_over = true;
  stage_.trace(stage_.now(), "world", [] { return std::string("the faults are over"); });
  operators_.watch_act();
}

std::optional<Violation> World::verdict(bool at_rest) const {
  if (auto violation = judge(stage_.setup, stage_.evidence, at_rest)) return violation;
  if (!at_rest) return stuck("rows still wait long after the last fault");
  return busy();
}

bool World::nothing_waits() const {
  return server_.is_up() && server_.table().open_transactions() == 0 &&
         server_.table().rows_after(server_.cursors().row().position).empty();
}

bool World::nobody_runs() const {
  return std::none_of(relays_.begin(), relays_.end(),
                      [](const Relay& r) { return r.is_running(); });
}

bool World::come_to_rest() {
  const bool decisions = stage_.setup.astray > 0 || stage_.setup.clock_leap > 0;
  const auto rows = static_cast<Micros>(decisions ? stage_.evidence.rows.size() : 0);
  until(liveness_bound + rows * decided_within,
        [this] { return nothing_waits() && all_decided_on() && rows_astray_are_accounted_for(); });
  const bool rested = nothing_waits() && all_decided_on();
  pass(second);
  return rested;
}

/// By what is seen from outside: whether the relays know of them is for the checkers to ask.
bool World::rows_astray_are_accounted_for() const {
  const auto& seen = stage_.evidence;
  if (stage_.setup.astray == 0 && stage_.setup.clock_leap == 0) return true;
  std::set<std::int64_t> done;
  for (const auto& attempt : seen.attempts) {
    if (attempt.accepted) done.insert(attempt.id);
  }
  for (const auto& skip : seen.skips) done.insert(skip.id);
  for (const auto& removal : seen.removals) done.insert(removal.id);
  for (const auto& move : seen.moves) done.insert(move.done.begin(), move.done.end());
  return std::all_of(seen.rows.begin(), seen.rows.end(), [&](const auto& row) {
    return !row.astray || !row.committed || row.lost_at || done.contains(row.id);
  });
}

/// SIGTERM to all; a frozen one hears it when it thaws.
bool World::stop_all() {
  for (auto& relay : relays_) {
    relay.keep_restarting(false);
    relay.stop();
  }
  const bool stopped = until(liveness_bound, [this] { return nobody_runs(); });
  pass(std::chrono::microseconds(core::Lane::call_lease(stage_.setup.config)).count());
  return stopped;
}

/// `run --drain` delivers all there is, or leaves at a row only an operator can get it past.
bool World::drain() {
  auto& relay = relays_.front();
  for (unsigned i = 0; i < drains_max; ++i) {
    relay.run(true);
    if (!until(liveness_bound, [this] { return nobody_runs(); })) return false;
    if (nothing_waits() && all_decided_on()) return true;
    const bool waits = relay.left_as() == LaneState::halted ||
                       relay.left_as() == LaneState::paused || !all_decided_on();
    if (!waits) return false;
    pass(second);
  }
  return false;
}

std::optional<Violation> World::stuck(const std::string& what) const {
  return Violation{"liveness", stage_.now(), what};
}

std::optional<Violation> World::busy() const {
  for (const auto& relay : relays_) {
    if (relay.busiest_second() <= actions_per_idle_second_max) continue;
    return stuck("a relay did " + std::to_string(relay.busiest_second()) +
                 " things in a second in which nothing moved");
  }
  return std::nullopt;
}

Result::Meddled& Result::Meddled::operator+=(const Meddled& other) {
  late_halts += other.late_halts;
  clock_halts += other.clock_halts;
  late_skips += other.late_skips;
  moved_rows += other.moved_rows;
  jumps += other.jumps;
  times_back += other.times_back;
  return *this;
}

namespace {

Result::Meddled meddled_with(const Evidence& seen) {
  using By = Evidence::Move::By;
  Result::Meddled meddled;
  for (const auto& halt : seen.halts) {
    meddled.late_halts += halt.reason == HaltReason::late_row;
    meddled.clock_halts += halt.reason == HaltReason::clock_back;
  }
  for (const auto& move : seen.moves) {
    meddled.late_skips += move.by == By::skip && move.to == move.from;
    meddled.jumps += move.by == By::rewind && !move.back;
    meddled.times_back += move.back;
  }
  for (const auto& row : seen.rows) meddled.moved_rows += row.moved_at.has_value();
  meddled.moved_rows += seen.removals.size();
  return meddled;
}

Result run_in(World& world) {
  Result result;
  result.violation = world.live(std::numeric_limits<Micros>::max());
  const auto& rows = world.stage().evidence.rows;
  result.rows = static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.committed; }));
  result.attempts = world.stage().evidence.attempts.size();
  result.meddled = meddled_with(world.stage().evidence);
  return result;
}

}  // namespace

Result run(const Setup& setup) {
  World world(setup, false, nullptr);
  return run_in(world);
}

Result run(const Setup& setup, testing::Choices& choices) {
  World world(setup, false, &choices);
  return run_in(world);
}

std::string tell(const Setup& setup, Micros end, testing::Choices* choices) {
  World world(setup, true, choices);
  (void)world.live(end);
  return world.stage().trace.text();
}

}  // namespace seriatim::simulation
