#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/error.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/record.hpp"

namespace seriatim {

/// A row whose key is parked: it queues behind the parked row of its key and is not handed over.
struct QueuedRow {
  Position position;
  std::optional<std::string> key;
  std::size_t before = 0;  ///< index of the record after it (PollResult::records, Settlement::done)
  bool late = false;       ///< it is behind the cursor
  bool aside = false;      ///< it was set aside by an earlier settlement, and is passed now

  friend bool operator==(const QueuedRow&, const QueuedRow&) = default;
};

/// A row set aside that goes out before those after the cursor.
struct DueRow {
  std::string id;
  bool begun = false;                           ///< a receiver may have seen it
  bool redriven = false;                        ///< it was parked
  std::optional<bool> late{};                   ///< absent: decided when it is read again
  std::optional<std::int64_t> created_at_us{};  ///< absent: not known
  unsigned attempts = 0;                        ///< it was held: so many failed before
  bool holds_key = false;                       ///< rows of its key are put back with it
  std::optional<std::string> key{};
};

/// What one poll brings.
struct PollResult {
  std::vector<Record>
      records;  ///< settled rows after the cursor, in order; lane fields not yet set
  /// Committed rows wait behind a transaction that may still insert; set only if no record is
  /// brought.
  bool fenced = false;
  std::vector<Blocker> blockers;
  /// The row after `records` that cannot be read, so the lane halts once it is reached.
  struct Unreadable {
    std::string row_id;
    HaltReason reason = HaltReason::bad_payload;
    std::string detail;
  };
  std::optional<Unreadable> unreadable;
  std::vector<QueuedRow> queued;  ///< settled rows too, in order: set aside without a call
  /// The records were set aside before, and go out first: what was kept of each. Rows that were
  /// parked stay parked if they fail again. Unless they are for several calls, all of them are
  /// redriven or none is; and those that hold a key are of one key, and are put back together.
  std::vector<DueRow> due_rows;
  /// Until rows that are aside may go out by themselves; absent: there is none.
  std::optional<std::chrono::milliseconds> held_for{};
  bool announced = false;   ///< the last settlement announced its first call (`Next::read_ahead`)
  bool prefetched = false;  ///< it was read before the poll that brings it
  /// Its rows join those set aside when it starts, so that after a crash the same rows go out under
  /// the same numbers.
  bool planned = false;
  /// These rows survive a crash once the server's log is flushed up to here; absent: not known.
  /// Only the reader and the store of one source know how to read it.
  std::optional<std::string> durable_after;
  /// Set if late rows are delivered. Once this round has started, no row up to here is missed: each
  /// is delivered, or set aside.
  std::optional<OrderKey> looked_at;

  [[nodiscard]] bool redriven() const { return !due_rows.empty() && due_rows.front().redriven; }
  /// No row to hand over, and none that halts the lane. Rows may still queue, or wait.
  [[nodiscard]] bool empty() const { return records.empty() && !unreadable; }
};

/// What a poll asks for.
struct Wanted {
  std::optional<Position> after;  ///< the cursor; absent: from the first row
  unsigned rows_max = 1;
  /// Rows after this one are not wanted. Those up to it come in the order of their positions.
  std::optional<Position> up_to{};
  /// For several calls in flight, `after` is ahead of the cursor. Then rows up to the cursor are
  /// late, not those up to `after`.
  bool ahead = false;
  std::optional<Position> cursor{};  ///< if `ahead`
};

/// What a kind of source can do.
struct Abilities {
  bool fence = true;  ///< a row may become visible before an earlier one, so later ones wait for it
  bool reread = true;  ///< a row can be read again by its id
};

/// Where one lane's rows come from. Knows nothing of cursors, failures and rows set aside.
///
/// Order: it is the reader's own. Nobody else compares two positions, but for equality.
/// Threads: used by one thread.
/// Errors: SessionLost (open another reader) or SourceBroken (halt).
class Reader {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  [[nodiscard]] virtual Abilities abilities() const = 0;
  /// `row` goes out after `other`.
  [[nodiscard]] virtual bool comes_after(const Position& row, const Position& other) const = 0;

  /// The next rows in order, or what holds them back.
  virtual PollResult poll(const Wanted& wanted) = 0;
  /// Rows by their ids, in that order: those that are still there, up to one that cannot be read.
  /// Each is marked late if it does not come after `after`.
  virtual PollResult reread(const std::vector<std::string>& ids,
                            const std::optional<Position>& after, unsigned rows_max) = 0;

  /// When rows that are expected will be asked for.
  enum class Expected { after_this_call, after_this_settlement };
  /// A hint: `poll` will ask for these next. May do nothing.
  virtual void expect(const Position& /*after*/, unsigned /*rows_max*/, Expected /*when*/) {}
  /// How many rows were prefetched for that place. The next poll brings them without a statement.
  /// Never waits.
  virtual std::size_t ready(const Position& /*after*/) { return 0; }

  /// The lane was claimed. `anew`: the epoch has changed since the last claim, so somebody else may
  /// have moved the cursor.
  virtual void claimed(std::uint64_t /*epoch*/, bool /*anew*/) {}
  /// The round of the last poll has started, and what PollResult::looked_at says is written down.
  virtual void started() {}
  /// Drop what was read and not asked for: an operator may have corrected it.
  virtual void forget() {}

  /// Sleep until a hint, a wake or the deadline; true if it was not the deadline. Notices a lost
  /// connection too (SessionLost).
  virtual bool wait_until(Time deadline) = 0;
  /// True if new rows send hints, so that polling may be slow.
  [[nodiscard]] virtual bool hints() const = 0;
};

}  // namespace seriatim
