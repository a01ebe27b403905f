#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/judge/evidence.hpp"

namespace seriatim::lab {

/// What was broken: ids (or words) a kind, in the order found.
struct Verdict {
  std::size_t committed = 0;
  std::size_t delivered = 0;        ///< distinct rows accepted
  std::size_t repeated = 0;         ///< acceptances of a row after its first
  std::size_t late_calls = 0;       ///< of a holder already replaced: those it had in flight
  std::size_t repeated_by_one = 0;  ///< the most that one holder repeated of those before it
  std::size_t at_once = 0;          ///< the most calls of one holder that were surely under way
  std::size_t keys_held = 0;

  std::vector<std::string> lost;          ///< committed, never accepted
  std::vector<std::string> phantoms;      ///< accepted, not committed now
  std::vector<std::string> altered;       ///< accepted with other bytes than are committed
  std::vector<std::string> reordered;     ///< first acceptances against the declared order, or
                                          ///< called late though no later row was delivered
  std::vector<std::string> inconsistent;  ///< repeats with another sequence, bytes or lane
  std::vector<std::string> repeated_beyond_bound;
  std::vector<std::string> overtaken;  ///< a later row attempted while this one had failed
  std::vector<std::string> sequence_holes;
  std::vector<std::string> overlapping;       ///< calls of one holder, or of one key, at once
  std::vector<std::string> too_many_at_once;  ///< a call beyond in_flight
  std::vector<std::string> stale_epochs;      ///< late calls beyond the one in flight
  std::vector<std::string> unclaimed_epochs;  ///< calls under an epoch no journal row gave out
  std::vector<std::string> cursor_back;
  std::vector<std::string> cursor_stolen;  ///< moved by one who had been replaced
  std::vector<std::string> cursor_wrong;   ///< at the end it does not name the last row delivered

  std::vector<std::string> ledger_wrong;  ///< in it and not delivered, or delivered and not in it
  std::vector<std::string> untried;       ///< asked for, and it never came to it

  [[nodiscard]] bool clean() const;
  /// "lost 3: 17, 18, 21", a line for each kind that is not empty.
  [[nodiscard]] std::string violations() const;
  /// Each kind with its findings, in the order above.
  [[nodiscard]] std::vector<std::pair<std::string, const std::vector<std::string>*>> kinds() const;
};

/// Judges a run by what others saw of it.
[[nodiscard]] Verdict judge(const Evidence& evidence);

}  // namespace seriatim::lab
