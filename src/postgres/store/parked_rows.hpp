#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/queueing.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/store/cursor_repository.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// What is set aside of a process, as the holder of one of its lanes needs it (sql:
/// seriatim.parked).
///
/// Only the holder sets rows of its lane aside, and every act of an operator on them raises the
/// lane's epoch; so what `load` read at the last claim, and was changed here since, is what holds.
class ParkedRows {
 public:
  ParkedRows(Connection& connection, const Table& table, const SourceConfig& config,
             const LaneId& lane);

  /// At a claim. `any`: there are parked rows.
  void load(bool any);
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const core::ParkedKeys& keys() const { return keys_; }

  /// When a parked row may take the number after the cursor's.
  enum class Begin {
    never,      ///< only one that was started goes out
    caught_up,  ///< no receiver may have seen that number
    idle        ///< no row waits, so none has that number
  };
  /// The next row to be handed over again, alone; nothing where there is none. One that cannot be
  /// read stays parked.
  Round redrive(const std::optional<Position>& cursor, Begin begin);
  /// The row of the last round is one `redrive` gave.
  [[nodiscard]] bool redriving() const { return redriven_.has_value(); }
  /// For the start of its call.
  [[nodiscard]] CursorRepository::Plan planned() const { return plan_; }

  // In the lock's transaction:
  /// Rows that queue behind a parked one of their key.
  void queue(const std::vector<QueuedRow>& rows);
  /// The row being redriven was handed over.
  void take();
  /// A failed row is parked: the cursor moves to `to`.
  bool park(std::uint64_t epoch, const Parking& parking, const Position& to,
            const std::vector<std::string>& open_ids);

 private:
  void put_back(const std::string& id, const std::string& why);

  Connection& connection_;
  LaneId lane_;
  RowReader reader_;
  bool plans_batches_;  ///< others than those redriven
  bool any_ = false;
  core::ParkedKeys keys_;
  std::optional<std::string> redriven_;
  CursorRepository::Plan plan_;
};

}  // namespace seriatim::postgres
