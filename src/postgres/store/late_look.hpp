#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postgres/reader/row_reader.hpp"
#include "postgres/store/cursor_repository.hpp"
#include "postgres/store/late_rows.hpp"

namespace seriatim::postgres {

/// Where late rows are delivered, and what of the last batch started is still to go out.
struct LateWindow {
  std::vector<std::string> planned_ids;  ///< in order
  std::uint64_t sequence = 0;            ///< of the row at the cursor
  Mark looked_at = mark_min;             ///< the cursor at the last complete look
  Mark start = mark_min;                 ///< … less the lookback: rows before it are the audit's
  NotedRange range;                      ///< of it, what ids are known of
};

/// `looked_at`: of this session, where it has looked. Before the first row there is but the plan.
[[nodiscard]] LateWindow read_late_window(Connection& connection, const LaneId& lane,
                                          const std::optional<Position>& cursor,
                                          milliseconds lookback,
                                          const std::optional<Mark>& looked_at = std::nullopt);

/// late_rows = "deliver" (DESIGN §4.4): rows that appeared behind the cursor, within the lookback,
/// go out before those after it.
///
/// Looked at is what lies between the cursor at the last complete look, less the lookback, and the
/// cursor: so a row that appears within the lookback is never passed by. A batch that was started
/// is finished first and in its order, though a late row may have come: nothing overtakes a row
/// that was attempted.
class LateLook {
 public:
  LateLook(Connection& connection, const Table& table, const SourceConfig& config,
           const LaneId& lane);

  /// Before anything else: the batch that was started, else late rows where a look is due.
  Round first(const std::optional<Position>& cursor, unsigned rows_max);
  /// When nothing else is to do; nothing where `first` has looked.
  Round last(const std::optional<Position>& cursor, unsigned rows_max);
  /// The round that goes out, whoever found it.
  void plan(const Round& round);

  /// For the start of the batch: its ids, where it is a new one.
  [[nodiscard]] CursorRepository::Plan planned() const {
    return {planned_, looked_at_, window_.planned_ids, window_.sequence};
  }
  /// Rows up to here are the audit's; nothing before the first row was delivered.
  [[nodiscard]] const std::optional<Mark>& window_start() const { return window_start_; }

  [[nodiscard]] bool is_late(const std::string& id) const { return late_ids_.contains(id); }
  /// The rows done are committed.
  void advanced(const std::vector<std::string>& done);

 private:
  Round look(const Position& cursor, unsigned rows_max);
  Round read(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
             unsigned rows_max);

  Connection& connection_;
  LaneId lane_;
  milliseconds lookback_;
  LateRows late_rows_;
  RowReader reader_;

  LateWindow window_;
  bool looked_ = false;  ///< in this poll
  std::chrono::steady_clock::time_point next_look_{};
  std::optional<Mark> looked_at_;       ///< the cursor at the last look whose rows all went out
  std::optional<Mark> looked_at_soon_;  ///< … once those of `found_` have
  std::set<std::string> found_;
  std::optional<Mark> window_start_;
  std::optional<std::vector<std::string>> planned_;
  std::set<std::string> late_ids_;
};

}  // namespace seriatim::postgres
