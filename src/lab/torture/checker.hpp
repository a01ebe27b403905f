#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace seriatim::torture {

/// Judges a run from what others saw of it. Pure: no relay code, no database, no clock.

/// One call of a relay, as the receiver saw it. Times are the receiver's monotonic nanoseconds.
struct Call {
  unsigned lane = 0;
  std::int64_t id = 0;
  std::int64_t previous_id = -1;  ///< -1: the header was not there
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  unsigned attempt = 0;
  std::uint64_t body = 0;  ///< hash of its bytes
  std::int64_t begun = 0;  ///< read to its end
  std::int64_t ended = 0;  ///< processed: the answer is about to be written, or withheld
  bool accepted = false;   ///< processed with success, whether or not the answer arrives
};

/// A row that is committed when all is over, in the table or in the archive of deleted ones.
struct CommittedRow {
  std::int64_t id = 0;
  std::int64_t created_at_us = 0;
  std::uint64_t body = 0;
  std::string key;
};

/// seriatim.cursor at the end, and what was watched of it.
struct FinalCursor {
  std::int64_t position_id = 0;  ///< 0: before the first row
  std::uint64_t sequence = 0;
  std::uint64_t epoch = 0;
  std::string state;
  std::string detail;
};

/// A journalled change of holder.
struct Claim {
  std::uint64_t epoch = 0;
  std::int64_t at = 0;  ///< in the receiver's nanoseconds; surely not before it happened
};

/// Everything known of one stream (a process) without asking a relay.
struct Evidence {
  std::string stream;
  std::vector<CommittedRow> committed;  ///< in the declared order
  std::vector<Call> calls;              ///< in the order they began
  std::map<unsigned, FinalCursor> cursors;
  std::map<unsigned, std::vector<Claim>> claims;  ///< a lane, in order
  std::vector<std::string> steps_back;            ///< of a cursor, in words
  std::vector<std::string> steps_by_strangers;    ///< by a session that does not hold the lane
  /// Ids a lane in the ledger and the open bucket; empty where there is no ledger.
  std::map<unsigned, std::vector<std::int64_t>> ledger;
  bool one_lane_a_key = false;  ///< lanes by key were asked for
  /// How many rows of a lane may have been accepted twice: one call in hand for each fault.
  std::size_t repeats_allowed = 0;
  /// Faults that could replace a holder which lives on. None: no call may come late.
  bool zombies_allowed = false;
  /// The network may hold back a call that was given up and hand it over later.
  bool strays_allowed = false;
};

/// What was broken: ids (or words) a kind, in the order found.
struct Verdict {
  std::size_t committed = 0;
  std::size_t delivered = 0;   ///< distinct rows accepted
  std::size_t repeated = 0;    ///< acceptances of a row after its first
  std::size_t late_calls = 0;  ///< of a holder already replaced, at most one an epoch: its last

  std::vector<std::string> lost;          ///< committed, never accepted
  std::vector<std::string> phantoms;      ///< accepted, not committed now
  std::vector<std::string> altered;       ///< accepted with other bytes than are committed
  std::vector<std::string> reordered;     ///< first acceptances against the declared order
  std::vector<std::string> inconsistent;  ///< repeats with another sequence, bytes or lane
  std::vector<std::string> repeated_beyond_bound;
  std::vector<std::string> overtaken;  ///< a later row attempted while this one had failed
  std::vector<std::string> sequence_holes;
  std::vector<std::string> overlapping;       ///< calls of one holder at the same time
  std::vector<std::string> stale_epochs;      ///< late calls beyond the one in hand
  std::vector<std::string> unclaimed_epochs;  ///< calls under an epoch no journal row gave out
  std::vector<std::string> cursor_back;
  std::vector<std::string> cursor_stolen;  ///< moved by one who had been replaced
  std::vector<std::string> cursor_wrong;   ///< at the end it does not name the last row delivered

  std::vector<std::string> ledger_wrong;  ///< in it and not delivered, or delivered and not in it

  [[nodiscard]] bool clean() const;
  /// "lost 3: 17, 18, 21", a line for each kind that is not empty.
  [[nodiscard]] std::string violations() const;
  /// Each kind with its findings, in the order above.
  [[nodiscard]] std::vector<std::pair<std::string, const std::vector<std::string>*>> kinds() const;
};

[[nodiscard]] Verdict judge(const Evidence& evidence);

/// Of bytes; the same for the receiver's bodies and the table's.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

}  // namespace seriatim::torture
