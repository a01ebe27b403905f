#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "seriatim/outcome.hpp"
#include "seriatim/source.hpp"

namespace seriatim::core {

using Time = std::chrono::steady_clock::time_point;

/// What the lane gets along with the event: time and chance come from outside.
struct Moment {
  Time now;
  double random = 0;      ///< in [0, 1)
  bool stopping = false;  ///< a stop was asked: come to a clean end
  bool wanted = true;     ///< false: the lane is left to other instances (lane_assignment.hpp)
};

// The answers to actions (action.hpp), and `Begin`.
struct Begin {};
struct Opened {};
struct Claimed {
  Claim claim;
};
struct CursorRead {
  Cursor cursor;
};
struct Polled {
  PollResult round;
};
struct Started {
  Grant grant = Grant::ours;
};
struct Called {
  BatchOutcome outcome;
  std::size_t rows_ahead = 0;  ///< of what CallHandler::then asks for
  std::string breach;          ///< the answer does not fit the call: no row counts as done
  bool threw = false;          ///< a receiver may have seen any of the rows
};
/// What became of a row of CallRows.
struct Answer {
  std::uint64_t number = 0;        ///< Record::sequence
  std::optional<Outcome> outcome;  ///< absent: the call was not begun
  std::chrono::nanoseconds took{0};
};
struct Answered {
  std::vector<Answer> answers;
  bool early = false;  ///< by a hint, or somebody who wants something
};
struct CallExpired {};  ///< the call was not started: `not_after` had passed
struct Settled {
  Grant grant = Grant::ours;
  int parked = 0;          ///< as in SettleAnswer
  int held_keys = 0;       ///< …
  bool makes_due = false;  ///< …
};
struct Released {};
struct Closed {};
struct Woken {
  bool early = false;  ///< by a hint, or somebody who wants something: before the deadline
};
struct SessionEnded {  ///< any action: the session is gone, the action's fate unknown
  std::string detail;
};
struct SourceFailed {  ///< any action: the source cannot be read, trying again does not help
  HaltReason reason = HaltReason::source_changed;
  std::string detail;
};

using Event = std::variant<Begin, Opened, Claimed, CursorRead, Polled, Started, Called, CallExpired,
                           Answered, Settled, Released, Closed, Woken, SessionEnded, SourceFailed>;

}  // namespace seriatim::core
