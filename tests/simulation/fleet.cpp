#include "simulation/fleet.hpp"

#include <algorithm>

namespace seriatim::simulation {

using std::chrono::milliseconds;

namespace {

constexpr Micros tick = 10 * millisecond;
constexpr Micros report_interval = second;
constexpr Micros silence_max = 3 * second;
constexpr Micros safety_phase = 20 * second;
constexpr Micros liveness_bound = 60 * second;
/// Until the last fault is over for everyone: leases, the server's patience with a frozen call, and
/// lanes kept because nobody took them.
constexpr Micros aftermath = 25 * second;
/// What users read (docs/operations.md).
constexpr Micros even_within = 5 * second;
constexpr core::LaneAssignment::Times times{milliseconds{5'000}, milliseconds{8'000}};
constexpr core::LaneAssignment::Times never_orphaned{milliseconds{1'000'000}, milliseconds{0}};

core::Time time_of(Micros now) {
  return core::Time(std::chrono::hours(1) + std::chrono::microseconds(now));
}

Setup lane_setup(std::uint64_t seed, bool calm, unsigned instances, Sabotage sabotage) {
  auto setup = draw_setup(seed, calm ? Profile::calm : Profile::sharing);
  setup.fleet = true;
  setup.sabotage = sabotage;
  setup.whims = setup.killed = setup.vanished = setup.frozen = setup.stopped = 0;
  setup.server_crash = 0;  // lanes share a server: it does not crash for one of them
  setup.crash_in_call = 0;
  setup.faults = !calm;
  setup.drain_at_end = false;
  setup.relays = instances;
  setup.producers = 1;
  setup.rows_max = 30;
  setup.slow = 0;
  setup.safety_phase = safety_phase;
  setup.config.standby_interval = milliseconds{100 + static_cast<int>(seed % 200)};
  return setup;
}

}  // namespace

Fleet::Fleet(std::uint64_t seed, bool calm, Sabotage sabotage)
    : random_(seed), sabotage_(sabotage), calm_(calm) {
  size_.lanes = static_cast<unsigned>(random_.between(2, 9));
  size_.instances = static_cast<unsigned>(random_.between(2, 6));
  one_cut_off_ = !calm && random_.chance(0.2);
  set_up([&](unsigned lane) {
    return lane_setup(seed * 1'009 + lane, calm, size_.instances, sabotage);
  });
}

void Fleet::set_up(const std::function<Setup(unsigned lane)>& setup) {
  for (unsigned lane = 0; lane < size_.lanes; ++lane) {
    lanes_.push_back(std::make_unique<World>(setup(lane), false, nullptr));
  }
  instances_.resize(size_.instances);
}

Fleet::Outcome Fleet::live() {
  for (auto& lane : lanes_) lane->start();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (i == 0 || random_.chance(0.5)) join(i);
  }
  pass(safety_phase);
  end_faults();
  pass(aftermath);
  somebody_runs();
  Outcome outcome;
  outcome.violation = come_and_go();
  const bool at_rest = until(liveness_bound, &Fleet::all_at_rest);
  for (auto& lane : lanes_) {
    if (outcome.violation) break;
    outcome.violation = lane->verdict(at_rest && lane->is_at_rest());
  }
  for (auto& lane : lanes_) outcome.rows += lane->stage().evidence.rows.size();
  outcome.hand_overs = hand_overs();
  outcome.slowest = slowest_;
  return outcome;
}

// --- time ----------------------------------------------------------------------------------------

void Fleet::pass(Micros time) {
  for (const auto end = now_ + time; now_ < end;) step();
}

bool Fleet::until(Micros time, bool (Fleet::*fact)() const) {
  for (const auto end = now_ + time; now_ < end && !(this->*fact)();) step();
  return (this->*fact)();
}

void Fleet::step() {
  now_ += tick;
  for (auto& lane : lanes_) lane->pass_until(now_);
  if (!faults_over_) trouble();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (runs(i)) act(instances_[i], i);
  }
}

/// About one a second, of whatever kind.
void Fleet::trouble() {
  if (!random_.chance(0.01)) return;
  const auto number = static_cast<std::size_t>(random_.between(0, size_.instances - 1));
  auto& instance = instances_[number];
  if (!runs(number)) return join(number);
  switch (calm_ ? random_.between(0, 1) : random_.between(0, 6)) {
    case 0: return stop(number);
    case 1: instance.silent_until = now_ + random_.between(1, 8) * second; return;
    case 2: return die(number, true);
    case 3: return die(number, false);
    case 4: instance.cut_off = !instance.cut_off; break;
    default:
      instance.frozen_until = now_ + random_.between(10, 8'000) * millisecond;
      for (auto& lane : lanes_) lane->relay(number).freeze(instance.frozen_until - now_);
  }
  for (auto& lane : lanes_) lane->relay(number).cut_off(instance.cut_off);
}

// --- instances -----------------------------------------------------------------------------------

/// A new process: nothing of an earlier one is left but what the server still holds for it.
void Fleet::join(std::size_t number) {
  auto& instance = instances_[number];
  for (auto& lane : lanes_) {
    if (lane->relay(number).is_running()) return;  // its last calls are still in flight
  }
  const auto life = instance.life + 1;
  instance = Instance{};
  instance.life = life;
  instance.name = std::to_string(number) + "." + std::to_string(life);
  instance.share = std::make_unique<core::LaneAssignment>(
      instance.name, size_.lanes, sabotage_ == Sabotage::orphans_left ? never_orphaned : times);
  for (auto& lane : lanes_) {
    lane->relay(number).want(false);
    lane->relay(number).run();
  }
}

void Fleet::act(Instance& instance, std::size_t number) {
  if (now_ < instance.frozen_until || now_ < instance.silent_until) return;
  if (instance.decided) {
    for (unsigned lane = 0; lane < size_.lanes; ++lane) {
      lanes_[lane]->relay(number).want((*instance.decided)[lane]);
    }
    instance.decided.reset();
  }
  if (now_ >= instance.read_at) look(instance);
}

void Fleet::look(Instance& instance) {
  ++reads_;
  const auto number = static_cast<std::size_t>(&instance - instances_.data());
  for (auto& lane : lanes_) lane->relay(number).see_lease();
  instance.decided = instance.share->decide(membership_for(instance), time_of(now_));
  if (now_ >= instance.tell_at) {
    instance.reported_at = now_;
    instance.tell_at = now_ + report_interval;
  }
  const auto& config = lanes_[0]->stage().setup.config;
  const auto pause = instance.share->until_next_read(config.standby_interval);
  instance.read_at = now_ + std::chrono::microseconds(pause).count();
}

/// A lane's holder is known by the name of the instance, if it is this life's relay.
Membership Fleet::membership_for(const Instance& instance) const {
  Membership membership;
  if (sabotage_ == Sabotage::instances_unseen) {
    membership.lanes.resize(size_.lanes);
    for (auto& lane : membership.lanes) lane = {"", true};
    return membership;
  }
  for (const auto& other : instances_) {
    if (counts(other)) membership.instances.push_back(other.name);
  }
  membership.instances.push_back(instance.name);
  for (const auto& lane : lanes_) {
    Membership::Lane seen{lane->cursors().holder(), lane->cursors().seems_free()};
    if (const auto holder = holder_of(*lane)) seen.holder = instances_[*holder].name;
    membership.lanes.push_back(std::move(seen));
  }
  return membership;
}

bool Fleet::counts(const Instance& instance) const {
  const bool noticed = instance.gone_at && now_ >= *instance.gone_at;
  return instance.reported_at && now_ < *instance.reported_at + silence_max && !noticed;
}

void Fleet::die(std::size_t number, bool noticed) {
  auto& instance = instances_[number];
  instance.share.reset();
  if (noticed) instance.gone_at = now_;
  for (auto& lane : lanes_) lane->relay(number).kill(noticed);
}

void Fleet::stop(std::size_t number) {
  auto& instance = instances_[number];
  instance.share.reset();
  instance.reported_at.reset();
  for (auto& lane : lanes_) lane->relay(number).stop();
}

// --- without faults ------------------------------------------------------------------------------

void Fleet::end_faults() {
  faults_over_ = true;
  for (auto& lane : lanes_) lane->end_faults();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    auto& instance = instances_[i];
    instance.cut_off = one_cut_off_ && i == 0;
    instance.silent_until = 0;
    for (auto& lane : lanes_) lane->relay(i).cut_off(instance.cut_off);
  }
  somebody_runs();
}

/// The one that is cut off, and another; or one at least.
void Fleet::somebody_runs() {
  if (!runs(0)) join(0);
  if (!one_cut_off_) return;
  for (auto& lane : lanes_) lane->relay(0).cut_off(true);
  if (!runs(1)) join(1);
}

/// One joins, one is killed and one is stopped, each once the lanes are even.
std::optional<Violation> Fleet::come_and_go() {
  if (one_cut_off_) return std::nullopt;  // it has a share that it cannot take
  if (auto violation = demand_even("the faults", even_within)) return violation;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (runs(i)) continue;
    join(i);
    if (!runs(i)) continue;
    if (auto violation = demand_even("one joined", even_within)) return violation;
    break;
  }
  const auto running = [&] {
    return std::count_if(instances_.begin(), instances_.end(),
                         [](const auto& one) { return one.share != nullptr; });
  };
  for (const bool killed : {true, false}) {
    if (running() < 2 || (killed && calm_)) continue;
    auto last = instances_.size();
    while (!runs(--last)) {
    }
    killed ? die(last, true) : stop(last);
    const auto* after = killed ? "one was killed" : "one was stopped";
    if (auto violation = demand_even(after, even_within)) return violation;
  }
  return std::nullopt;
}

/// … and nothing moves any more.
std::optional<Violation> Fleet::demand_even(const std::string& after, Micros within) {
  const auto since = now_;
  if (!until(within, &Fleet::even)) {
    return Violation{"even", now_, "uneven 5 s after " + after + ": " + shares_text()};
  }
  slowest_ = std::max(slowest_, now_ - since);
  pass(second);
  const auto moved = hand_overs();
  pass(3 * second);
  if (hand_overs() != moved || !even()) {
    return Violation{"even", now_, "lanes still move after " + after + ": " + shares_text()};
  }
  return std::nullopt;
}

std::vector<unsigned> Fleet::held() const {
  std::vector<unsigned> held(instances_.size(), 0);
  for (const auto& lane : lanes_) {
    if (const auto holder = holder_of(*lane)) held[*holder] += 1;
  }
  return held;
}

/// The instance whose relay holds the lane, if it lives still. Its name holds its number.
std::optional<std::size_t> Fleet::holder_of(const World& lane) const {
  const auto& name = lane.cursors().holder();
  if (name.empty()) return std::nullopt;
  const auto number = std::stoul(name.substr(name.find('-') + 1)) - 1;
  const auto& relay = lane.relay(number);
  return relay.is_running() && relay.name() == name ? std::optional(number) : std::nullopt;
}

bool Fleet::even() const {
  const auto all = held();
  unsigned least = size_.lanes, most = 0, sum = 0;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (!runs(i)) continue;  // what one that stops holds still is held by nobody who counts
    sum += all[i];
    most = std::max(most, all[i]);
    least = std::min(least, all[i]);
  }
  return sum == size_.lanes && most - least <= 1;
}

bool Fleet::all_at_rest() const {
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [](const auto& one) { return one->is_at_rest(); });
}

std::size_t Fleet::hand_overs() const {
  std::size_t sum = 0;
  for (const auto& lane : lanes_) {
    const auto& changes = lane->stage().evidence.take_overs;
    sum += static_cast<std::size_t>(
        std::count_if(changes.begin(), changes.end(), [](const auto& t) { return t.relay != 0; }));
  }
  return sum;
}

std::string Fleet::shares_text() const {
  std::string text = std::to_string(size_.lanes) + " lanes, held";
  const auto all = held();
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    text += " " + (runs(i) ? std::to_string(all[i]) : "(" + std::to_string(all[i]) + ")");
  }
  return text;
}

}  // namespace seriatim::simulation
