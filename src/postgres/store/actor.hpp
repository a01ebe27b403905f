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
  /// … and unless so many parked rows are redriven or discarded,
  std::optional<std::uint64_t> expected_rows = {};
  /// … and unless what is done is what a preview showed: its hash.
  std::optional<std::string> expected_plan = {};
};

/// Called some times a second while an act waits, with what it waits for, and with an empty text
/// before it changes anything. False: give up.
using KeepWaiting = std::function<bool(const std::string&)>;

/// An act that changed nothing: what is in the way.
class ActRefused : public Error {
 public:
  using Error::Error;
};

/// … because something is not as the actor has seen it.
class NotAsExpected : public ActRefused {
 public:
  using ActRefused::ActRefused;
  NotAsExpected(const std::string& what, std::uint64_t rows) : ActRefused(what), rows_(rows) {}
  /// So many rows there are, if rows were counted.
  [[nodiscard]] const std::optional<std::uint64_t>& rows() const { return rows_; }

 private:
  std::optional<std::uint64_t> rows_;
};

}  // namespace seriatim::postgres
