#include "core/queueing.hpp"

#include <utility>

#include "core/mutant.hpp"

namespace seriatim::core {

void queue_rows_of(const ParkedKeys& keys, PollResult& round) {
  if (keys.empty() || mutant(Mutant::parked_key_goes_on)) return;
  std::vector<Record> handed_over;
  for (auto& record : round.records) {
    const bool goes_on = record.late && mutant(Mutant::late_row_goes_on);
    if (keys.contains(record.key) && !goes_on) {
      round.queued.push_back(
          {std::move(record.position), std::move(record.key), handed_over.size(), record.late});
    } else {
      handed_over.push_back(std::move(record));
    }
  }
  round.records = std::move(handed_over);
}

}  // namespace seriatim::core
