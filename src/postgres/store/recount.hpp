#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "postgres/store/bucket_count.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Reports and the auditor count late rows no further.
inline constexpr unsigned late_reported_max = 1'000;

/// One end of a range of positions.
struct Bound {
  std::int64_t created_at_us = 0;
  std::optional<std::string> id;  ///< absent: at this moment, whatever the id
};

/// Positions behind the cursor, and the closed buckets of the ledger that say what was delivered
/// there. The open bucket always counts.
struct NotedRange {
  std::optional<Bound> after;  ///< absent: from the first row on
  Bound up_to;
  std::int64_t first = 0;  ///< buckets by number; first 0: from the oldest
  std::int64_t last = 0;
  std::uint64_t rows = 0;  ///< noted in them
};

/// The place in two columns of a row; nothing if the id is NULL.
[[nodiscard]] std::optional<Position> position_from(const pqxx::row& row, const char* moment,
                                                    const char* id);

/// Compares the table with the ledger of a lane and with seriatim.aside: which rows behind the
/// cursor were neither delivered nor set aside? The auditor, `audit`, `prune` and the check for
/// late rows ask it.
class Recount {
 public:
  Recount(Connection& connection, const Table& table, const LaneId& lane);

  /// Buckets after `number`, in order, the open one last. `lane.lanes` decides nothing here: each
  /// bucket knows how many lanes there were.
  [[nodiscard]] std::vector<BucketCount> buckets(std::int64_t number, unsigned at_most);
  /// What was delivered last, about `rows_about` rows of it, up to `up_to` where that is a moment.
  [[nodiscard]] std::optional<NotedRange> newest(const Bound& up_to, std::uint64_t rows_about);
  /// The buckets after `number` that still have their ids and end before `before`; nothing where
  /// there are none.
  [[nodiscard]] std::optional<NotedRange> next(std::int64_t number,
                                               const std::optional<OrderKey>& before,
                                               std::uint64_t rows_about);

  /// In order, at most `late_max`. Checks no more than `rows_max` rows of the table.
  [[nodiscard]] std::vector<Position> find(const NotedRange& range, std::uint64_t rows_max,
                                           unsigned late_max);

  struct NotDelivered {
    std::vector<Position> late;  ///< in order; some of them, at most, if there are very many
    std::uint64_t aside = 0;     ///< rows of seriatim.aside among those that were checked
  };
  /// As `find`, and separates the rows in seriatim.aside that the ledger does not count: they go
  /// out before the rows after the cursor. A row leaves that table for the ledger in a transaction
  /// that holds the cursor, so this is exact under its lock and within one snapshot.
  [[nodiscard]] NotDelivered not_delivered(const NotedRange& range, unsigned late_max);

  /// Late rows at or below the horizon, where prune left no row: in order, at most `late_max`.
  [[nodiscard]] std::vector<Position> below_horizon(unsigned late_max);

  /// The row of that id, if it is late.
  [[nodiscard]] std::optional<Position> one(const Position& cursor, const std::string& id);

  /// Those of the ids that any lane of the process has delivered or set aside, wherever they were.
  [[nodiscard]] std::set<std::string> noted(const std::vector<std::string>& ids);
  /// Counts rows as delivered or set aside in the closed buckets they belong in; answers the ids of
  /// the others, which belong in the open one.
  [[nodiscard]] std::vector<std::string> note(const std::vector<Position>& rows);

 private:
  [[nodiscard]] std::vector<Position> without_noted(const pqxx::result& rows);
  NotDelivered without_aside(unsigned late_max,
                             const std::function<std::vector<Position>(unsigned)>& find_some);
  std::uint64_t leave_out_aside(std::vector<Position>& late);
  [[nodiscard]] NotedRange range_from(const pqxx::row& row) const;

  Connection& connection_;
  LaneId lane_;
  std::string buckets_;
  std::string below_horizon_;
  std::string late_rows_;
  std::string late_row_;
  std::string note_late_rows_;
};

}  // namespace seriatim::postgres
