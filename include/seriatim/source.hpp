#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "seriatim/config.hpp"
#include "seriatim/error.hpp"
#include "seriatim/observer.hpp"
#include "seriatim/record.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim {

/// The cursor row of one lane as last read.
struct Cursor {
  enum class State { running, retrying, halted, paused };

  std::optional<Position> position;  ///< absent before the first row
  std::uint64_t sequence = 0;        ///< of the row at `position`
  std::uint64_t set_aside = 0;       ///< of the numbers up to it, how many went to rows set aside
  std::uint64_t epoch = 0;
  State state = State::running;
  unsigned attempts = 0;     ///< started for the row after `position`
  unsigned crashes = 0;      ///< of those, how many ended with the process
  milliseconds retry_in{0};  ///< state retrying: still to wait; may be 0
  std::optional<HaltReason> reason;
  std::string detail;
  std::optional<std::string> row_id;  ///< the row that failed
  std::optional<Position> barrier;    ///< lanes are being cut anew: nothing after this goes out
  bool held = false;                  ///< a person waits for a turn: no call may be announced
  unsigned parked = 0;  ///< rows of the process that failed and were set aside (`on_poison`)

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// Answer to a claim.
struct Claim {
  bool granted = false;
  Cursor cursor;            ///< as it now stands, whoever holds it
  std::string holder;       ///< who does: this relay when granted
  bool has_parked = false;  ///< granted, and rows of the process are set aside
  std::string waits_for;    ///< not granted: there is no cursor yet, and why none can be created
  /// Granted with a new epoch, and nobody held the lane since this relay did.
  bool rejoined = false;
  /// Not granted: the holder was seen to renew its lease, so it lives.
  bool holder_lives = false;
};

/// A row whose key is parked: it queues behind the parked row of its key and is not handed over.
struct QueuedRow {
  Position position;
  std::optional<std::string> key;
  std::size_t before = 0;  ///< it stands before this one of Round::records, or Settlement::done
  bool late = false;       ///< … and behind the cursor

  friend bool operator==(const QueuedRow&, const QueuedRow&) = default;
};

/// One look at the table.
struct Round {
  std::vector<Record>
      records;  ///< settled rows after the cursor, in order; lane fields not yet set
  /// Committed rows wait behind a transaction that may still insert; told where no record is
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
  bool redriven = false;   ///< the record is a parked row, which stays parked where it fails again
  bool announced = false;  ///< the last settlement announced its first call (`Next::read_ahead`)
};

/// What a cursor says after a row failed.
struct Failure {
  std::string row_id;
  std::string detail;

  friend bool operator==(const Failure&, const Failure&) = default;
};

// What becomes of the row after those that are done.

/// Its call comes next, and is announced with this: it counts as attempted once.
struct Next {
  std::size_t rows = 1;     ///< that the call may take, with those that queue among them
  bool read_ahead = false;  ///< it is the first row of the round that was read ahead

  friend bool operator==(const Next&, const Next&) = default;
};
/// Nothing yet.
struct Rest {
  friend bool operator==(const Rest&, const Rest&) = default;
};
/// It failed, and is tried again in `delay`.
struct Retry {
  Failure failure;
  milliseconds delay{0};

  friend bool operator==(const Retry&, const Retry&) = default;
};
/// The lane halts at it.
struct Halt {
  HaltReason reason = HaltReason::poison;
  Failure failure;

  friend bool operator==(const Halt&, const Halt&) = default;
};
/// It failed and is set aside: the cursor moves onto it, unless it is late. A row that was parked
/// before stays parked, and so do the rows of its key.
struct Park {
  Position row;
  std::optional<std::string> key;
  bool late = false;       ///< it stands behind the cursor, which stays where it is
  bool holds_key = false;  ///< later rows of its key queue behind it
  unsigned attempts = 1;
  std::string detail;

  friend bool operator==(const Park&, const Park&) = default;
};
using Fate = std::variant<Next, Rest, Retry, Halt, Park>;

/// What became of a call: rows that were delivered, rows that queue behind a parked one, and the
/// row after them. All of it is one commit.
struct Settlement {
  std::optional<Position> from;
  std::vector<Position> done;
  std::vector<QueuedRow> queued;
  Fate fate = Rest{};

  [[nodiscard]] bool announces() const { return std::holds_alternative<Next>(fate); }
  /// A row failed, or the lane halts.
  [[nodiscard]] bool failed() const { return fate.index() > 1; }
};

/// The answer to a statement that may announce a call.
enum class Grant {
  ours,  ///< done; a call that it announced may be made
  held,  ///< a person waits for a turn: nothing is announced. What became of a call is settled
  lost   ///< refused, and nothing changed: another holds the lane, or an act came first
};

/// One lane's connection to its database: reads rows, and keeps the cursor.
///
/// No transaction is open between two of these functions, unless the handler was lent one. A lane
/// is protected by what its row says: holder, epoch, lease, and whether a call is announced. Each
/// write compares the epoch and the position.
///
/// Threads: used by one thread; only `wake` may be called from others.
/// Errors: every function throws SessionLost (drop this object and open another) or SourceBroken
/// (halt). After SessionLost nothing is known about the call in flight: claim again and look.
class LaneSession {
 public:
  LaneSession() = default;
  LaneSession(const LaneSession&) = delete;
  LaneSession& operator=(const LaneSession&) = delete;
  virtual ~LaneSession() = default;

  /// Become (or stay) the holder, or learn who is. Creates the cursor rows of a process that has
  /// none and never had.
  /// A change of holder is journalled and raises the epoch, as the first claim of a new session
  /// does: a late statement of the old session is refused. Also renews the lease.
  virtual Claim claim() = 0;

  /// Rows after `after`, at most `rows_max`, and what holds the rest back. Where late rows are
  /// delivered: first what was started and not finished, then late rows, in a round of their own.
  /// `may_redrive`: no attempt at the row after the cursor is open, so a parked row that is to go
  /// out again may take the next number; it comes alone, as a late row does.
  virtual Round poll(const std::optional<Position>& after, unsigned rows_max,
                     bool may_redrive = true) = 0;

  /// Begin to read what `poll` will be asked next, while a call is in flight. May do nothing.
  virtual void read_ahead(const Position& /*after*/, unsigned /*rows_max*/) {}
  /// So many rows were read for the place after the round in hand, and nothing else comes first:
  /// the settlement of that round may announce their call. Never waits.
  virtual std::size_t rows_ahead() { return 0; }

  /// Counts an attempt at the row after the cursor and announces its call, of `rows` rows at most;
  /// until it is settled the lease covers it. Once this returns `ours`, every row the last poll saw
  /// survives a crash of the server (promise P7). The count itself may not, if no plan is kept and
  /// no row is parked. `again`: the attempt counted last was never made, so no other is counted.
  virtual Grant start(std::uint64_t epoch, std::size_t rows, bool again = false) = 0;

  /// For a handler that writes to this database: a transaction that holds the cursor row, begun at
  /// its first use and committed by `settle`. Null if there is none to lend.
  virtual Transaction* transaction() { return nullptr; }

  /// Commits what became of a call: moves to the last row that the poll did not call late (late
  /// rows count, but move nothing), sets aside those that queue, and notes the fate of the row
  /// after them.
  virtual Grant settle(std::uint64_t epoch, const Settlement& settlement) = 0;

  /// Give the lane up so that another may have it at once; ends an open transaction first.
  /// `untouched`: the last started attempt was never made, so it is taken off the count.
  virtual void release(std::uint64_t epoch, bool untouched) = 0;

  /// The cursor, without a lease; ends an open transaction first.
  virtual Cursor look() = 0;

  /// The connection is known to be lost: the server, or the network, has ended it. Never waits.
  virtual bool is_lost() noexcept { return false; }

  /// Sleep until a hint, a wake or the deadline; true when it was not the deadline. A lost
  /// connection is seen here too (SessionLost).
  virtual bool wait_until(std::chrono::steady_clock::time_point deadline) = 0;

  /// True when inserts send hints, so that polling may be slow.
  [[nodiscard]] virtual bool hints() const = 0;
};

/// Who a lane session speaks for.
struct LaneId {
  std::string process;
  unsigned lane = 0;
  unsigned lanes = 1;
};

/// Makes `wait_until` of a running session return. Outlives sessions; safe from any thread and,
/// `wake` only, from signal handlers.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake() noexcept;
  void clear() noexcept;
  [[nodiscard]] int fd() const { return fd_; }  ///< readable while woken: for poll(2)
  /// Sleeps until woken (true) or the deadline (false).
  bool wait_until(std::chrono::steady_clock::time_point deadline) const;

 private:
  int fd_;
};

/// Who runs a process, and who holds its lanes: what instances share the lanes by.
struct Roster {
  struct Lane {
    std::string holder;  ///< as the cursor row names it; empty: nobody, or no row yet
    bool free = true;    ///< as far as can be seen a claim would be granted to anyone
  };
  std::vector<std::string> instances;  ///< that run it now, with as many lanes as ours
  std::vector<Lane> lanes;             ///< by number
  bool cut_otherwise = false;          ///< the cursors were cut into another number of lanes
};

/// One instance's connection to the others that run the same process.
///
/// Threads and errors as for LaneSession.
class RosterSession {
 public:
  RosterSession() = default;
  RosterSession(const RosterSession&) = delete;
  RosterSession& operator=(const RosterSession&) = delete;
  virtual ~RosterSession() = default;

  /// `tell`: tells the others too that this instance runs. One that has not told for three seconds
  /// or whose connection is gone counts no longer.
  virtual Roster look(bool tell) = 0;
  /// Tells the others that it runs no longer.
  virtual void leave() = 0;
};

/// One instance's look at what stands behind the cursors of a process, next to delivery.
///
/// Threads and errors as for LaneSession. What it throws never stops a lane.
class AuditorSession {
 public:
  using Time = std::chrono::steady_clock::time_point;

  AuditorSession() = default;
  AuditorSession(const AuditorSession&) = delete;
  AuditorSession& operator=(const AuditorSession&) = delete;
  virtual ~AuditorSession() = default;

  /// One turn, of limited length, over the lanes that this instance holds. Halts a lane that has
  /// rows behind its cursor which were never delivered. Answers when the next turn is due.
  virtual Time look() = 0;
  /// Everything at once, for a drain: of all lanes that this instance or nobody holds, or only of
  /// `lane`. Returns when all was looked at and what was found has halted its lane, or if
  /// `interrupted`.
  virtual void look_through(const std::function<bool()>& interrupted,
                            std::optional<unsigned> lane = std::nullopt) = 0;
  /// Ends a look that is in hand, which throws then, and all to come. From any thread.
  virtual void interrupt() noexcept = 0;
  /// Sleep until a turn is due, a hint may have made one due, or a wake.
  virtual void wait_until(Time due) = 0;
};

/// Where records come from and cursors are kept.
class Source {
 public:
  virtual ~Source() = default;
  /// A new connection for one lane. `holder` names this relay instance, unique per run.
  /// Throws SessionLost when there is none to be had. `waker` outlives the session.
  virtual std::unique_ptr<LaneSession> open(const LaneId& lane, const ProcessConfig& config,
                                            const std::string& holder, Waker& waker) = 0;
  /// A new connection for sharing the lanes of a process; null where instances cannot see each
  /// other: then each stands by for every lane. Throws as `open` does.
  virtual std::unique_ptr<RosterSession> open_roster(const ProcessConfig& /*config*/,
                                                     const std::string& /*holder*/) {
    return nullptr;
  }
  /// A new connection for the audit of a process; null if nothing can appear behind a cursor.
  /// Throws as `open` does. `waker` outlives the session.
  virtual std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& /*config*/,
                                                       const std::string& /*holder*/,
                                                       Waker& /*waker*/) {
    return nullptr;
  }
};

}  // namespace seriatim
