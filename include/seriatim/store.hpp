#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "seriatim/config.hpp"
#include "seriatim/error.hpp"
#include "seriatim/reader.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim {

/// Rows after the cursor that a receiver may have seen, if several calls are in flight.
struct RowsAhead {
  /// A row that is not known to be done. It keeps its number, or queues.
  struct Open {
    std::uint64_t number = 0;  ///< Record::sequence; 0: it queues, and gets a later one
    std::string id;
    unsigned attempts = 0;  ///< announced; 0: no receiver has seen it

    friend bool operator==(const Open&, const Open&) = default;
  };
  std::vector<std::string> done;         ///< ids, in lane order
  std::vector<std::string> set_aside{};  ///< … of these, the ones that failed and are aside
  std::vector<Open> open;                ///< in lane order
  std::vector<Open> aside{};             ///< due rows, which have no place among the others
  std::uint64_t numbered_to = 0;         ///< the greatest number that a row was given
  std::optional<Position> to{};          ///< the last of these rows in lane order

  [[nodiscard]] bool empty() const { return done.empty() && open.empty() && aside.empty(); }
  friend bool operator==(const RowsAhead&, const RowsAhead&) = default;
};

/// The cursor row of one lane as last read.
struct Cursor {
  enum class State { running, retrying, halted, paused };

  std::optional<Position> position;  ///< absent before the first row
  std::uint64_t sequence = 0;        ///< of the row at `position`
  /// No receiver has seen a greater number, as of the claim or the last read.
  std::uint64_t handed_to = 0;
  std::uint64_t set_aside = 0;  ///< how many numbers up to `sequence` went to rows set aside
  std::uint64_t epoch = 0;
  State state = State::running;
  unsigned attempts = 0;                  ///< started for the row after `position`
  unsigned crashes = 0;                   ///< of those, how many ended with the process
  std::chrono::milliseconds retry_in{0};  ///< state retrying: still to wait; may be 0
  std::optional<HaltReason> reason;
  std::string detail;
  std::optional<std::string> row_id;  ///< the row that failed
  std::optional<Position> barrier;    ///< lanes are being cut anew: nothing after this goes out
  /// An act has asked for a turn: no call may be announced. Unrelated to `held_keys`.
  bool held = false;
  unsigned parked = 0;     ///< rows of the process that failed and were set aside (`on_poison`)
  unsigned held_keys = 0;  ///< … that are tried again by themselves (`on_retry`)
  RowsAhead ahead{};

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// Answer to a claim.
struct Claim {
  bool granted = false;
  Cursor cursor;            ///< as it is now, whoever holds it
  std::string holder;       ///< who does: this relay when granted
  bool has_parked = false;  ///< granted, and rows of the process are set aside
  std::string waits_for;    ///< not granted: there is no cursor yet, and why none can be created
  /// Granted with a new epoch, and nobody held the lane since this relay did.
  bool rejoined = false;
  /// Not granted: the holder was seen to renew its lease, so it lives.
  bool holder_lives = false;
  /// Granted, and this relay was not the holder before. False if `rejoined`, though the epoch is
  /// new then too.
  bool new_epoch = false;
  /// The source's clock at the claim, µs since 1970. Absent: not known.
  std::optional<std::int64_t> source_clock_us{};
};

/// What a cursor says after a row failed.
struct Failure {
  std::string row_id;
  std::string detail;

  friend bool operator==(const Failure&, const Failure&) = default;
};

// What becomes of the row after those that are done: the fate of the next row.

/// Its call comes next. The settlement announces this call and counts it as the first attempt.
struct Next {
  std::size_t rows = 1;     ///< how many the call may take, rows that queue included
  bool read_ahead = false;  ///< the row is the first of the batch that was read ahead

  friend bool operator==(const Next&, const Next&) = default;
};
/// Nothing yet.
struct Rest {
  friend bool operator==(const Rest&, const Rest&) = default;
};
/// It failed, and is tried again in `delay`.
struct Retry {
  Failure failure;
  std::chrono::milliseconds delay{0};

  friend bool operator==(const Retry&, const Retry&) = default;
};
/// The lane halts at it.
struct Halt {
  HaltReason reason = HaltReason::poison;
  Failure failure;

  friend bool operator==(const Halt&, const Halt&) = default;
};
/// It failed and is set aside: the cursor moves onto it, unless it is late. A row that was parked
/// before stays parked, and so do the rows of its key. A row that is held goes out again by itself.
struct Park {
  Position row;
  std::optional<std::string> key;
  bool late = false;       ///< it was due: the cursor does not move
  bool holds_key = false;  ///< later rows of its key queue behind it
  unsigned attempts = 1;   ///< since it was set aside last
  std::string detail;
  std::optional<std::chrono::milliseconds> retry_in{};  ///< held; absent: a person decides
  bool redriven = false;  ///< several calls in flight: it was parked before, and is put back

  friend bool operator==(const Park&, const Park&) = default;
};
using Fate = std::variant<Next, Rest, Retry, Halt, Park>;

/// What a settlement says of rows after the cursor, if several calls are in flight.
struct InFlight {
  RowsAhead ahead;            ///< replaces what was kept
  std::uint64_t numbers = 0;  ///< so many after the cursor's are given to rows
  unsigned attempts = 0;      ///< at the row after the cursor, this announcement counted
  bool calls = false;         ///< calls are in flight, or begin once this is committed
  /// Late rows that were found are not set aside yet, so how far was searched is not to be kept.
  bool late_rows_left = false;

  friend bool operator==(const InFlight&, const InFlight&) = default;
};

/// What became of a call: rows that were delivered, rows that queue behind a parked one, and the
/// row after them. All of it is one commit.
///
/// If several calls are in flight, `done` has the rows that the cursor passes by this commit, and
/// `fate` is neither Next nor Park. A row that fails is in `parks` then; one that is not late is
/// passed by a later settlement, as a row that queues and is aside.
struct Settlement {
  std::optional<Position> from;
  std::vector<Position> done;
  std::vector<QueuedRow> queued;
  Fate fate = Rest{};
  /// How many numbers, after those of the rows above, stay unused because their rows are gone or
  /// were put back. The cursor's `sequence` counts them.
  std::uint64_t unused = 0;
  std::optional<InFlight> in_flight{};
  std::vector<Position> done_aside{};  ///< due rows that were parked, and are aside no longer
  std::vector<Position> done_late{};   ///< … that were not parked before
  std::vector<Park> parks{};           ///< rows that failed

  [[nodiscard]] bool announces() const { return std::holds_alternative<Next>(fate); }
  /// Parked rows that failed again.
  [[nodiscard]] std::size_t put_back() const {
    return static_cast<std::size_t>(
        std::count_if(parks.begin(), parks.end(), [](const Park& park) { return park.redriven; }));
  }
  /// Late rows that are parked for the first time.
  [[nodiscard]] std::size_t parked_late() const {
    return static_cast<std::size_t>(std::count_if(
        parks.begin(), parks.end(), [](const Park& park) { return park.late && !park.redriven; }));
  }
  /// A row failed, or the lane halts.
  [[nodiscard]] bool failed() const { return fate.index() > 1; }
};

/// The answer to a statement that may announce a call.
enum class Grant {
  ours,  ///< done; a call that it announced may be made
  held,  ///< a person waits for a turn: nothing is announced. What became of a call is settled
  lost   ///< refused, and nothing changed: another holds the lane, or an act came first
};

/// Keys of which a row is parked. Rows without a key count as rows of one key.
using ParkedKeys = std::set<std::optional<std::string>>;

/// The due rows of a lane, in their order, those that were begun first.
struct DueRows {
  /// A receiver may have seen the number after the cursor's, so no other row may take it.
  bool number_in_use = false;
  std::vector<DueRow> rows;
  /// Until the next held key of the lane is due; absent: none is held.
  std::optional<std::chrono::milliseconds> held_for{};
};

/// What became of a due row that cannot go out: it is parked again, or forgotten.
enum class LeftOut {
  quietly,
  number_unused,  ///< … it had a number, which stays unused: the cursor has changed
  refused         ///< nothing was changed: the lane is another's
};

/// What a start and a settlement must know of the rows of the last poll.
struct Batch {
  struct Row {
    Position position;
    std::optional<std::string> key;
    bool late = false;
  };
  std::vector<Row> rows;       ///< in order, with those that queue; only if `planned`
  std::set<std::string> late;  ///< ids of those that go out, or queue, without moving the cursor
  bool planned = false;        ///< as PollResult::planned, or they were set aside already
  bool redriven = false;       ///< they were parked
  std::optional<std::string> durable_after;
  std::optional<OrderKey> looked_at;
};

/// The call that a start announces.
struct Start {
  std::optional<Position> from;  ///< the cursor's position, which is compared
  std::size_t rows = 1;          ///< that the call may take
  bool again = false;            ///< the attempt counted last was never made: do not count another
  /// The count need not survive a crash of the server: no row set aside depends on it.
  bool may_be_lost = true;
};

/// Which rows are due, for several calls in flight.
struct DueChoice {
  std::vector<std::string> first;  ///< ids that come before others
  ParkedKeys not_of{};             ///< no row that holds one of these keys
  std::vector<std::string> not_these{};
};

/// What a settlement came to.
struct SettleAnswer {
  Grant grant = Grant::lost;
  std::vector<std::optional<std::string>> ended_keys{};  ///< of which no row is parked any more
  int parked = 0;            ///< so many more, or fewer, are parked than before
  int held_keys = 0;         ///< … keys are held
  bool makes_due = false;    ///< the rows before others of their key are delivered: these are due
  ParkedKeys parked_keys{};  ///< of rows that were parked and hold their key, as it was at first
  std::optional<Position> position{};  ///< the cursor's
};

/// Where one lane's cursor is kept, and the rows set aside. Knows nothing of how rows are read.
///
/// A lane is protected by what its row says: holder, epoch, lease, and whether a call is announced.
/// Each write compares the epoch and is one commit. A start and a settlement also compare the
/// position.
///
/// Threads: used by one thread, that of the lane's reader.
/// Errors: SessionLost or SourceBroken. After SessionLost nothing is known about the call in
/// flight: open another store, claim, and read the cursor.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Become (or stay) the holder and renew the lease, or learn who holds the lane. Creates the
  /// cursor rows of a process that never had any.
  /// A change of holder raises the epoch and is journalled. So is the first claim of a new session,
  /// so that a late statement of the old session is refused.
  virtual Claim claim() = 0;
  /// The cursor, without a lease.
  virtual Cursor read_cursor() = 0;

  /// Counts an attempt at the row after the cursor, announces its call, and takes the longer lease
  /// that covers a call. After `ours` every row of the batch survives a crash of the server
  /// (promise P7). Rows of a planned batch are set aside with it.
  virtual Grant start(std::uint64_t epoch, const Start& start, const Batch& batch) = 0;
  /// Commits what became of a call: moves to the last row that is not late (late rows count, but
  /// move nothing), sets aside those that queue, and notes the fate of the row after them.
  virtual SettleAnswer settle(std::uint64_t epoch, const Settlement& settlement,
                              const Batch& batch) = 0;
  /// Give the lane up so that another may have it at once.
  /// `untouched`: the last started attempt was never made, so it is taken off the count.
  virtual void release(std::uint64_t epoch, bool untouched) = 0;

  // Rows set aside. Only the holder of a lane and acts of operators change them; an act raises the
  // epoch. So what was read after a claim holds until the next one.
  /// Keys whose rows queue.
  virtual ParkedKeys parked_keys() = 0;
  /// Makes held rows due whose time has come, with the rows of their keys. `choice`: for several
  /// calls in flight.
  virtual DueRows due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice) = 0;
  /// Parks again a due row that cannot go out if it was parked before, else forgets it.
  /// `unreadable`: why it cannot be read. Absent: it is gone, or has a new place.
  virtual LeftOut leave_out(std::uint64_t epoch, const DueRow& row,
                            const std::optional<std::string>& unreadable) = 0;

  /// For a handler that writes to the store's database: a transaction that holds the cursor's row,
  /// begun at its first use and committed by `settle`. Null if there is none to lend.
  virtual Transaction* transaction(std::uint64_t /*epoch*/,
                                   const std::optional<Position>& /*position*/) {
    return nullptr;
  }
  /// The connection is known to be lost: the server, or the network, has ended it. Never waits.
  virtual bool is_lost() noexcept { return false; }
};

}  // namespace seriatim
