#include "torture/checker.hpp"

#include <algorithm>
#include <map>

namespace seriatim::testing {

namespace {

std::string line(const char* name, const std::vector<std::string>& ids) {
  std::string text = std::string(name) + ' ' + std::to_string(ids.size());
  for (std::size_t i = 0; i < ids.size() && i < 10; ++i) text += (i == 0 ? ": " : ", ") + ids[i];
  return text + '\n';
}

std::map<std::string, std::size_t> ranks_of(const std::vector<std::string>& committed) {
  std::map<std::string, std::size_t> ranks;
  for (std::size_t i = 0; i < committed.size(); ++i) ranks.emplace(committed[i], i);
  return ranks;
}

}  // namespace

Verdict judge(const std::vector<std::string>& committed, const std::vector<Delivery>& deliveries) {
  Verdict verdict;
  verdict.committed = committed.size();
  const auto ranks = ranks_of(committed);
  std::map<std::string, Delivery> first;
  std::size_t next_rank = 0;
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  for (const auto& delivery : deliveries) {
    if (delivery.epoch < epoch) verdict.stale_epochs.push_back(delivery.id);
    epoch = std::max(epoch, delivery.epoch);
    const auto [seen, is_first] = first.try_emplace(delivery.id, delivery);
    if (!is_first) {
      verdict.repeated.push_back(delivery.id);
      const bool same =
          seen->second.sequence == delivery.sequence && seen->second.body == delivery.body;
      if (!same) verdict.inconsistent.push_back(delivery.id);
      continue;
    }
    if (delivery.sequence != ++sequence) verdict.sequence_holes.push_back(delivery.id);
    sequence = delivery.sequence;
    const auto rank = ranks.find(delivery.id);
    if (rank == ranks.end()) {
      verdict.invented.push_back(delivery.id);
      continue;
    }
    if (rank->second < next_rank) verdict.reordered.push_back(delivery.id);
    next_rank = std::max(next_rank, rank->second + 1);
  }
  for (const auto& id : committed) {
    if (!first.contains(id)) verdict.lost.push_back(id);
  }
  verdict.delivered = first.size();
  return verdict;
}

std::string Verdict::text() const {
  return "committed " + std::to_string(committed) + ", delivered " + std::to_string(delivered) +
         '\n' + line("lost", lost) + line("invented", invented) + line("reordered", reordered) +
         line("repeated", repeated) + line("inconsistent repeats", inconsistent) +
         line("sequence holes", sequence_holes) + line("stale epochs", stale_epochs);
}

}  // namespace seriatim::testing
