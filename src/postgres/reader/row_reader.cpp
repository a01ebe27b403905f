#include "postgres/reader/row_reader.hpp"

#include <algorithm>
#include <charconv>

#include "postgres/reader/row_records.hpp"
#include "postgres/table/ids_again.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

/// Both ends included; nothing where no id can lie in between.
std::optional<std::pair<OrderKey, OrderKey>> id_range(
    const Range& range, const std::optional<std::string>& only_id = std::nullopt) {
  if (range.settled == order_key_min) return std::nullopt;
  OrderKey first = range.floor.value_or(order_key_min);
  OrderKey last = range.settled == order_key_max ? order_key_max : range.settled - 1;
  if (range.after) {
    const OrderKey after = id_of(*range.after);
    if (after == order_key_max) return std::nullopt;
    first = std::max(first, after + 1);
  }
  if (only_id) {
    const OrderKey only = id_of({0, *only_id});
    first = std::max(first, only);
    last = std::min(last, only);
  }
  return first <= last ? std::optional(std::pair(first, last)) : std::nullopt;
}

std::optional<std::string> time_bound(const std::optional<OrderKey>& mark) {
  return mark ? std::optional(timestamp_text(*mark)) : std::nullopt;
}

std::optional<std::string> after_at(const Range& range) {
  return range.after ? std::optional(timestamp_text(range.after->created_at_us)) : std::nullopt;
}

std::optional<std::string> after_id(const Range& range) {
  return range.after ? std::optional(range.after->id) : std::nullopt;
}

/// A broken page hides even the row's id, so the row before it says where.
[[noreturn]] void name_place(const Range& range, const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw SourceBroken(broken);
  const auto place = range.after ? "after row " + range.after->id : std::string("of the table");
  throw SourceBroken(broken.reason(),
                     "the first row " + place + " cannot be read: " + broken.what());
}

}  // namespace

OrderKey id_of(const Position& position) {
  OrderKey id = 0;
  const auto& text = position.id;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc{} && end == text.data() + text.size()) return id;
  throw SourceBroken(HaltReason::config_changed,
                     "the cursor is at id \"" + text +
                         "\", which is no number: order_by was changed under this process");
}

OrderKey order_key_of(const Position& position, OrderBy order) {
  return order == OrderBy::id ? id_of(position) : position.created_at_us;
}

RowReader::RowReader(Connection& connection, const Table& table, const SourceConfig& config,
                     const LaneId& lane)
    : connection_(connection),
      config_(config),
      table_(table),
      lane_(lane),
      search_(connection, table, lane),
      first_row_(statement_for(sql::table::first_row, table, lane)),
      unstamped_(statement_for(sql::reader::unstamped_row, table, lane)) {}

RowShape RowReader::shape_of(BatchBound bound, bool from_the_start, unsigned rows_max) const {
  return {bound, from_the_start, rows_max, asks_written_ && bound == BatchBound::share};
}

/// Composed once: the same text is the same prepared statement.
const std::string& RowReader::statement(const RowShape& shape) {
  auto& text = statements_[shape];
  if (text.empty()) {
    text = rows_in_range(table_, lane_, shape);
  }
  return text;
}

/// What a row may have where each keeps to its share of the batch.
std::size_t RowReader::share_of(unsigned rows_max) const {
  return std::min(config_.payload_max, config_.batch_bytes / rows_max) *
         bytes_scale(table_.payload_is_binary);
}

/// $1 and $2 of the statements of this bound.
RowReader::Bytes RowReader::limits_of(BatchBound bound, unsigned rows_max) const {
  if (bound == BatchBound::share) return {share_of(rows_max), share_of(rows_max)};
  const auto scale = bytes_scale(table_.payload_is_binary);
  return {config_.batch_bytes * scale, config_.payload_max * scale};
}

Answer RowReader::query(const Range& range, unsigned rows_max, BatchBound bound) {
  auto params = params_of(range, limits_of(bound, rows_max));
  if (!params) return Answer();
  watch_ids(range, *params);
  return connection_.fetch_prepared(statement(shape_of(bound, !range.after, rows_max)), *params);
}

std::optional<Statement> RowReader::asking_for(const Range& unbounded, unsigned rows_max) {
  if (large_rows_) return std::nullopt;
  auto params = params_of(unbounded, limits_of(BatchBound::share, rows_max));
  if (!params) return std::nullopt;
  watch_ids(unbounded, *params);
  return Statement{statement(shape_of(BatchBound::share, !unbounded.after, rows_max)),
                   std::move(*params), true};
}

Answer RowReader::query_one(const Range& range, const std::string& id) {
  auto params = params_of(range, limits_of(BatchBound::bytes, 1), id);
  if (!params) return Answer();
  if (config_.order_by == OrderBy::created_at) params->emplace_back(id);
  return connection_.fetch(row_in_range(table_, lane_, !range.after), *params);
}

/// Nothing where no row can lie in the range.
std::optional<Params> RowReader::params_of(const Range& range, const Bytes& bytes,
                                           const std::optional<std::string>& only_id) const {
  Params params{std::to_string(bytes.first), std::to_string(bytes.second)};
  if (config_.order_by == OrderBy::id) {
    const auto ids = id_range(range, only_id);
    if (!ids) return std::nullopt;
    params.insert(params.end(), {std::to_string(ids->first), std::to_string(ids->second)});
  } else {
    params.insert(params.end(), {after_at(range), after_id(range), timestamp_text(range.settled),
                                 timestamp_text(range.floor.value_or(order_key_min))});
  }
  return params;
}

/// $5 to $7 of began_again.sql.
void RowReader::watch_ids(const Range& range, Params& params) const {
  if (config_.order_by != OrderBy::id) return;
  const bool timed = range.after && range.after->created_at_us != 0;
  params.insert(params.end(),
                {timed ? after_at(range) : std::nullopt, after_id(range),
                 std::to_string(std::max(range.after ? id_of(*range.after) : order_key_min,
                                         drawn_.value_or(order_key_min)))});
}

/// Before any of these rows goes out.
void RowReader::refuse_ids_again(const Answer& rows) {
  if (config_.order_by != OrderBy::id || rows.empty()) return;
  if (const auto again = rows.value(0, "began_again")) {
    throw SourceBroken(HaltReason::cursor_ahead, ids_again_text(table_, lane_.process, *again));
  }
}

RowReader::Batch RowReader::read(const Range& range, unsigned rows_max) {
  return or_the_first(range, [&] {
    return large_rows_ ? read_exactly(range, rows_max) : read_within_share(range, rows_max);
  });
}

RowReader::Batch RowReader::refused(const std::exception_ptr& refusal, const Range& range) {
  return or_the_first(range, [&]() -> Batch { std::rethrow_exception(refusal); });
}

/// A row whose expressions fail, or whose page is broken, fails the statement for all: then the
/// rows are read one by one until the bad one is the first.
RowReader::Batch RowReader::or_the_first(const Range& range, const std::function<Batch()>& read) {
  try {
    return read();
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    return read_first(range);
  }
}

RowReader::Batch RowReader::read_within_share(const Range& range, unsigned rows_max) {
  auto batch = brought(query(range, rows_max, BatchBound::share), rows_max);
  if (large_rows_ && batch.records.empty()) return read_exactly(range, rows_max);
  return batch;
}

/// Up to the first row that is over its share; that row is for the exact way, which sums up.
RowReader::Batch RowReader::brought(const Answer& rows, unsigned rows_max) {
  refuse_ids_again(rows);
  RowRecords read(rows, table_.payload_is_binary, config_.payload_max);
  large_rows_ = !read.whole && !read.unreadable;
  const bool complete = read.whole && read.records.size() < rows_max;
  Batch batch{std::move(read.records), std::move(read.unreadable), complete};
  if (asks_written_ && !rows.empty()) batch.written = rows.value(0, "written");
  if (config_.order_by == OrderBy::id && !batch.records.empty()) {
    drawn_ = std::max(drawn_.value_or(order_key_min), id_of(batch.records.back().position));
  }
  return batch;
}

RowReader::Batch RowReader::read_exactly(const Range& range, unsigned rows_max) {
  const auto rows = query(range, rows_max, BatchBound::bytes);
  refuse_ids_again(rows);
  auto batch = exact(rows, rows_max);
  const auto share = share_of(rows_max) / bytes_scale(table_.payload_is_binary);
  large_rows_ = std::any_of(batch.records.begin(), batch.records.end(),
                            [&](const Record& record) { return bytes_of(record) > share; });
  return batch;
}

RowReader::Batch RowReader::exact(const Answer& rows, unsigned rows_max) const {
  RowRecords read(rows, table_.payload_is_binary, config_.payload_max);
  const auto found = found_in(rows);
  const bool complete = found < rows_max && read.records.size() == found;
  return {std::move(read.records), std::move(read.unreadable), complete};
}

RowReader::Batch RowReader::read_first(const Range& range) {
  const auto row = first_row(range);
  const bool by_id = config_.order_by == OrderBy::id;
  if (!row || (!by_id && row->created_at_us.value_or(order_key_min) >= range.settled)) return {};
  return read_one(range, row->id);
}

RowReader::Batch RowReader::read_one(const Range& range, const std::string& id) {
  try {
    auto batch = exact(query_one(range, id), 1);
    batch.complete = false;
    return batch;
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    return {{}, PollResult::Unreadable{id, HaltReason::bad_payload, broken.what()}, false};
  }
}

RowReader::Batch RowReader::query_ids(const std::vector<std::string>& ids,
                                      const std::optional<Position>& cursor, unsigned rows_max) {
  const auto bytes = limits_of(BatchBound::bytes, rows_max);
  return exact(connection_.fetch(
                   rows_of_ids(table_, lane_, rows_max),
                   {std::to_string(bytes.first), std::to_string(bytes.second), array_text(ids),
                    cursor ? std::optional(timestamp_text(cursor->created_at_us)) : std::nullopt,
                    cursor ? std::optional(cursor->id) : std::nullopt}),
               rows_max);
}

RowReader::Batch RowReader::read_ids(const std::vector<std::string>& ids,
                                     const std::optional<Position>& cursor, unsigned rows_max) {
  try {
    return query_ids(ids, cursor, rows_max);
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
  }
  for (const auto& id : ids) {  // one of them cannot be read: in order, until it is the first
    try {
      auto batch = query_ids({id}, cursor, 1);
      if (!batch.records.empty() || batch.unreadable) return batch;
    } catch (const SourceBroken& broken) {
      if (broken.reason() != HaltReason::bad_payload) throw;
      return {{}, PollResult::Unreadable{id, HaltReason::bad_payload, broken.what()}, false};
    }
  }
  return {};
}

std::optional<WaitingRows::Row> RowReader::first_row(const Range& range) {
  if (config_.order_by == OrderBy::id) {
    const auto ids = candidates(range, 1);
    if (ids.empty()) return std::nullopt;
    return WaitingRows::Row{std::to_string(ids.front()), std::nullopt};
  }
  return first_from(range, range.floor);
}

/// created_at order.
std::optional<WaitingRows::Row> RowReader::first_from(const Range& range,
                                                      const std::optional<OrderKey>& floor) {
  try {
    const auto row =
        connection_.run(first_row_, {after_at(range), after_id(range), time_bound(floor)});
    if (row.empty()) return std::nullopt;
    return WaitingRows::Row{row[0]["id"].as<std::string>(),
                            row[0]["created_at_us"].as<std::int64_t>(order_key_min)};
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
  }
  return find_first(range, floor);
}

/// Where `where` or `key` fails on a row: that one, or one before it.
std::optional<WaitingRows::Row> RowReader::find_first(const Range& range,
                                                      const std::optional<OrderKey>& floor) {
  try {
    return search_.first(range.after, floor);
  } catch (const SourceBroken& broken) {
    name_place(range, broken);
  }
}

std::vector<OrderKey> RowReader::candidates(const Range& range, unsigned rows_max) {
  const auto bounds = id_range(range);
  if (!bounds) return {};
  try {
    std::vector<OrderKey> ids;
    const auto text = statement_for(sql::reader::candidates_by_id, table_, lane_,
                                    {{"rows_max", std::to_string(rows_max)}});
    for (const auto& row : connection_.run_prepared(
             text, {std::to_string(bounds->first), std::to_string(bounds->second)})) {
      ids.push_back(row[0].as<OrderKey>());
    }
    return ids;
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
  }
  if (rows_max > 1) return candidates(range, 1);
  const auto row = find_first(range, bounds->first);
  if (!row || id_of({0, row->id}) > bounds->second) return {};
  return {id_of({0, row->id})};
}

std::optional<OrderKey> RowReader::first_unsettled(const Range& range) {
  const auto row = first_from(range, range.settled);
  return row ? row->created_at_us : std::nullopt;
}

std::optional<PollResult::Unreadable> RowReader::unstamped() {
  const auto row = connection_.run(unstamped_);
  if (row.empty()) return std::nullopt;
  return PollResult::Unreadable{row[0]["id"].as<std::string>(), HaltReason::bad_payload,
                                "created_at is " + row[0]["stamp"].as<std::string>() +
                                    ", so the row has no place in the order: correct or delete it"};
}

}  // namespace seriatim::postgres
