#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::lab {

/// A row that is committed when all is over.
struct Row {
  std::int64_t id = 0;
  std::int64_t created_at_us = 0;
  std::uint64_t body = 0;  ///< hash of its bytes
  std::optional<std::string> key{};
};

/// One call of a relay, as the receiver saw it. All times of one evidence are of one clock; the
/// unit is the witness's own.
struct Call {
  unsigned lane = 0;
  std::int64_t id = 0;
  std::int64_t previous_id = -1;  ///< -1: none
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  unsigned attempt = 0;
  std::uint64_t body = 0;
  std::int64_t begun = 0;  ///< read to its end
  std::int64_t ended = 0;  ///< processed: the answer is about to be written, or withheld
  bool accepted = false;   ///< processed with success, whether or not the answer arrives
  bool late = false;       ///< the relay says that the row's place was passed before it came
};

/// A journalled change of holder.
struct Claim {
  std::uint64_t epoch = 0;
  std::int64_t at = 0;  ///< surely not before it happened
};

/// An odd move of a cursor.
struct Move {
  bool back = false;  ///< else it was made by a session that does not hold the lane
  std::string what;   ///< for people
};

/// seriatim.cursor at the end.
struct FinalCursor {
  std::int64_t position_id = 0;  ///< 0: before the first row
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::string state;
  std::string detail;
};

/// Everything known of one stream (a process) without asking a relay.
struct Evidence {
  std::string stream;
  std::vector<Row> committed;  ///< in the declared order
  std::vector<Call> calls;     ///< in the order they began
  std::map<unsigned, FinalCursor> cursors;
  std::map<unsigned, std::vector<Claim>> claims;  ///< by lane, in order
  std::vector<Move> odd_moves;
  /// By lane, the ids in the ledger and the open bucket; empty if there is no ledger.
  std::map<unsigned, std::vector<std::int64_t>> ledger;
  bool one_lane_a_key = false;  ///< lanes by key were asked for
  /// Order is promised within each key, not over the lane.
  bool by_key = false;
  std::size_t in_flight = 1;     ///< so many calls of one holder may be under way at once
  std::size_t commit_every = 1;  ///< … and so many answers may wait for their commit
  /// A row that failed is set aside. It comes again under a later number, marked as late.
  bool holds_keys = false;
  std::size_t keys_held = 0;  ///< so often a key was held
  /// How many rows of a lane may have been accepted twice, all faults together.
  std::size_t repeats_allowed = 0;
  /// Faults that can replace a holder which lives on. If there are none, no call may come late.
  bool zombies_allowed = false;
  /// The network may hold back a call that was given up and hand it over later.
  bool strays_allowed = false;

  /// Rows that one fault may leave in doubt: answers that are not committed, and calls in flight. A
  /// single call is counted with the answers.
  [[nodiscard]] std::size_t repeats_a_fault() const {
    return in_flight > 1 ? in_flight + commit_every : commit_every;
  }
};

/// The same for the bytes a receiver got and those in the table.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

}  // namespace seriatim::lab
