#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/judge/evidence.hpp"
#include "seriatim/error.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/position.hpp"
#include "simulation/scheduler.hpp"

namespace seriatim::simulation {

/// All that the checkers see: the table's history, the receiver's log, the cursor's history and the
/// journal of acts. That is more than src/lab/judge can know of a real run, on the same types.
/// Times are simulated; relays and rows are named by number.
struct Evidence {
  struct Row : lab::Row {
    bool committed = false;         ///< became visible
    std::optional<Micros> lost_at;  ///< a crash of the server undid it
    /// Its place was not drawn under the writer's lock from a clock that had not gone back: no
    /// fence can know of it.
    bool astray = false;
    Micros visible_at = 0;
    std::optional<Micros> moved_at;  ///< a person gave it another place
  };
  /// One row of a call of the handler.
  struct Attempt : lab::Call {
    std::size_t row = 0;  ///< in `rows`, as its bytes say
    unsigned relay = 0;
    Micros call_begun = 0;  ///< … of its first row
    std::size_t place = 0;  ///< in the call: 0 is its first row
    Outcome::Kind answer = Outcome::Kind::done;
    bool late = false;  ///< Seriatim-Late
  };
  /// A change of the cursor's position or sequence: by its holder, or by an operator's act.
  struct Move {
    enum class By { holder, skip, rewind, discard };
    By by = By::holder;
    Micros at = 0;
    std::optional<Position> from, to;
    std::uint64_t sequence_before = 0;
    std::uint64_t sequence = 0;
    std::uint64_t mover_epoch = 0;
    std::uint64_t row_epoch = 0;
    std::vector<std::int64_t> done;        ///< delivered or set aside: goes into the ledger
    bool back = false;                     ///< the act says it goes back
    std::vector<std::int64_t> redriven{};  ///< parked rows that have their numbers: they went out
    std::uint64_t unused = 0;              ///< so many numbers belong to rows that are gone
  };
  /// A row after the cursor that is kept as done.
  struct Kept {
    Micros at = 0;
    std::int64_t id = 0;
    std::uint64_t epoch = 0;
  };
  /// A row is set aside: it failed, or it queues behind one of its key that did.
  struct Parked {
    Micros at = 0;
    std::int64_t id = 0;
    std::uint64_t epoch = 0;
    bool failed = false;
    bool holds_key = false;  ///< rows of its key queue; known from the first time on
  };
  /// An operator wants parked rows handed over again: a row with what queues with it, those of a
  /// key, or all.
  struct Redrive {
    Micros at = 0;
    std::optional<std::int64_t> id;
    std::optional<std::string> key;
    bool alone = false;  ///< without the rows of its key
  };
  struct Halt {
    Micros at = 0;
    HaltReason reason = HaltReason::poison;
    std::string row_id;
  };
  /// The server's clock was set: it shows `shows` from now on.
  struct ClockSet {
    Micros at = 0;
    std::int64_t shows = 0;
  };
  /// A new epoch: a new holder; or its next session, or an operator's act (relay 0).
  struct TakeOver : lab::Claim {
    unsigned relay = 0;
  };
  /// A call is announced.
  struct Announcement {
    Micros at = 0;
    unsigned relay = 0;
    std::uint64_t epoch = 0;
  };
  /// A person asks for a turn: no call is to be announced meanwhile.
  struct Hold {
    Micros at = 0;
    Micros until = 0;
  };
  struct Skip {
    Micros at = 0;
    std::int64_t id = 0;
  };
  /// Something that may cost a repeat. `relay` is absent when it struck all.
  struct Fault {
    Micros at = 0;
    std::optional<unsigned> relay;
    const char* what = "";
    bool session_ended = false;  ///< the server ended that relay's session
    bool unheard = false;        ///< … and the relay does not hear of it
  };

  std::vector<Row> rows;          ///< in the order of insertion
  std::vector<Attempt> attempts;  ///< by `begun`
  std::vector<Move> moves;
  std::vector<Kept> kept;
  std::optional<Micros> start_undone{};  ///< by a crash of the server: the last time
  std::vector<TakeOver> take_overs;
  std::vector<Announcement> announcements;
  std::vector<Hold> holds;
  std::vector<Skip> skips;
  std::vector<Skip> removals;  ///< a person deleted the row
  std::vector<Parked> parked;
  std::vector<Redrive> redrives;
  std::vector<Skip> discards;
  std::vector<Halt> halts;
  std::vector<Micros> audits;  ///< turns of an auditor of the holder
  std::vector<ClockSet> clock;
  std::vector<Fault> faults;
  std::vector<Micros> releases;
};

/// The bytes of row `number`, so that the receiver's log says which row it was, whatever its id.
[[nodiscard]] inline std::string payload_of(std::size_t number) {
  return "row " + std::to_string(number);
}
[[nodiscard]] inline std::size_t row_of(const std::string& bytes) {
  return std::stoull(bytes.substr(4));
}

}  // namespace seriatim::simulation
