#pragma once

#include <deque>
#include <string>
#include <vector>

#include "core/fence.hpp"
#include "simulation/stage.hpp"

namespace seriatim::simulation {

/// The server's log of commits: what was written may still be lost, what was flushed is not.
struct Wal {
  std::uint64_t written = 0;
  std::uint64_t flushed = 0;

  std::uint64_t commit(bool synchronous) {
    ++written;
    if (synchronous) flush();
    return written;
  }
  void flush() { flushed = written; }
};

/// The outbox table as PostgreSQL keeps it: rows become visible in commit order, the writer's lock
/// is let go strictly later, PREPARE renames the holder, a crash undoes what was not flushed.
class Table {
 public:
  struct Row {
    std::size_t number = 0;  ///< in Evidence::rows
    std::int64_t created_at = 0;
    std::int64_t id = 0;
    unsigned depth = 0;  ///< of the savepoint it was inserted under
    bool bad = false;    ///< cannot be read
    std::optional<std::string> key{};
  };
  using TransactionId = std::size_t;

  explicit Table(Stage& stage);

  // What a transaction does, one step at a time.
  TransactionId begin();
  void lock(TransactionId id, unsigned depth);
  [[nodiscard]] OrderKey clock() const;
  OrderKey draw_created_at() const;  ///< the same, cut to a tick
  /// The server's clock goes back or forward.
  void step_clock(Micros by);
  [[nodiscard]] Micros clock_step() const { return clock_step_; }
  /// It shows so much less than it once did that a poll may be past what is drawn now.
  [[nodiscard]] bool clock_is_behind() const;
  OrderKey draw_id() { return next_id_++; }
  /// `astray`: the place was not drawn under the lock, or from a clock that is behind.
  void insert(TransactionId id, OrderKey created_at, OrderKey row_id, unsigned depth,
              bool astray = false);
  void rollback_to(TransactionId id, unsigned depth);
  void rollback(TransactionId id);
  void leave_fast_path(TransactionId id);  ///< first half of PREPARE
  void prepare(TransactionId id);          ///< second half
  void write_commit(TransactionId id, bool synchronous);
  void show(TransactionId id);  ///< rows become visible; the lock stays
  void let_go(TransactionId id);
  [[nodiscard]] bool is_open(TransactionId id) const;
  [[nodiscard]] std::size_t open_transactions() const;

  // What a person does to a row, in a transaction of one instant.
  /// UPDATE … SET created_at = clock_timestamp(); in id order: inserted again, the old one deleted.
  void give_new_place(const std::string& id);

  /// The server dies and recovers.
  void crash();

  // What a poll reads. The two parts of a read of pg_locks are apart in time.
  /// F: the clock, or one above the last candidate's id; absent when there is no candidate.
  [[nodiscard]] std::optional<OrderKey> high_mark(const std::optional<Position>& after,
                                                  unsigned rows_max) const;
  [[nodiscard]] std::vector<core::Holder> fast_path_holders() const;
  [[nodiscard]] std::vector<core::Holder> shared_holders() const;
  /// Visible rows after the cursor, in order.
  [[nodiscard]] std::vector<Row> rows_after(const std::optional<Position>& cursor) const;
  /// Visible rows after one position, up to and with another, in order.
  [[nodiscard]] std::vector<Row> rows_between(const std::optional<Position>& after,
                                              const Position& up_to) const;
  [[nodiscard]] std::optional<Row> row(const std::string& id) const;
  [[nodiscard]] OrderKey order_key_of(const Row& row) const;
  [[nodiscard]] OrderKey order_key_of(const Position& position) const;

  Wal wal;

 private:
  struct Transaction {
    enum class State { active, written, visible, ended };
    std::string name;
    State state = State::active;
    bool prepared = false;
    bool locked = false;
    bool fast_path = true;
    unsigned lock_depth = 0;
    std::uint64_t lsn = 0;
    std::vector<Row> rows;
  };

  void undo_unflushed();
  void sort_visible();

  Stage& stage_;
  std::deque<Transaction> transactions_;
  std::vector<std::pair<std::uint64_t, Row>> visible_;  ///< by position, with the commit's lsn
  OrderKey next_id_ = 1;
  Micros clock_step_ = 0;
  OrderKey latest_clock_ = order_key_min;  ///< before the last step
};

[[nodiscard]] inline Position position_of(const Table::Row& row) {
  return {row.created_at, std::to_string(row.id)};
}

}  // namespace seriatim::simulation
