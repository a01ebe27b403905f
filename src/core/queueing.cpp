#include "core/queueing.hpp"

#include <utility>

#include "core/mutant.hpp"

namespace seriatim::core {

void queue_rows_of(const ParkedKeys& keys, PollResult& round, LateRows late_rows) {
  const bool late_too = late_rows == LateRows::queue;
  if ((keys.empty() && !late_too) || mutant(Mutant::parked_key_goes_on)) return;
  std::vector<Record> handed_over;
  for (auto& record : round.records) {
    const bool goes_on = record.late && mutant(Mutant::late_row_goes_on);
    if ((keys.contains(record.key) && !goes_on) || (record.late && late_too)) {
      round.queued.push_back(
          {std::move(record.position), std::move(record.key), handed_over.size(), record.late});
    } else {
      handed_over.push_back(std::move(record));
    }
  }
  round.records = std::move(handed_over);
}

void number_records(PollResult& round, std::size_t first, std::size_t first_queued,
                    const LaneId& lane, const Cursor& cursor) {
  auto previous = cursor.position ? std::optional(cursor.position->id) : std::nullopt;
  auto sequence = cursor.sequence;
  auto queued = first_queued;
  for (auto i = first; i < round.records.size(); ++i) {
    for (; queued < round.queued.size() && round.queued[queued].before <= i; ++queued, ++sequence) {
      if (!round.queued[queued].late) previous = round.queued[queued].position.id;
    }
    auto& record = round.records[i];
    record.process = lane.process;
    record.lane = lane.lane;
    record.sequence = ++sequence;
    record.set_aside = cursor.set_aside + queued - first_queued;
    record.epoch = cursor.epoch;
    record.previous_id = previous;
    if (!record.late) previous = record.id();
  }
}

}  // namespace seriatim::core
