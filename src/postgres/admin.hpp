#pragma once

#include <optional>
#include <string>
#include <vector>

#include "seriatim/config.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/record.hpp"

namespace seriatim::postgres {

/// One process as configured: what operator acts and reports work on.
struct Target {
  ProcessConfig process;
  SourceConfig source;
};

/// A lane as seen from outside, by a second look at cursor, table and locks: right even when the
/// relay is dead.
struct LaneReport {
  LaneStatus lane;     ///< state is `standby` when nobody holds the lane
  std::string holder;  ///< "host:pid:…" of the relay that holds it; empty: nobody
  bool holder_alive = false;
  std::uint64_t lag_records =
      0;  ///< committed matching rows after the cursor, counted up to lag_records_max
  milliseconds lag_age{0};             ///< age of the oldest of them
  std::optional<std::string> next_id;  ///< the row the lane will hand over next
  std::string updated_at;              ///< of the cursor row, ISO 8601 UTC

  static constexpr std::uint64_t lag_records_max = 100'000;
};

/// Waiting rows in lane order.
struct PeekedRow {
  Record record;
  bool settled = false;  ///< false: still behind the fence
};

/// Who acts, for the journal.
struct Actor {
  std::string who;  ///< "alice@host"
  std::string why;  ///< may be empty except where a reason is demanded
};

/// What an act did to one lane, in words: "lane 0: skipped row 4711 (sequence 17)".
using ActResult = std::vector<std::string>;

/// Operator acts and reports; one short-lived connection each. Every act is a compare-and-set under
/// the cursor's row lock, is journalled with who and why, and wakes the relay.
/// Errors: Error with what, where and what to do when an act does not apply; SessionLost when the
/// database cannot be reached.
class Admin {
 public:
  explicit Admin(std::string url);

  std::vector<LaneReport> status(const Target& target);
  std::vector<PeekedRow> peek(const Target& target, unsigned lane, unsigned rows_max);
  ActResult pause(const Target& target, const Actor& actor);
  ActResult resume(const Target& target, const Actor& actor);
  /// Halted or retrying lanes try again at once.
  ActResult retry(const Target& target, const Actor& actor);
  /// Set aside exactly the row a lane stands at. Refuses any other id and an empty reason.
  ActResult skip(const Target& target, const std::string& id, const Actor& actor);

  struct Message {
    std::string aggregate_type;
    std::string aggregate_id;
    std::string event_type;
    std::string payload;         ///< JSON text
    std::string headers = "{}";  ///< JSON object
  };
  /// Into seriatim.outbox; answers the row's id.
  std::string append(const Message& message);

 private:
  std::string url_;
};

}  // namespace seriatim::postgres
