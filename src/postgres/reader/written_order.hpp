#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postgres/reader/row_reader.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// created_at order, late_rows = "deliver": rows with the same created_at go out as they were
/// written. Rows stamped by now() share the stamp of their transaction, and random ids would put
/// them in any order.
///
/// PostgreSQL keeps the order of the statements of a transaction in `cmin`, and rows of one
/// statement follow each other in the table (`ctid`). Not promised: rows of one statement in
/// several partitions or in reused space, rows that were updated, and groups that do not fit into
/// one batch.
///
/// A row that goes out after one of its group at a greater position is marked as late, because the
/// cursor is at the greater one by then.
class WrittenOrder {
 public:
  WrittenOrder(Connection& connection, const Table& table, const SourceConfig& config,
               const LaneId& lane);

  /// Sorts the records of a round that begins after the cursor `after`. `goes_on`: rows with the
  /// stamp of the last record may follow them; these are read too, so that the round holds the
  /// whole group and may be longer than asked for.
  void sort(PollResult& round, const std::optional<Position>& after, bool goes_on);
  /// Sorts rows behind the cursor.
  void sort(std::vector<Position>& late);

 private:
  struct Written {
    std::vector<std::string> ids;  ///< in order
    std::vector<bool> behind;      ///< … and whether one before it is at a greater position
    std::map<std::string, std::size_t> places;  ///< of the ids
  };
  Written read(const std::vector<OrderKey>& stamps, const std::optional<Position>& after,
               std::size_t at_most);
  bool read_missing(PollResult& round, const Written& order, const std::optional<Position>& after);

  Connection& connection_;
  RowReader reader_;
  std::string statement_;
  OrderKey unsorted_ =
      order_key_min;  ///< stamp of a group that is too large, or holds a row `where` fails on
};

}  // namespace seriatim::postgres
