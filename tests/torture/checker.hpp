#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace seriatim::testing {

/// A call a receiver accepted, as it saw it.
struct Delivery {
  std::string id;
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  unsigned attempt = 0;
  std::string body;
};

/// What the deliveries of one lane did to the promises. Knows nothing of how they came about.
struct Verdict {
  std::size_t committed = 0;
  std::size_t delivered = 0;  ///< distinct rows
  std::vector<std::string> lost;
  std::vector<std::string> invented;   ///< delivered, never committed
  std::vector<std::string> reordered;  ///< first deliveries against the declared order
  std::vector<std::string> repeated;
  std::vector<std::string> inconsistent;  ///< repeats with another sequence or other bytes
  std::vector<std::string> sequence_holes;
  std::vector<std::string> stale_epochs;  ///< after a call of a larger epoch

  [[nodiscard]] bool clean_but_for_repeats() const {
    return lost.empty() && invented.empty() && reordered.empty() && inconsistent.empty() &&
           sequence_holes.empty() && stale_epochs.empty();
  }
  [[nodiscard]] std::string text() const;
};

/// `committed`: ids in the declared order. `deliveries`: in the order of arrival.
Verdict judge(const std::vector<std::string>& committed, const std::vector<Delivery>& deliveries);

}  // namespace seriatim::testing
