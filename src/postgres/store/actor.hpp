#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

/// What somebody has seen of a lane; what is absent was not checked.
struct Expectation {
  std::optional<unsigned> lane;  ///< absent: of each lane that the act changes
  std::optional<std::uint64_t> epoch;
  std::optional<std::string> state;  ///< running, retrying, halted or paused
  std::optional<std::string> row;    ///< the row that failed; "": none has
  std::optional<unsigned> attempts;
};

/// Who acts and why, for the journal.
struct Actor {
  std::string who;  ///< "alice@host"
  std::string why;  ///< may be empty unless a reason is demanded
  /// Nothing is changed if a lane is not like this any more.
  std::vector<Expectation> expected = {};
};

/// Called some times a second while an act waits, with what it waits for, and with an empty text
/// before it changes anything. False: give up.
using KeepWaiting = std::function<bool(const std::string&)>;

/// An act that changed nothing: what is in the way.
class ActRefused : public Error {
 public:
  using Error::Error;
};

}  // namespace seriatim::postgres
