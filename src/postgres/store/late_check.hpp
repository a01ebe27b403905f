#pragma once

#include <chrono>
#include <optional>

#include "core/fence.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/reader/written_order.hpp"
#include "postgres/store/recount.hpp"

namespace seriatim::postgres {

/// Where late rows are delivered.
struct LateWindow {
  OrderKey looked_at = order_key_min;  ///< the cursor at the last complete check, as its row says
  OrderKey start = order_key_min;      ///< … less the lookback: rows before it are the audit's
  NotedRange range;                    ///< of it, what ids are known of
};

[[nodiscard]] LateWindow read_late_window(Connection& connection, const LaneId& lane,
                                          const Position& cursor, milliseconds lookback,
                                          const std::optional<OrderKey>& not_before = std::nullopt);

/// late_rows = "deliver" (docs/tables.md): rows that appeared behind the cursor, within the
/// lookback, go out before those after it.
///
/// A complete check covers [cursor at the last complete check − lookback, cursor], so a row that
/// appears within the lookback is always found. Found rows are put aside with the start of their
/// batch, so the window may move on with that.
///
/// Every poll sees which transactions are open, reads the rows after the cursor, and checks, in
/// this order: a transaction that was committed before one of those rows' began brings its rows
/// first, although its stamp lies behind the cursor. What a narrow check covers is enough for that
/// (docs/fence.md): a row that was not there at the poll before is of a transaction that was open
/// then, or began since.
class LateCheck {
 public:
  /// `written_order` outlives this.
  LateCheck(Connection& connection, const Table& table, const SourceConfig& config,
            const LaneId& lane, WrittenOrder& written_order);

  /// Another holder, or an operator, may have moved the cursor.
  void forget() {
    looked_at_ = soon_ = bound_ = std::nullopt;
    found_ = false;
    next_check_ = {};
  }
  /// A poll begins: what the one before it found may not have been put aside.
  void begin() { soon_.reset(); }
  struct Late {
    std::vector<Record> records;  ///< in order
    std::optional<PollResult::Unreadable> unreadable{};
    bool all = true;  ///< there are no others
  };
  /// Comes before the rows after the cursor are read.
  void see_transactions();
  /// Late rows. Comes after the rows after the cursor are read. `idle`: there are none.
  Late run(const std::optional<Position>& cursor, unsigned rows_max, bool idle);
  /// For the start of what this poll found: the cursor at the last complete check, once that is put
  /// aside.
  [[nodiscard]] std::optional<OrderKey> looked_at() const { return soon_ ? soon_ : looked_at_; }
  /// It is.
  void started();

 private:
  [[nodiscard]] std::optional<OrderKey> narrow_start() const;

  Connection& connection_;
  LaneId lane_;
  WrittenOrder& written_order_;
  milliseconds lookback_;
  Recount late_rows_;
  RowReader reader_;

  std::chrono::steady_clock::time_point next_check_{};       ///< a complete one
  std::chrono::steady_clock::time_point next_wide_check_{};  ///< … or a narrow one that is wide
  core::Fence transactions_{order_key_min};
  OrderKey seen_ = order_key_min;  ///< the least bound of those that are open
  std::optional<OrderKey> bound_;  ///< … that were at the last check
  bool found_ = false;             ///< rows that are not put aside yet
  std::optional<OrderKey> looked_at_;
  std::optional<OrderKey> soon_;  ///< … once what this poll found is put aside
};

}  // namespace seriatim::postgres
