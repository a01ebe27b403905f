#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "seriatim/outcome.hpp"
#include "seriatim/record.hpp"

namespace seriatim::core {

/// A row after the cursor that keeps its number: what is kept next to the cursor, in its commit.
struct RowAhead {
  std::uint64_t number = 0;
  std::string id;
  bool done = false;
  unsigned attempts = 0;  ///< announced, of a row that is not done; 0: no receiver has seen it

  friend bool operator==(const RowAhead&, const RowAhead&) = default;
};

/// What one commit of a window writes.
struct WindowMove {
  std::optional<Position> to;   ///< the cursor: all rows up to it are done
  std::uint64_t sequence = 0;   ///< number of the row there
  std::vector<Position> done;   ///< that were not done at the commit before, in lane order
  std::vector<RowAhead> ahead;  ///< each row up to `handed_to` that the cursor has not passed
  std::uint64_t handed_to = 0;  ///< no receiver has seen a greater number
};

/// The rows of one lane when calls of several keys are in flight. Rows of one key go out one after
/// another, in lane order; rows of different keys at once. Rows without a key are of one key.
///
/// A row is read, announced by a commit, called, answered, and done by a commit. The cursor is
/// before the first row that is not done. Rows after it are kept next to it, up to the last one
/// that a receiver may have seen. So after a crash no row that was done goes out again, and the
/// others go out under the same numbers, also if rows between them were deleted. The number of a
/// row that was deleted stays unused.
///
/// Pure: no clock, thread or chance. tests/simulation/window_test.cpp judges it.
class Window {
 public:
  struct Limits {
    unsigned in_flight = 1;  ///< calls at once
    /// So many answers may wait for their commit while further calls begin. With 1 the next row of
    /// a key waits for the commit of the row before it, else for its answer.
    unsigned commit_every = 1;
    std::size_t rows = 1;  ///< in the window at once, done or not
  };

  /// After a claim: what the cursor's row says. `one_by_one`: a process ended while it handled one
  /// of the rows ahead, so these go out alone, each with its commit.
  Window(Limits limits, std::optional<Position> cursor, std::uint64_t sequence,
         std::uint64_t handed_to, std::vector<RowAhead> ahead, bool one_by_one);

  // --- reading
  /// So many rows may be added.
  [[nodiscard]] std::size_t room() const;
  /// The row after which to read.
  [[nodiscard]] const std::optional<Position>& read_to() const { return read_to_; }
  /// Rows after `read_to`, in lane order. Those that were done before the claim are passed over.
  void add(std::vector<Record> rows);

  // --- calls
  /// Rows whose calls begin now. A pointer is valid until the row is done.
  [[nodiscard]] std::vector<const Record*> begin();
  void answered(std::uint64_t number, const Outcome& outcome);
  [[nodiscard]] unsigned calls() const { return calls_; }
  /// The first row that failed: no call begins before `retry`.
  [[nodiscard]] const Record* failed() const;
  /// Rows that failed may be called again, once a commit has announced it.
  void retry();

  // --- commits, one at a time
  /// There is something to commit: an answer, rows to announce, or rows that were passed over.
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] WindowMove move();
  /// It is committed.
  void moved();

 private:
  enum class State { waiting, called, answered, failed, moving, done };
  struct Row {
    Record record;
    State state = State::waiting;
    bool announced = false;   ///< by a commit …
    bool announcing = false;  ///< … by the one under way
    bool alone = false;       ///< a process may have ended because of it
    unsigned attempts = 0;    ///< announced
  };
  using Key = std::optional<std::string>;

  void recall(Row& row);
  void forget(std::size_t rows);
  [[nodiscard]] Row* next_to_call() const;
  [[nodiscard]] std::vector<Row*> to_announce() const;
  [[nodiscard]] static bool is_over(const Row& row);
  [[nodiscard]] std::size_t over_in_front() const;
  void release(const Row& row);
  void pass_over(std::size_t rows);

  const Limits limits_;
  std::optional<Position> cursor_;
  std::uint64_t sequence_;
  std::uint64_t handed_to_;
  std::uint64_t last_number_;     ///< the greatest that a row has
  std::deque<RowAhead> known_;    ///< ahead at the claim and not read again yet, in lane order
  std::size_t unknown_rows_ = 0;  ///< read since the claim
  std::optional<Position> read_to_;
  std::deque<Row> rows_;                     ///< after the cursor, in lane order
  std::map<std::uint64_t, Row*> by_number_;  ///< of those, the ones that are not done
  std::map<Key, std::deque<Row*>> keys_;     ///< … in lane order, not released
  std::map<std::uint64_t, Row*> ready_;      ///< … waiting, and the first of their key
  std::size_t alone_ = 0;                    ///< rows that go out one by one, read or not
  unsigned calls_ = 0;
  unsigned uncommitted_ = 0;  ///< rows that are done, but for the commit
  unsigned failures_ = 0;
  bool failure_noted_ = true;
  bool moving_ = false;
};

}  // namespace seriatim::core
