#include "runtime/lane_session.hpp"

#include <algorithm>
#include <utility>

#include "core/queueing.hpp"

namespace seriatim::runtime {

LaneSession::LaneSession(Source& source, const LaneId& lane, const ProcessConfig& config,
                         const std::string& holder, Waker& waker)
    : lane_(source.open(lane, config, holder, waker)),
      aside_(store(), reader()),
      sets_rows_aside_(config.on_poison != OnPoison::halt) {}

Claim LaneSession::claim() {
  reader().forget();
  batch_ = {};
  auto answer = store().claim();
  const bool anew = answer.cursor.epoch != std::exchange(epoch_, answer.cursor.epoch);
  barrier_ = answer.cursor.barrier;
  if (answer.granted) reader().claimed(epoch_, anew);
  aside_.load(answer.has_parked);
  return answer;
}

Cursor LaneSession::read_cursor() {
  reader().forget();
  auto cursor = store().read_cursor();
  barrier_ = cursor.barrier;
  return cursor;
}

// --- rows ---------------------------------------------------------------------------------------

PollResult LaneSession::poll(const std::optional<Position>& after, unsigned rows_max,
                             bool may_redrive) {
  position_ = after;
  const Wanted wanted{after, rows_max, barrier_};
  const bool announced = std::exchange(announced_, false);
  auto round = announced ? reader().poll(wanted) : next_round(wanted, may_redrive);
  round.announced = announced && round.prefetched;
  round.held_for = aside_.held_for();
  remember(round, rows_max);
  if (!round.redriven()) core::queue_rows_of(aside_.keys(), round);
  return round;
}

PollResult LaneSession::poll_due(const std::optional<Position>& after, unsigned rows_max,
                                 const DueChoice& due) {
  // Each settlement of several calls names the due rows that it is about.
  batch_ = {.rows = {}, .late = {}, .durable_after = {}, .looked_at = batch_.looked_at};
  auto round = aside_.due_of_keys(epoch_, {after, rows_max, barrier_}, due);
  round.held_for = aside_.held_for();
  return round;
}

PollResult LaneSession::poll_new(const std::optional<Position>& after, unsigned rows_max,
                                 const std::optional<Position>& cursor) {
  position_ = after;
  auto round = up_to_barrier(reader().poll({after, rows_max, barrier_, true, cursor}));
  round.held_for = aside_.held_for();
  round.planned = false;  // late rows are set aside by a settlement, not by a start
  remember(round, rows_max);
  core::queue_rows_of(aside_.keys(), round, core::LateRows::queue);
  return round;
}

/// Due rows that were begun come first; others too, but not twice in a row: old rows that were made
/// due in bulk must not hold up new ones.
PollResult LaneSession::next_round(const Wanted& wanted, bool may_redrive) {
  using Begin = Aside::Begin;
  const auto begin = may_redrive ? Begin::caught_up : Begin::none;
  auto round = aside_.due(epoch_, wanted, due_ ? Begin::none : begin);
  if (!round.empty()) return round.redriven() ? round : up_to_barrier(std::move(round));
  round = up_to_barrier(reader().poll(wanted));
  if (!round.empty() || wanted.up_to) return round;
  auto due = aside_.due(epoch_, wanted, round.fenced ? begin : Begin::idle);
  return due.empty() ? round : due;
}

/// A barrier is set with a new epoch, so the start of a batch read before it is refused.
PollResult LaneSession::up_to_barrier(PollResult round) {
  if (!barrier_) return round;
  const auto beyond = std::find_if(
      round.records.begin(), round.records.end(),
      [&](const Record& record) { return reader().comes_after(record.position, *barrier_); });
  if (beyond == round.records.end()) return round;
  round.records.erase(beyond, round.records.end());
  round.unreadable.reset();
  return round;
}

void LaneSession::remember(const PollResult& round, unsigned rows_max) {
  rows_max_ = rows_max;
  due_ = !round.due_rows.empty();
  batch_ = {.rows = {},
            .late = {},
            .planned = round.planned,
            .redriven = round.redriven(),
            .durable_after = round.durable_after,
            .looked_at = round.looked_at};
  if (!round.planned) return;
  for (const auto& record : round.records) {
    batch_.rows.push_back({record.position, record.key, record.late});
    if (record.late) batch_.late.insert(record.id());
  }
}

/// So that the batch can be started again if a call was not begun in time, without them.
void LaneSession::forget_settled(const Settlement& settlement) {
  const auto* park = std::get_if<Park>(&settlement.fate);
  const auto settled = settlement.done.size() + settlement.queued.size() + (park ? 1 : 0);
  auto& rows = batch_.rows;
  rows.erase(rows.begin(),
             rows.begin() + static_cast<std::ptrdiff_t>(std::min(settled, rows.size())));
}

std::size_t LaneSession::rows_ahead(const Position& after) {
  const bool others_first = aside_.any() || barrier_;
  return others_first ? 0 : reader().ready(after);
}

// --- one call, one commit -----------------------------------------------------------------------

Grant LaneSession::start(std::uint64_t epoch, std::size_t rows, bool again) {
  // If rows are aside, the count must survive a crash: a due row may take the next number only if
  // no receiver can have seen it. So may one that is set aside after a crash, of several that were
  // sent before it.
  const bool numbers_may_be_in_use = aside_.any() || (sets_rows_aside_ && rows > 1);
  const bool may_be_lost = !numbers_may_be_in_use && !batch_.planned;
  aside_.begin(batch_);
  const auto grant = store().start(epoch, {position_, rows, again, may_be_lost}, batch_);
  if (grant == Grant::ours && batch_.looked_at) reader().started();
  return grant;
}

Transaction* LaneSession::transaction() {
  return store().transaction(epoch_, position_);
}

SettleAnswer LaneSession::settle(std::uint64_t epoch, const Settlement& settlement) {
  const bool rests = std::holds_alternative<Rest>(settlement.fate) && !settlement.done.empty() &&
                     !settlement.in_flight;
  if (rests && !aside_.any() && rows_max_ > 0) {
    reader().expect(settlement.done.back(), rows_max_, Reader::Expected::after_this_settlement);
  }
  auto settled = store().settle(epoch, settlement, batch_);
  if (settled.grant == Grant::lost) return settled;
  if (const auto& several = settlement.in_flight) {
    if (several->late_rows_left) batch_.looked_at.reset();  // the next poll finds them again
    if (batch_.looked_at) reader().started();
  }
  aside_.settled(settlement, settled);
  forget_settled(settlement);
  const auto* next = std::get_if<Next>(&settlement.fate);
  announced_ = next != nullptr && next->read_ahead && settled.grant == Grant::ours;
  position_ = settled.position;
  return settled;
}

}  // namespace seriatim::runtime
