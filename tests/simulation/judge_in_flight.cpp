// Several calls in flight: order and overlap by key, and how many calls there are at once.
#include <map>

#include "lab/judge/rules.hpp"
#include "simulation/judge.hpp"

namespace seriatim::simulation {

bool Judge::same_key(const Attempt& a, const Attempt& b) const {
  return seen_.rows[a.row].key == seen_.rows[b.row].key;
}

/// No row comes before one of its key that is before it.
void Judge::on_begun_in_key(const Attempt& attempt, std::size_t rank) {
  for (std::size_t before = 0; before < rank; ++before) {
    if (row_key(before) != row_key(rank) || row_at(before).astray) continue;
    auto& fate = fate_[before];
    if (fate.handled_at || fate.parked_as > 0 || fate.gave_way) continue;
    breach("P2", attempt.begun, name(attempt) + " overtakes row " + id_at(before) + " of its key");
  }
}

/// What is done is kept next to the cursor in its commit, so nobody sends it again who claims
/// later.
void Judge::check_kept() {
  std::map<std::int64_t, const Evidence::Kept*> kept;
  auto next = seen_.kept.begin();
  for (const auto& attempt : seen_.attempts) {
    for (; next != seen_.kept.end() && next->at <= attempt.begun; ++next) kept[next->id] = &*next;
    const auto found = kept.find(attempt.id);
    if (found == kept.end() || attempt.epoch < found->second->epoch) continue;
    if (attempt.epoch != epoch_at(attempt.begun)) continue;
    if (gone_back_between(found->second->epoch, attempt.epoch)) continue;
    breach("P3", attempt.begun, name(attempt) + " is sent again, and was committed as done");
  }
}

void Judge::check_calls_at_once() {
  if (setup_.faults) return;
  lab::judge_calls_at_once(
      seen_.attempts, setup_.config.in_flight, [](const Attempt& attempt) { return attempt.relay; },
      [&](const Attempt& attempt, std::size_t) {
        breach("P10", attempt.begun, name(attempt) + " is one call too many");
      });
}

}  // namespace seriatim::simulation
