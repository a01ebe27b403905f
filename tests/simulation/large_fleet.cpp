// A fleet of any size whose instances come and go while rows come: how soon its lanes are even
// again, how many of them move, and how often the instances read of one another.
#include <algorithm>
#include <numeric>

#include "simulation/fleet.hpp"

namespace seriatim::simulation {

using std::chrono::milliseconds;

namespace {

/// What users read (docs/operations.md).
constexpr Micros even_within = 5 * second;
constexpr milliseconds lease{10'000};
constexpr Micros lease_time = 10 * second;
constexpr Micros calm_time = 3 * second;

/// The defaults of the configuration, and rows for the whole time of it. Nothing fails by itself,
/// but instances are killed: rows may be repeated where one was.
Setup steady_lane(std::uint64_t seed, unsigned instances, Sabotage sabotage) {
  auto setup = draw_setup(seed, Profile::calm);
  setup.fleet = true;
  setup.sabotage = sabotage;
  setup.faults = true;
  setup.drain_at_end = false;
  setup.stopped = setup.slow = 0;
  setup.relays = instances;
  setup.producers = 1;
  setup.rows_max = 60;
  setup.think_max = 3 * second;
  setup.config.poll_interval_max = milliseconds{200};
  setup.config.max_hold = milliseconds{1'000};
  setup.config.lease = lease;
  setup.config.standby_interval = milliseconds{300};
  return setup;
}

}  // namespace

Fleet::Fleet(std::uint64_t seed, Size size, Sabotage sabotage)
    : random_(seed), size_(size), sabotage_(sabotage), calm_(false) {
  set_up(
      [&](unsigned lane) { return steady_lane(seed * 100'003 + lane, size.instances, sabotage); });
}

Fleet::Growth Fleet::grow_and_shrink() {
  const auto all = instances_.size(), half = all / 2, tenth = std::max<std::size_t>(all / 10, 1);
  faults_over_ = true;  // of this fleet: its lanes go on getting rows
  for (auto& lane : lanes_) lane->start();
  const auto kill = [&](std::size_t from, std::size_t count, bool noticed) {
    for (auto i = from; i < from + count; ++i) die(i, noticed);
  };
  struct Step {
    std::string what;
    Micros within;
    std::function<void()> act;
  };
  const std::vector<Step> steps{
      {"half of them start at once", even_within, [&] { come_one_by_one(0, half); }},
      {"one joins", even_within, [&] { come_one_by_one(half, half + 1); }},
      {"the other half joins", even_within, [&] { come_one_by_one(half + 1, all); }},
      {"one is killed", even_within, [&] { kill(0, 1, true); }},
      {"a tenth is killed", even_within, [&] { kill(1, tenth, true); }},
      {"a host is gone", lease_time + even_within, [&] { kill(1 + tenth, 1, false); }},
      {"half are deployed anew", even_within, [&] { deploy_anew(half); }},
      {"half are stopped", even_within,
       [&] {
         for (std::size_t i = 0; i < half; ++i) {
           if (runs(all - 1 - i)) stop(all - 1 - i);
         }
       }},
  };
  Growth growth;
  for (const auto& [what, within, act] : steps) {
    const auto taken = turn(what, within, act);
    if (!taken) {
      growth.violation =
          Violation{"even", now_, "uneven, or still moving, after " + what + ": " + shares_text()};
      return growth;
    }
    growth.turns.push_back(*taken);
  }
  for (auto& lane : lanes_) lane->end_faults();
  const bool at_rest = until(60 * second, &Fleet::all_at_rest);
  for (auto& lane : lanes_) {
    growth.rows += lane->stage().evidence.rows.size();
    if (!growth.violation) growth.violation = lane->verdict(at_rest && lane->is_at_rest());
  }
  return growth;
}

/// Within half a second, as an orchestrator starts them.
void Fleet::come_one_by_one(std::size_t from, std::size_t to) {
  std::vector<Micros> times(to - from);
  for (auto& time : times) time = now_ + random_.between(0, second / 2);
  std::sort(times.begin(), times.end());
  for (auto i = from; i < to; ++i) {
    while (now_ < times[i - from]) step();
    join(i);
  }
}

/// One after the other is stopped and started again, as a rolling deployment does.
void Fleet::deploy_anew(std::size_t count) {
  for (std::size_t i = instances_.size(); count > 0 && i-- > 0;) {
    if (!runs(i)) continue;
    stop(i);
    pass(second);
    join(i);
    pass(second / 10);
    --count;
  }
}

/// Nothing moves any more once the lanes are even.
std::optional<Fleet::Turn> Fleet::turn(const std::string& what, Micros within,
                                       const std::function<void()>& act) {
  Turn result{what, 0, 0, 0, 0};
  const auto before = hand_overs();
  act();
  const auto since = now_;
  if (!until(within, &Fleet::even)) return std::nullopt;
  result.even_after = now_ - since;
  pass(second);
  const auto moved = hand_overs();
  const auto reads = reads_;
  pass(calm_time);
  if (hand_overs() != moved || !even()) return std::nullopt;
  result.moved = moved - before;
  result.looks_per_s = static_cast<double>(reads_ - reads) * static_cast<double>(second) /
                       static_cast<double>(calm_time);
  for (std::size_t i = 0; i < instances_.size(); ++i) result.instances += runs(i);
  return result;
}

}  // namespace seriatim::simulation
