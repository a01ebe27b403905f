#pragma once

#include <chrono>
#include <optional>

#include "postgres/reader/row_reader.hpp"
#include "postgres/store/late_rows.hpp"

namespace seriatim::postgres {

/// Where late rows are delivered.
struct LateWindow {
  Mark looked_at = mark_min;  ///< the cursor at the last complete look, as its row says
  Mark start = mark_min;      ///< … less the lookback: rows before it are the audit's
  NotedRange range;           ///< of it, what ids are known of
};

[[nodiscard]] LateWindow read_late_window(Connection& connection, const LaneId& lane,
                                          const Position& cursor, milliseconds lookback);

/// late_rows = "deliver" (DESIGN §4.4): rows that appeared behind the cursor, within the lookback,
/// go out before those after it.
///
/// Each look covers [cursor at the last complete look − lookback, cursor], so a row that appears
/// within the lookback is always found. Found rows are put aside with the start of their batch, so
/// the window may move on with that.
class LateLook {
 public:
  LateLook(Connection& connection, const Table& table, const SourceConfig& config,
           const LaneId& lane);

  /// A poll begins: what the one before it found may not have been put aside.
  void begin() { soon_.reset(); }
  /// Late rows, if a look is due.
  Round first(const std::optional<Position>& cursor, unsigned rows_max);
  /// When nothing else is to do; nothing if `first` has looked.
  Round last(const Position& cursor, unsigned rows_max);
  /// For the start of what this poll found: the cursor at the last complete look, once that is put
  /// aside.
  [[nodiscard]] std::optional<Mark> looked_at() const { return soon_ ? soon_ : looked_at_; }
  /// It is.
  void started();

 private:
  Round look(const Position& cursor, unsigned rows_max);

  Connection& connection_;
  LaneId lane_;
  milliseconds lookback_;
  LateRows late_rows_;
  RowReader reader_;

  bool looked_ = false;  ///< in this poll
  std::chrono::steady_clock::time_point next_look_{};
  bool found_ = false;  ///< rows that are not put aside yet
  std::optional<Mark> looked_at_;
  std::optional<Mark> soon_;  ///< … once what this poll found is put aside
  LateWindow window_;
};

}  // namespace seriatim::postgres
