#include "core/lane_assignment.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/ensure.hpp"

namespace seriatim::core {

using std::chrono::milliseconds;

namespace {

/// Between two reads of any two instances. A read costs the server 3 ms if it has a thousand
/// connections (docs/scaling.md): a third of a core.
constexpr milliseconds read_spacing{10};

}  // namespace

std::vector<unsigned> fair_shares(unsigned lanes, const std::vector<unsigned>& held) {
  const auto count = static_cast<unsigned>(held.size());
  if (count == 0) return {};
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return held[a] > held[b]; });
  std::vector<unsigned> shares(held.size(), lanes / count);
  for (unsigned odd = 0; odd < lanes % count; ++odd) shares[order[odd]] += 1;
  return shares;
}

/// What one read showed, counted. Instances are identified by their place among the names.
struct LaneAssignment::Count {
  std::vector<std::string> names;
  std::size_t ours = 0;
  std::vector<std::optional<std::size_t>> owner;  ///< by lane: an instance that runs
  std::vector<unsigned> held;
  std::vector<unsigned> share;

  /// Nobody holds it, or one that has lost it and has its share without it.
  [[nodiscard]] bool may_be_taken(const Membership::Lane& lane, std::size_t number) const {
    const auto& by = owner[number];
    return lane.free && (!by || (*by != ours && held[*by] > share[*by]));
  }

  /// How many lanes those named before us have still to take.
  [[nodiscard]] std::size_t missing_before_us() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < ours; ++i) sum += share[i] > held[i] ? share[i] - held[i] : 0;
    return sum;
  }
};

LaneAssignment::LaneAssignment(std::string instance, unsigned lanes, Times times)
    : instance_(std::move(instance)),
      lanes_(lanes),
      times_(times),
      wanted_(lanes, false),
      free_since_(lanes) {}

const std::vector<bool>& LaneAssignment::decide_blindly() {
  wanted_.assign(lanes_, true);
  free_since_.assign(lanes_, std::nullopt);
  holds_all_ = false;
  return wanted_;
}

const std::vector<bool>& LaneAssignment::decide(const Membership& membership, Time now) {
  if (membership.cut_otherwise) return decide_blindly();  // the claims say so, as they always did
  ensure(membership.lanes.size() == lanes_, "a list of who runs a process names each lane");
  const auto counted = count(membership);
  const auto held = counted.held[counted.ours];
  const auto share = counted.share[counted.ours];
  const auto before = wanted_;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    wanted_[lane] = counted.owner[lane] == counted.ours;
  }
  if (held > share && now >= kept_until_) give_up(counted, held - share);
  if (held < share) go_for(membership, counted, before, share - held);
  adopt_orphans(membership, counted, now);
  holds_all_ = held == lanes_;
  instances_ = static_cast<unsigned>(counted.names.size());
  return wanted_;
}

milliseconds LaneAssignment::until_next_read(milliseconds standby) const {
  if (holds_all_) return report_interval;
  return std::max(standby, std::min(report_interval, read_spacing * instances_));
}

LaneAssignment::Count LaneAssignment::count(const Membership& membership) const {
  Count result;
  result.names = membership.instances;
  result.names.push_back(instance_);
  std::sort(result.names.begin(), result.names.end());
  result.names.erase(std::unique(result.names.begin(), result.names.end()), result.names.end());
  const auto place = [&](const std::string& name) -> std::optional<std::size_t> {
    const auto found = std::lower_bound(result.names.begin(), result.names.end(), name);
    if (found == result.names.end() || *found != name) return std::nullopt;
    return static_cast<std::size_t>(found - result.names.begin());
  };
  result.ours = *place(instance_);
  result.held.assign(result.names.size(), 0);
  for (const auto& lane : membership.lanes) {
    result.owner.push_back(place(lane.holder));
    if (result.owner.back()) result.held[*result.owner.back()] += 1;
  }
  result.share = fair_shares(lanes_, result.held);
  return result;
}

/// The highest ones: the same at the next read, however long a call keeps one of them.
void LaneAssignment::give_up(const Count& count, unsigned surplus) {
  for (auto lane = lanes_; lane-- > 0 && surplus > 0;) {
    if (count.owner[lane] != count.ours) continue;
    wanted_[lane] = false;
    --surplus;
  }
}

/// First what we went for before and may have got since. Then, of what may be taken, what those
/// named before us leave: who sees the same takes nothing that another goes for.
void LaneAssignment::go_for(const Membership& membership, const Count& count,
                            const std::vector<bool>& before, unsigned missing) {
  std::vector<unsigned> takeable;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if (count.may_be_taken(membership.lanes[lane], lane)) takeable.push_back(lane);
  }
  const auto first = count.missing_before_us();
  for (const bool again : {true, false}) {
    for (std::size_t i = 0; i < takeable.size() && missing > 0; ++i) {
      const auto lane = takeable[(first + i) % takeable.size()];
      if (before[lane] != again) continue;
      wanted_[lane] = true;
      --missing;
    }
  }
}

void LaneAssignment::adopt_orphans(const Membership& membership, const Count& count, Time now) {
  auto holding = std::count(wanted_.begin(), wanted_.end(), true);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    auto& since = free_since_[lane];
    if (!membership.lanes[lane].free) {
      since.reset();
      continue;
    }
    if (!since) since = now;
    if (now - *since < times_.orphaned_after || wanted_[lane]) continue;
    if (count.owner[lane] == count.ours) continue;  // free for the taking of others
    wanted_[lane] = true;
    if (++holding > count.share[count.ours]) kept_until_ = now + times_.kept_for;
  }
}

}  // namespace seriatim::core
