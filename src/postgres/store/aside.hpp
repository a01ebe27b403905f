#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/queueing.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// What the start of a batch from seriatim.aside needs (sql/store/start_due.sql).
struct DueBatch {
  bool redriven = false;  ///< its rows were parked
  struct Row {
    Position position;
    std::optional<std::string> key;
    bool late = false;
  };
  std::vector<Row> rows;
};

/// A row that goes out before those after the cursor.
struct DueRow {
  std::string id;
  bool begun = false;                 ///< a receiver may have seen it
  bool redriven = false;              ///< it was parked
  std::optional<bool> late;           ///< absent: if it stands behind the cursor then
  std::optional<Mark> created_at_us;  ///< absent: not known
};

/// More rows than a batch has, also with a group that is read whole (WrittenOrder).
constexpr unsigned batch_max = 20'000;

/// For reports and acts: the due rows of a lane in their order, those that were begun first.
[[nodiscard]] std::vector<DueRow> due_rows(Connection& connection, const LaneId& lane,
                                           unsigned rows_max);

/// Rows of a lane that do not simply follow its cursor (seriatim.aside), as its holder needs them:
/// those that are parked, those that queue behind one of these, and those that are due.
///
/// If late rows are delivered, every batch goes out from there: rows may appear between the cursor
/// and a row that was begun, and after a crash the same rows must go out under the same numbers.
///
/// Only the holder of a lane and acts of operators change what is aside of it, and both change the
/// cursor's row in the same transaction, an act also its epoch. So what `load` read at the last
/// claim, and was changed here since, is what holds.
class Aside {
 public:
  Aside(Connection& connection, const Table& table, const SourceConfig& config, const LaneId& lane);

  /// At a claim, which was granted at `epoch`. `any`: there are rows of the process.
  void load(bool any, std::uint64_t epoch);
  /// Rows are parked, or queue.
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const core::ParkedKeys& keys() const { return keys_; }

  /// Which rows may be begun now, besides those that were begun.
  enum class Begin {
    none,
    caught_up,  ///< due rows, unless a receiver may have seen the number after the cursor's
    idle        ///< due rows: no row waits, so none has that number
  };
  /// The next due rows, in their order; nothing if there are none. A parked row that cannot be read
  /// is parked again.
  Round due(const std::optional<Position>& cursor, unsigned rows_max, Begin begin);
  /// The round that goes out, before rows of it queue; `from_aside`: `due` gave it.
  void choose(const Round& round, bool from_aside);
  /// For the start of that round; nothing if it does not go out from seriatim.aside.
  [[nodiscard]] const std::optional<DueBatch>& batch() const { return batch_; }
  [[nodiscard]] bool redriving() const { return batch_ && batch_->redriven; }
  /// A row of that round is handed over, or queues, without moving the cursor.
  [[nodiscard]] bool is_late(const std::string& id) const { return late_.contains(id); }

  // In the transaction of a settlement:
  /// Puts rows there that queue behind a parked one of their key. Nothing if there are none.
  [[nodiscard]] std::optional<Statement> queue(const std::vector<QueuedRow>& rows) const;
  /// Takes rows of the round out that were handed over. `taken`: its answer.
  [[nodiscard]] std::optional<Statement> take(const std::vector<std::string>& ids) const;
  void taken(const std::vector<std::string>& ids, const Answer& answer);

  /// A failed row was parked.
  void parked(const Park& park, bool holds_key);

 private:
  [[nodiscard]] bool may_have_due() const { return any_ || !none_due_ || !begun_.empty(); }
  std::vector<DueRow> read_due(unsigned rows_max, Begin begin);
  Round round_of(const std::vector<DueRow>& due, const std::optional<Position>& cursor,
                 unsigned rows_max);
  void leave_out(const DueRow& row, const std::optional<Round::Unreadable>& unreadable);

  Connection& connection_;
  LaneId lane_;
  std::string forget_due_;  ///< statements
  std::string put_back_parked_;
  RowReader reader_;
  bool keeps_all_;  ///< late rows are delivered
  bool any_ = false;
  bool none_due_ = false;        ///< seen since the claim, but for those of `begun_`
  std::set<std::string> begun_;  ///< put there since, and not handed over yet
  core::ParkedKeys keys_;
  std::uint64_t epoch_ = 0;
  bool lost_ = false;  ///< another holder changed what is aside
  std::optional<DueBatch> batch_;
  std::set<std::string> late_;
};

}  // namespace seriatim::postgres
