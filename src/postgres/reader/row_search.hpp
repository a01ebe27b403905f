#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postgres/reader/unread_row.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"
#include "seriatim/error.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Reads a lane's rows if `where` or `key` fails on one of them: such a row fails every
/// statement that passes it, so rows are read without them and judged in ever smaller groups.
class RowSearch {
 public:
  RowSearch(Connection& connection, const Table& table, const LaneId& lane);

  /// No row is sought further than this behind a place.
  static constexpr std::uint64_t rows_max = 100'000;

  using Row = WaitingRows::Row;
  /// The first row that is the lane's or cannot be judged. SourceBroken where there is none within
  /// `rows_max`, and more behind.
  std::optional<Row> first(const std::optional<Position>& after,
                           const std::optional<OrderKey>& floor);

  struct Survey {
    std::uint64_t rows = 0;           ///< of the lane, up to the one that cannot be judged
    std::optional<UnreadRow> unread;  ///< … absent: there is none
  };
  /// Of the rows after a place.
  Survey survey(const std::optional<Position>& after);

 private:
  struct Passed {
    std::size_t rows = 0;
    bool stopped = false;  ///< at the row after them
  };
  std::optional<Row> walk(std::optional<Position> after, const std::optional<OrderKey>& floor,
                          bool up_to_match);
  Passed pass(const std::vector<Row>& rows, bool up_to_match);
  std::vector<Row> read_page(const std::optional<Position>& after,
                             const std::optional<OrderKey>& floor);
  std::optional<std::uint64_t> count(const std::vector<Row>& rows, std::size_t begin,
                                     std::size_t end);
  [[nodiscard]] SourceBroken out_of_reach() const;

  Connection& connection_;
  bool by_id_;
  std::string rows_after_;
  std::string count_of_ids_;
  std::uint64_t passed_ = 0;             ///< rows of the lane that the walk left behind
  std::optional<SourceBroken> refusal_;  ///< the latest of a count
};

}  // namespace seriatim::postgres
