#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "postgres/admin/records/records_reader.hpp"
#include "postgres/admin/reports/lane_wait.hpp"
#include "postgres/auditor/lane_audit.hpp"
#include "postgres/reader/unread_row.hpp"
#include "postgres/store/actor.hpp"
#include "postgres/table/rewind_place.hpp"
#include "postgres/table/target.hpp"
#include "seriatim/config.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/record.hpp"

namespace seriatim::postgres {

/// What is set aside of a process.
struct ParkedCount {
  std::uint64_t rows = 0;
  std::uint64_t heads = 0;  ///< keys and dead letters
  std::uint64_t redriven = 0;
  std::string since;                       ///< the oldest, ISO 8601 UTC
  std::optional<std::int64_t> since_us{};  ///< … in microseconds since 1970
  bool due = false;  ///< rows go out before those after the cursor: redriven, late or begun ones
  // None of these is counted above: of keys that are held, and tried again by themselves.
  std::uint64_t held_rows = 0;
  std::uint64_t held_keys = 0;
  std::string held_since;  ///< the oldest, ISO 8601 UTC
  std::optional<std::int64_t> held_since_us{};
};

/// What the latest `seriatim audit` of a process found.
struct LatestAudit {
  bool sound = false;
  std::int64_t at_us = 0;  ///< microseconds since 1970
  std::string detail;      ///< the finding, in words
};

/// An instance that runs a process of several lanes now, and shares them with the others.
struct InstanceReport {
  std::string holder;                 ///< as lanes name it
  unsigned lanes = 0;                 ///< as it is configured
  unsigned held = 0;                  ///< so many lanes are its
  std::chrono::milliseconds seen{0};  ///< it said so long ago that it runs
};

/// A lane as seen from outside, by a second read of cursor, table and locks: right even when the
/// relay is dead.
struct LaneReport {
  /// State is `standby` when nobody holds the lane; `fenced_for` is at most what it says: the age
  /// of the row that waits.
  LaneStatus lane;
  std::string holder;  ///< "host:pid:…" of the relay that holds it; empty: nobody
  bool holder_alive = false;
  /// Committed matching rows that wait, counted up to lag_records_max. Absent: unknown; `unread` or
  /// `not_read` says why, or (`lag_more`) none was found among the rows that were read.
  std::optional<std::uint64_t> lag_records;
  bool lag_more = false;  ///< there are more than `lag_records` says: it was counted no further
  std::optional<std::uint64_t> late_records;  ///< of them, behind the cursor; absent: unknown
  /// late_rows = "deliver": rows behind the cursor from here on go out late.
  std::optional<std::int64_t> late_from_us;
  std::optional<std::chrono::milliseconds> lag_age;  ///< age of the oldest of them; absent: unknown
  std::optional<std::string> next_id;  ///< the row the lane will hand over next, where known
  std::optional<UnreadRow> unread;     ///< what of the above could not be read
  /// The table could not be read in time, and why; what is said of it is absent. The lane itself
  /// may go on.
  std::string not_read;
  std::optional<LaneWait> wait;  ///< what holds the lane up, other than rows, fence and back-off
  std::optional<std::chrono::milliseconds>
      called_for;              ///< its handler was called with it so long ago, and is at it
  std::size_t done_ahead = 0;  ///< several calls in flight: rows after the cursor done or set aside
  std::string updated_at;      ///< of the cursor row, ISO 8601 UTC
  /// The auditor went last through everything behind the cursor so long ago. Absent: nobody runs
  /// the lane, it is halted, or this role may not read seriatim.audited.
  std::optional<std::chrono::milliseconds> audit_age;
  /// late_rows = "deliver": while it is open, late rows may go out after rows of transactions that
  /// began once theirs had committed. `pid` 0: a prepared one.
  std::optional<Blocker> long_transaction;
  static constexpr std::chrono::milliseconds audit_age_max{
      60'000};  ///< beyond it, something is wrong

  /// The lanes are being cut anew: no row after it is handed over.
  struct Barrier {
    Position position;
    unsigned lanes = 0;    ///< as many as there are until then
    bool reached = false;  ///< the lane has nothing left up to it, and rows behind it
    std::string since;     ///< ISO 8601 UTC; empty: this role may not read the journal
    std::string who;       ///< … likewise
  };
  std::optional<Barrier> barrier;
  /// The process was renamed, or its cursor row is gone: `lane.detail` says what to do.
  bool without_cursor = false;
  ParkedCount parked;                        ///< of the process
  RateLimit rate_limit{}, key_rate_limit{};  ///< as configured
  std::vector<InstanceReport> instances;     ///< of the process, where it has several lanes
  bool instances_hidden = false;             ///< this role may not read who runs it
  std::optional<LatestAudit> latest_audit;   ///< of the process; absent: none, or not visible

  static constexpr std::uint64_t lag_records_max = 100'000;
};

/// Waiting rows in lane order.
struct PeekedRow {
  /// With what the lane would give it if every row before it is delivered and nobody acts. The
  /// attempt is that of the call in flight, if there is one.
  Record record;
  bool settled = false;  ///< false: still behind the fence
  bool queues = false;   ///< its key is parked: it is set aside, and not handed over
};

/// Rows that wait, up to the first that cannot be read.
struct Peeked {
  std::vector<PeekedRow> rows;
  std::optional<UnreadRow> unread;  ///< the row after them, at which the lane halts
};

/// What an act did to one lane, in words: "lane 0: skipped row 4711 (sequence 17)".
using ActResult = std::vector<std::string>;

struct RowReport;  // row_report.hpp

/// What becomes of rows behind the cursor that match since the filter was changed.
enum class OldRows {
  skip,    ///< passed over: set aside without naming each
  deliver  ///< they go out as late rows, in between new ones
};

/// What a rewind does to one lane.
struct RewindStep {
  unsigned lane = 0;
  std::optional<Position> from;  ///< the cursor now
  std::optional<Position> to;    ///< … and then: the row before the place named
  bool forward = false;          ///< rows are set aside; else they will be delivered again
  std::uint64_t rows = 0;        ///< how many
  std::uint64_t pruned = 0;      ///< backwards: rows `seriatim prune` took, which cannot come again
  /// Once it is done, in the order of ids: rows up to the place that were created after those that
  /// were delivered under their ids. They count as delivered from now on.
  std::uint64_t newer = 0;
  std::uint64_t sequence_from = 0;
  /// Done, it may be higher than planned: numbers of rows that stay are not given out again.
  std::uint64_t sequence_to = 0;
};

/// A row set aside by `on_poison`, or queueing behind one of its key.
struct ParkedRow {
  std::string number;  ///< in the order they would go out in
  Position position;
  std::optional<std::string> key;
  bool holds_key = false;               ///< later rows of its key queue behind it
  bool head = false;                    ///< the first of its key, or a dead letter
  unsigned attempts = 0;                ///< 0: never handed over
  std::string detail;                   ///< what its receiver said last
  std::string parked_at;                ///< ISO 8601 UTC
  bool redriven = false;                ///< goes out again as soon as its lane can
  std::string retry_at;                 ///< held: tried again then, ISO 8601 UTC; else empty
  std::optional<std::string> first_id;  ///< `find_parked`: the first of its key
  std::string first_detail;
  std::string first_retry_at;
};

/// Which parked rows: one (for a redrive with the rows of the key it holds), those of a key, or
/// all.
struct ParkedChoice {
  std::optional<std::string> id;
  std::optional<std::string> key;
};

enum class ParkedAct { redrive, discard };

/// What an act on parked rows would do.
struct ParkedPlan {
  std::uint64_t rows = 0;
  std::string plan;  ///< a hash over which rows they are
};

/// Called with what a rewind is going to do, before it is done. What it throws ends the act.
using ApproveRewind = std::function<void(const std::vector<RewindStep>&)>;

/// One row's payload, as its receiver gets it.
struct Revealed {
  std::string id;                      ///< as the table writes it
  std::optional<std::string> payload;  ///< absent: NULL
  std::string entry;                   ///< of the journal
};

/// Operator acts and reports; one short-lived connection each. Every act waits for the calls in
/// flight, changes all lanes it names or none, is in the journal with who and why, and wakes the
/// relay. `keep_waiting` hears what it waits for.
/// Errors: Error with what, where and what to do if an act does not apply; SessionLost if the
/// database cannot be reached.
class Admin {
 public:
  explicit Admin(std::string url, KeepWaiting keep_waiting = {});

  std::vector<LaneReport> status(const Target& target);
  Peeked peek(const Target& target, unsigned lane, unsigned rows_max);
  /// Where one row is and why it does not move. Error if `id` is no id of that table.
  RowReport why(const Target& target, const std::string& id);
  /// The newest entries first, those before number `before`. SourceBroken if this role may not read
  /// the journal.
  std::vector<JournalEntry> journal(const Target& target, const std::optional<std::string>& before,
                                    unsigned entries_max);
  /// Recounts all that was delivered against the table, in one snapshot. `progress` gets the
  /// number of rows recounted so far. SessionLost if it was stopped.
  std::vector<LaneAudit> audit(const Target& target, bool every_bucket,
                               const std::function<void(std::uint64_t)>& progress,
                               const std::stop_token& stop = {});
  /// Keeps the finding of an audit for status, metrics and alerts. `detail`: in words.
  /// Error if this role may not write it, or if the server takes no writes.
  void note_audit(const std::string& process, const std::vector<LaneAudit>& lanes,
                  const Actor& actor, const std::string& detail);
  /// This lane alone, or all.
  ActResult pause(const Target& target, const Actor& actor,
                  std::optional<unsigned> lane = std::nullopt);
  ActResult resume(const Target& target, const Actor& actor,
                   std::optional<unsigned> lane = std::nullopt);
  /// Halted or retrying lanes try again at once.
  ActResult retry(const Target& target, const Actor& actor,
                  std::optional<unsigned> lane = std::nullopt);
  /// Set aside exactly the row a lane is at. Refuses any other id and an empty reason.
  ActResult skip(const Target& target, const std::string& id, const Actor& actor);

  /// Parked rows, of one key or all, in the order they would go out in; at most `rows_max`.
  /// `after`: those after the row of this number.
  void parked(const Target& target, const std::optional<std::string>& key, std::uint64_t rows_max,
              const std::function<void(const ParkedRow&)>& each, const std::string& after = "0");
  ParkedCount parked_count(const Target& target);
  ParkedPlan plan_parked(const Target& target, const ParkedChoice& choice, ParkedAct act);
  /// Parked rows go out again, in the order they were parked, before rows that wait.
  ActResult redrive(const Target& target, const ParkedChoice& choice, const Actor& actor);
  /// Parked rows are set aside for good. Refuses an empty reason.
  ActResult discard(const Target& target, const ParkedChoice& choice, const Actor& actor);

  /// Go on with a database, table or order that is not what the cursor was kept for. `from`: the
  /// former name of the process, whose cursor it takes over.
  /// `old_rows`: the decision that is wanted if rows behind a cursor match since the filter was
  /// changed. Error without it, and nothing is changed.
  ActResult adopt(const Target& target, const std::optional<std::string>& from, const Actor& actor,
                  std::optional<OldRows> old_rows = std::nullopt);
  /// Moves every lane's cursor. Refuses an empty reason. A jump forwards waits at most `settle_max`
  /// for transactions that could still commit a row it would pass. `plan_rewind` changes nothing.
  std::vector<RewindStep> plan_rewind(const Target& target, const RewindPlace& place);
  std::vector<RewindStep> rewind(
      const Target& target, const RewindPlace& place, const Actor& actor,
      std::chrono::milliseconds settle_max = std::chrono::milliseconds{10'000},
      const ApproveRewind& approve = {});

  /// The payload of a row. To be shown masked only, because the journal does not record it. Absent:
  /// NULL, larger than payload_max, or no row that the process delivers.
  std::optional<std::string> payload(const Target& target, const std::string& id);
  /// The payload of a row that the process delivers, or will. That it was shown, and to whom, is in
  /// the journal first. Error if there is no such row.
  Revealed reveal(const Target& target, const std::string& id, const Actor& actor);

  /// Cuts the process into `lanes` lanes behind a barrier; see repartition.hpp for what
  /// `keep_waiting` gets what is left, and decides. The target is as configured now: its key
  /// decides the new lanes.
  ActResult repartition(const Target& target, unsigned lanes, const Actor& actor,
                        const std::function<bool(const std::string&)>& keep_waiting);

  struct Message {
    std::string aggregate_type;
    std::string aggregate_id;
    std::string event_type;
    std::string payload;         ///< JSON text
    std::string headers = "{}";  ///< JSON object
  };
  /// Into seriatim.outbox; answers the row's id.
  std::string append(const Message& message);

  /// The last entry of the journal that the last act made; absent: it made none.
  [[nodiscard]] std::optional<std::uint64_t> journal_entry() const { return entry_; }

 private:
  template <class F>
  auto perform(const std::string& process, const Target& target, const Actor& actor,
               std::optional<unsigned> lane, F&& act);

  std::string url_;
  KeepWaiting keep_waiting_;
  std::optional<std::uint64_t> entry_;
};

}  // namespace seriatim::postgres
