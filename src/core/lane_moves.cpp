// What becomes of a call, and what comes next.
#include <algorithm>
#include <utility>

#include "core/lane.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

/// Rows of a key that are put back go out under later numbers, so that none is used twice.
std::uint64_t Lane::numbers_given_up(const Settlement& settlement) const {
  if (mutant(Mutant::numbers_used_again)) return 0;
  const auto* park = std::get_if<Park>(&settlement.fate);
  const auto number = cursor_.sequence + settlement.done.size() + 1;
  const bool of_one_key = !round_.due_rows.empty() && round_.due_rows.front().holds_key;
  return park != nullptr && of_one_key ? std::max(seen_to_, number) - number : 0;
}

/// Over the records that are done, and the rows that queue up to the next one.
Action Lane::settle(std::size_t done, std::size_t rows_ahead, const Moment& moment) {
  calling_ = done;
  const auto end = next_ + done;
  Settlement move{.from = cursor_.position, .done = {}, .queued = {}, .fate = Rest{}};
  move.fate = fate_after(end, rows_ahead, moment);
  move.done.reserve(done);
  for (auto i = next_; i < end; ++i) move.done.push_back(round_.records[i].position);
  for (auto i = next_queued_; i < queued_before(end); ++i) {
    move.queued.push_back(round_.queued[i]);
    move.queued.back().before -= next_;
  }
  move.unused = unused_ = numbers_given_up(move);
  if (move.announces()) {
    uncalled_ = cursor_.sequence + done + move.queued.size() + 1;
    announced_at_ = moment.now;
  }
  if (!move.failed()) {
    cursor_.attempts = move.announces() ? 1 : 0;
  } else if (done > 0) {
    cursor_.attempts = 1;
  }
  return Settle{cursor_.epoch, std::move(move)};
}

/// Of the row after those that are done. Before the next call comes the lease, which a batch of
/// slow rows must not outlast.
Fate Lane::fate_after(std::size_t end, std::size_t rows_ahead, const Moment& moment) {
  if (failure_) return *failure_;
  if (going(moment) || renewal_due(moment)) return Rest{};
  if (end < round_.records.size()) {
    if (!take_tokens(end, moment)) return Rest{};
    return Next{rows_announced(end, queued_before(end)), false};
  }
  if (end == next_ || rows_ahead == 0 || round_.redriven() || pace_.limits()) return Rest{};
  return Next{std::min<std::size_t>(config_.commit_every, rows_ahead), true};
}

/// How many of the rows that queue are before this record.
std::size_t Lane::queued_before(std::size_t record) const {
  const auto& queued = round_.queued;
  const auto end = std::find_if(queued.begin(), queued.end(),
                                [&](const QueuedRow& row) { return row.before > record; });
  return static_cast<std::size_t>(end - queued.begin());
}

/// Halted, or set aside: but not without end, for then the receiver is broken, not the rows.
Fate Lane::poison(const Failed& failed, const std::string& detail) const {
  const auto& [record, outcome, attempts, due] = failed;
  if (config_.on_poison == OnPoison::halt) {
    return Halt{HaltReason::poison, {record.id(), detail}};
  }
  const bool was_parked = due && due->redriven && due->attempts == 0;
  if (!was_parked && !has_room_to_park()) {
    return Halt{HaltReason::poison,
                {record.id(), detail + "; not parked: " + std::to_string(cursor_.parked) +
                                  " failed rows are already (max_parked)"}};
  }
  return Park{record.position, record.key, record.late, config_.on_poison == OnPoison::park_key,
              attempts,        detail};
}

bool Lane::gives_up(unsigned attempts) const {
  return config_.max_attempts > 0 && attempts >= config_.max_attempts;
}

bool Lane::halts_unknown(const Outcome& outcome) const {
  const bool halts = outcome.must_halt || config_.on_unknown == OnUnknown::halt;
  return outcome.kind == Outcome::Kind::unknown && halts;
}

bool Lane::has_room_to_park(unsigned more) const {
  return config_.max_parked == 0 || cursor_.parked + more < config_.max_parked;
}

}  // namespace seriatim::core
