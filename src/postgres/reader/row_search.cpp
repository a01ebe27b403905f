#include "postgres/reader/row_search.hpp"

#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "sql/reader.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::uint64_t page_rows = 1'000;

}  // namespace

RowSearch::RowSearch(Connection& connection, const Table& table, const LaneId& lane)
    : connection_(connection), by_id_(table.by_id) {
  rows_after_ = statement_for(sql::reader::rows_after, table, lane);
  count_of_ids_ = statement_for(sql::reader::count_of_ids, table, lane);
}

std::optional<RowSearch::Row> RowSearch::first(const std::optional<Position>& after,
                                               const std::optional<OrderKey>& floor) {
  return walk(after, floor, true);
}

RowSearch::Survey RowSearch::survey(const std::optional<Position>& after) {
  const auto row = walk(after, std::nullopt, false);
  if (!row) return {passed_, std::nullopt};
  return {passed_, UnreadRow{row->id, refusal_->what(), refusal_->reason(), passed_}};
}

/// The first row at which it must stop: one that cannot be judged, or the first of the lane.
std::optional<RowSearch::Row> RowSearch::walk(std::optional<Position> after,
                                              const std::optional<OrderKey>& floor,
                                              bool up_to_match) {
  passed_ = 0;
  refusal_.reset();
  for (std::uint64_t sought = 0;;) {
    const auto page = read_page(after, floor);
    if (page.empty()) return std::nullopt;
    if (sought >= rows_max) throw out_of_reach();
    const auto [rows, stopped] = pass(page, up_to_match);
    if (stopped) return page[rows];
    after = Position{page[rows - 1].created_at_us.value_or(0), page[rows - 1].id};
    sought += rows;
  }
}

SourceBroken RowSearch::out_of_reach() const {
  const auto why = refusal_ ? std::string(": ") + refusal_->what() : std::string();
  return {HaltReason::bad_payload, "a row behind the next " + std::to_string(rows_max) +
                                       " cannot be judged by `where` or `key`" + why};
}

/// Leaves behind what it may, found by halving.
RowSearch::Passed RowSearch::pass(const std::vector<Row>& rows, bool up_to_match) {
  std::size_t begin = 0;
  std::size_t end = rows.size();
  const auto passes = [&](std::size_t from, std::size_t to) {
    const auto found = count(rows, from, to);
    if (!found || (up_to_match && *found > 0)) return false;
    passed_ += *found;
    return true;
  };
  if (passes(begin, end)) return {end, false};
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    (passes(begin, middle) ? begin : end) = middle;
  }
  if (passes(begin, end)) return {end, false};  // changed meanwhile
  return {begin, true};
}

std::vector<RowSearch::Row> RowSearch::read_page(const std::optional<Position>& after,
                                                 const std::optional<OrderKey>& floor) {
  const auto id = after ? std::optional(after->id) : std::nullopt;
  std::optional<std::string> least;
  if (floor) least = by_id_ ? std::to_string(*floor) : timestamp_text(*floor);
  const Params params{after ? std::optional(timestamp_text(after->created_at_us)) : std::nullopt,
                      id, least, std::to_string(page_rows)};
  std::vector<Row> page;
  for (const auto& row : connection_.run(rows_after_, params)) {
    const auto& stamp = row["created_at_us"];
    page.push_back({row["id"].as<std::string>(),
                    stamp.is_null() ? std::nullopt : std::optional(stamp.as<std::int64_t>())});
  }
  return page;
}

/// Of the rows from `begin` up to `end`; nothing where one of them cannot be judged.
std::optional<std::uint64_t> RowSearch::count(const std::vector<Row>& rows, std::size_t begin,
                                              std::size_t end) {
  std::vector<std::string> ids;
  for (auto i = begin; i < end; ++i) ids.push_back(rows[i].id);
  try {
    return connection_.run(count_of_ids_, {array_text(ids)})[0][0].as<std::uint64_t>();
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    refusal_ = broken;
    return std::nullopt;
  }
}

}  // namespace seriatim::postgres
