#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "core/fence.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "postgres/reader/lane_connection.hpp"
#include "postgres/reader/recheck_timer.hpp"
#include "postgres/reader/row_reader.hpp"

namespace seriatim::postgres {

/// One lane's reads of its table: clock, locks, rows, each a statement of its own, in that order
/// (docs/fence.md). Lives as long as its connection, because the fence's memory does.
class PollSource {
 public:
  PollSource(Connection& connection, Table table, SourceConfig config, const LaneId& lane);

  /// `expected`: there may well be rows. If there are not, one statement is enough to see it.
  /// `behind`: what came with the settlement before; used if it is for the same place.
  PollResult poll(const std::optional<Position>& after, unsigned rows_max, bool expected = true,
                  std::optional<PolledBehind> behind = std::nullopt);
  /// The statement the next poll begins with, for one who may ask it before; none if it depends on
  /// what is known then.
  std::optional<Statement> begins_with(const Position& after, unsigned rows_max);
  /// Rows with the stamp of the last record may follow the last round.
  [[nodiscard]] bool cut() const { return cut_; }
  /// From now on a round says how far the server's log was written when its rows were read.
  void ask_written() { reader_.ask_written(); }
  /// The cursor was set to another place.
  void forget_ids() { reader_.forget_ids(); }
  /// Something may have come that a poll does not show.
  void prompt() { recheck_.prompt(); }

  /// Id order: throws SourceBroken (CURSOR_AHEAD) where ids will be drawn, or were, behind the
  /// cursor: setval, TRUNCATE … RESTART IDENTITY, an older copy of the table.
  void refuse_cursor_ahead(const Position& cursor);

 private:
  using Holders = std::vector<core::Holder>;

  [[nodiscard]] bool nothing_after(const std::optional<Position>& after);
  PollResult poll_by_created_at(const std::optional<Position>& after, unsigned rows_max);
  PollResult poll_by_id(const std::optional<Position>& after, unsigned rows_max,
                        std::optional<PolledBehind> behind);
  RowReader::Batch first_rows(const Range& range, unsigned rows_max,
                              std::optional<PolledBehind> behind);
  std::vector<Blocker> blockers_of(OrderKey waiting, const Holders& holders);
  PollResult read_settled(const Range& range, unsigned rows_max);

  /// What is settled, and where there is none of it the mark of the first row that waits.
  struct Settled {
    PollResult round;
    std::optional<OrderKey> waiting;
  };
  Settled find_settled(const Range& range, unsigned rows_max);
  std::optional<Settled> settled_of(const Answer& rows, const Range& range, unsigned rows_max);
  ClockAndHolders read_at(const Range& all, unsigned rows_max);
  void refuse_clock_back(OrderKey clock, const std::optional<Position>& after);
  OrderKey settle(OrderKey f, const std::optional<Position>& after, const Holders& holders);
  std::size_t run_without_hole(const std::vector<Record>& records,
                               const std::optional<Position>& after) const;
  void find_lost_rows(const std::optional<Position>& after, PollResult& round);

  std::optional<OrderKey> floor_for(const std::optional<Position>& after) const;
  void remember_floor(const Range& range, const RowReader::Batch& batch);

  Connection& connection_;
  Table table_;
  SourceConfig config_;
  RowReader reader_;
  WriterNames writers_;
  std::string newest_by_id_;
  bool whole_table_;  ///< every row is this lane's: ids without a hole have nothing between them

  std::optional<core::Fence> fence_;
  OrderKey fence_from_ = order_key_min;
  std::optional<OrderKey> last_clock_;  ///< the latest seen
  struct Floor {
    OrderKey mark = order_key_min;
    std::optional<Position> cursor;  ///< for which it holds
  };
  std::optional<Floor> floor_;
  bool cut_ = false;
  RecheckTimer recheck_;  ///< searches for rows that can never be delivered
};

}  // namespace seriatim::postgres
