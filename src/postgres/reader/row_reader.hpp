#pragma once

#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postgres/reader/row_search.hpp"
#include "postgres/table/row_statements.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Where to read.
struct Range {
  std::optional<Position> after;     ///< the cursor
  OrderKey settled = order_key_max;  ///< strictly below; order_key_max: no bound
  std::optional<OrderKey> floor;     ///< at or above: no row of ours waits below
  bool operator==(const Range&) const = default;
};

/// The number of a row in id order.
[[nodiscard]] OrderKey id_of(const Position& position);
[[nodiscard]] OrderKey order_key_of(const Position& position, OrderBy order);

/// Reads one lane's rows of one table: statements in, records out.
class RowReader {
 public:
  RowReader(Connection& connection, const Table& table, const SourceConfig& config,
            const LaneId& lane);

  struct Batch {
    std::vector<Record> records;
    std::optional<PollResult::Unreadable> unreadable;  ///< the row after them
    bool complete = false;                             ///< nothing else in the range was waiting
    /// An LSN, at or behind the commits of all rows of the batch; absent: not known.
    std::optional<std::string> written{};
  };
  Batch read(const Range& range, unsigned rows_max);
  /// For a caller who sends it together with others: reads a range without a bound above. Nothing
  /// where `read` is better. `brought` makes records of what came, also of those behind `range`;
  /// `refused` reads what it can, where that is why it was.
  [[nodiscard]] std::optional<Statement> asking_for(const Range& unbounded, unsigned rows_max);
  Batch brought(const Answer& rows, unsigned rows_max);
  Batch refused(const std::exception_ptr& refusal, const Range& range);

  /// From now on `read` asks how far the server's log was written when the rows were read.
  void ask_written() { asks_written_ = true; }

  /// The cursor was set to another place: what was seen beyond it says nothing any more.
  void forget_ids() { drawn_.reset(); }

  /// This row alone, where it is in the range.
  Batch read_one(const Range& range, const std::string& id);

  /// created_at order: the rows of these ids that are there, in that order; late if they are
  /// behind `cursor`.
  Batch read_ids(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
                 unsigned rows_max);

  /// Id order: ids of rows after the cursor, settled or not.
  std::vector<OrderKey> candidates(const Range& range, unsigned rows_max);

  /// The first row, settled or not, and whether it can be read or not.
  std::optional<WaitingRows::Row> first_row(const Range& range);

  /// created_at order: the mark of the first row at or after `range.settled`.
  std::optional<OrderKey> first_unsettled(const Range& range);

  /// created_at order: a row without a place in the order.
  std::optional<PollResult::Unreadable> unstamped();

 private:
  using Bytes = std::pair<std::size_t, std::size_t>;

  Answer query(const Range& range, unsigned rows_max, BatchBound bound);
  Answer query_one(const Range& range, const std::string& id);
  [[nodiscard]] std::optional<Params> params_of(
      const Range& range, const Bytes& bytes,
      const std::optional<std::string>& only_id = std::nullopt) const;
  [[nodiscard]] RowShape shape_of(BatchBound bound, bool from_the_start, unsigned rows_max) const;
  const std::string& statement(const RowShape& shape);
  void watch_ids(const Range& range, Params& params) const;
  void refuse_ids_again(const Answer& rows);
  Batch read_within_share(const Range& range, unsigned rows_max);
  Batch read_exactly(const Range& range, unsigned rows_max);
  Batch read_first(const Range& range);
  std::optional<WaitingRows::Row> first_from(const Range& range,
                                             const std::optional<OrderKey>& floor);
  std::optional<WaitingRows::Row> find_first(const Range& range,
                                             const std::optional<OrderKey>& floor);
  Batch or_the_first(const Range& range, const std::function<Batch()>& read);
  Batch query_ids(const std::vector<std::string>& ids, const std::optional<Position>& cursor,
                  unsigned rows_max);
  Batch exact(const Answer& rows, unsigned rows_max) const;
  [[nodiscard]] std::size_t share_of(unsigned rows_max) const;
  [[nodiscard]] Bytes limits_of(BatchBound bound, unsigned rows_max) const;

  Connection& connection_;
  SourceConfig config_;
  Table table_;
  LaneId lane_;
  bool large_rows_ = false;  ///< the last batch held one over its share
  bool asks_written_ = false;
  std::optional<OrderKey> drawn_;  ///< id order: the greatest id seen
  std::map<RowShape, std::string> statements_;
  RowSearch search_;  ///< for the row that fails a statement over many
  std::string first_row_;
  std::string unstamped_;
};

}  // namespace seriatim::postgres
