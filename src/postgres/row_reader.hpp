#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/connection.hpp"
#include "postgres/table.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Where to read.
struct Range {
  std::optional<Position> after;  ///< the cursor
  Mark settled = mark_max;        ///< strictly below; mark_max: no bound
  std::optional<Mark> floor;      ///< at or above: no row of ours waits below
};

/// Reads one lane's rows of one table: statements of sql/queries/ in, records out.
class RowReader {
 public:
  RowReader(Connection& connection, const Table& table, const SourceConfig& config,
            const LaneId& lane);

  struct Batch {
    std::vector<Record> records;
    std::optional<Round::Unreadable> unreadable;  ///< the row after them
    bool complete = false;                        ///< nothing else in the range was waiting
  };
  Batch read(const Range& range, unsigned rows_max);

  /// This row alone, where it stands in the range.
  Batch read_one(const Range& range, const std::string& id);

  /// created_at order: the rows of these ids that are there, in that order; late where they stand
  /// behind `cursor`.
  Batch read_ids(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
                 unsigned rows_max);

  /// Id order: ids of rows after the cursor, settled or not.
  std::vector<Mark> candidates(const Range& range, unsigned rows_max);

  /// created_at order: the mark of the first row at or after `range.settled`.
  std::optional<Mark> first_unsettled(const Range& range);

  /// created_at order: a row without a place in the order.
  std::optional<Round::Unreadable> unstamped();

 private:
  pqxx::result query(const Range& range, unsigned rows_max,
                     const std::optional<std::string>& only_id = std::nullopt);
  Batch read_first(const Range& range);
  Batch query_ids(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
                  unsigned rows_max);
  Batch convert(const pqxx::result& rows, unsigned rows_max) const;
  std::optional<Round::Unreadable> unreadable(const pqxx::row& row) const;
  Record record_from(const pqxx::row& row) const;
  std::optional<std::string> first_id(const Range& range);

  Connection& connection_;
  SourceConfig config_;
  bool binary_;
  std::string rows_;
  std::string rows_by_ids_;
  std::string first_row_;
  std::string candidates_;
  std::string unstamped_;
};

}  // namespace seriatim::postgres
