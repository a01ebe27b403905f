#include "postgres/row_reader.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "postgres/sql_text.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}

/// A bound of id order: nothing where there is none.
std::optional<std::string> id_bound(const std::optional<Mark>& mark) {
  if (!mark || *mark == mark_max) return std::nullopt;
  return std::to_string(*mark);
}

std::optional<std::string> time_bound(const std::optional<Mark>& mark) {
  return mark ? std::optional(timestamp_text(*mark)) : std::nullopt;
}

std::optional<std::string> after_at(const Range& range) {
  return range.after ? std::optional(timestamp_text(range.after->created_at_us)) : std::nullopt;
}

std::optional<std::string> after_id(const Range& range) {
  return range.after ? std::optional(range.after->id) : std::nullopt;
}

unsigned char hex_value(char digit) {
  return static_cast<unsigned char>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(hex_value(digits[i]) * 16 + hex_value(digits[i + 1]));
  }
  return bytes;
}

/// [["name", "value"], …] as header_pairs.sql makes it; a JSON null is an empty value.
std::vector<Header> headers_from(const pqxx::field& field) {
  std::vector<Header> headers;
  if (field.is_null()) return headers;
  const auto pairs = boost::json::parse(field.as<std::string>());
  for (const auto& pair : pairs.as_array()) {
    const auto& value = pair.at(1);
    headers.emplace_back(pair.at(0).as_string(), value.is_null() ? "" : value.as_string());
  }
  return headers;
}

/// A broken page hides even the row's id, so the row before it tells where.
[[noreturn]] void name_place(const Range& range, const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw SourceBroken(broken);
  const auto place = range.after ? "after row " + range.after->id : std::string("of the table");
  throw SourceBroken(broken.reason(),
                     "the first row " + place + " cannot be read: " + broken.what());
}

}  // namespace

RowReader::RowReader(Connection& connection, const Table& table, const SourceConfig& config,
                     const LaneId& lane)
    : connection_(connection), config_(config), binary_(table.payload_is_binary) {
  const bool by_id = config.order_by == OrderBy::id;
  rows_ = statement_for(by_id ? sql::rows_by_id : sql::rows_by_created_at, table, lane);
  rows_by_ids_ = statement_for(sql::rows_by_ids, table, lane);
  candidates_ = statement_for(sql::candidates_by_id, table, lane);
  first_row_ = statement_for(sql::first_row_by_created_at, table, lane);
  unstamped_ = statement_for(sql::unstamped_row, table, lane);
}

pqxx::result RowReader::query(const Range& range, unsigned rows_max,
                              const std::optional<std::string>& only_id) {
  // Hex digits are two bytes a byte.
  const auto scale = binary_ ? 2U : 1U;
  const auto rows = std::to_string(rows_max);
  const auto payload_max = std::to_string(config_.payload_max * scale);
  const auto batch_max = std::to_string(config_.batch_bytes * scale);
  if (config_.order_by == OrderBy::id) {
    return connection_.run(rows_, {after_id(range), id_bound(range.settled), id_bound(range.floor),
                                   rows, payload_max, batch_max, only_id});
  }
  return connection_.run(rows_, {after_at(range), after_id(range), time_bound(range.settled),
                                 time_bound(range.floor), rows, payload_max, batch_max, only_id});
}

/// A row whose expressions fail, or whose page is broken, fails the statement for all: then the
/// rows are read one by one until the bad one is the first.
RowReader::Batch RowReader::read(const Range& range, unsigned rows_max) {
  try {
    return convert(query(range, rows_max), rows_max);
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    return read_first(range);
  }
}

RowReader::Batch RowReader::read_first(const Range& range) {
  const auto id = first_id(range);
  return id ? read_one(range, *id) : Batch{};
}

RowReader::Batch RowReader::read_one(const Range& range, const std::string& id) {
  try {
    auto batch = convert(query(range, 1, id), 1);
    batch.complete = false;
    return batch;
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;
    return {{}, Round::Unreadable{id, HaltReason::bad_payload, broken.what()}, false};
  }
}

RowReader::Batch RowReader::query_ids(const std::vector<std::string>& ids,
                                      const std::optional<Position>& cursor, unsigned rows_max) {
  const auto scale = binary_ ? 2U : 1U;
  const auto rows = connection_.run(
      rows_by_ids_,
      {array_text(ids),
       cursor ? std::optional(timestamp_text(cursor->created_at_us)) : std::nullopt,
       cursor ? std::optional(cursor->id) : std::nullopt, std::to_string(rows_max),
       std::to_string(config_.payload_max * scale), std::to_string(config_.batch_bytes * scale)});
  auto batch = convert(rows, rows_max);
  for (std::size_t i = 0; i < batch.records.size(); ++i) {
    batch.records[i].late = rows[static_cast<int>(i)]["late"].as<bool>();
  }
  return batch;
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
      return {{}, Round::Unreadable{id, HaltReason::bad_payload, broken.what()}, false};
    }
  }
  return {};
}

std::optional<std::string> RowReader::first_id(const Range& range) {
  if (config_.order_by == OrderBy::id) {
    const auto ids = candidates(range, 1);
    return ids.empty() ? std::nullopt : std::optional(std::to_string(ids.front()));
  }
  try {
    const auto row =
        connection_.run(first_row_, {after_at(range), after_id(range), time_bound(range.floor)});
    return row.empty() ? std::nullopt : text_of(row[0]["id"]);
  } catch (const SourceBroken& broken) {
    name_place(range, broken);
  }
}

std::vector<Mark> RowReader::candidates(const Range& range, unsigned rows_max) {
  std::vector<Mark> ids;
  try {
    for (const auto& row : connection_.run(
             candidates_, {after_id(range), id_bound(range.floor), std::to_string(rows_max)})) {
      ids.push_back(row[0].as<Mark>());
    }
    return ids;
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload || rows_max == 1) name_place(range, broken);
  }
  return candidates(range, 1);
}

std::optional<Mark> RowReader::first_unsettled(const Range& range) {
  const auto row =
      connection_.run(first_row_, {after_at(range), after_id(range), time_bound(range.settled)});
  if (row.empty()) return std::nullopt;
  return row[0]["created_at_us"].as<Mark>(mark_min);
}

std::optional<Round::Unreadable> RowReader::unstamped() {
  const auto row = connection_.run(unstamped_);
  if (row.empty()) return std::nullopt;
  return Round::Unreadable{row[0]["id"].as<std::string>(), HaltReason::bad_payload,
                           "created_at is " + row[0]["stamp"].as<std::string>() +
                               ", so the row has no place in the order: correct or delete it"};
}

// --- rows to records ----------------------------------------------------------------------------

RowReader::Batch RowReader::convert(const pqxx::result& rows, unsigned rows_max) const {
  Batch batch;
  if (!rows.empty() && rows[0]["payload_is_binary"].as<bool>() != binary_) {
    throw SessionLost("the type of the payload changed: the table is looked at anew");
  }
  for (const auto& row : rows) {
    batch.unreadable = unreadable(row);
    if (batch.unreadable) return batch;
    batch.records.push_back(record_from(row));
  }
  const auto found = rows.empty() ? 0U : rows[0]["found"].as<std::size_t>();
  batch.complete = found < rows_max && batch.records.size() == found;
  return batch;
}

std::optional<Round::Unreadable> RowReader::unreadable(const pqxx::row& row) const {
  const auto id = row["id"].as<std::string>("");
  const auto bad = [&](std::string why) {
    return Round::Unreadable{id, HaltReason::bad_payload, std::move(why)};
  };
  if (row["id"].is_null()) return bad("its id is NULL");
  if (row["created_at_us"].is_null()) return bad("its created_at is NULL or infinite");
  if (row["fits"].as<bool>()) return std::nullopt;
  const auto scale = binary_ ? 2U : 1U;
  const auto payload = row["payload_bytes"].as<std::size_t>() / scale;
  const bool is_payload = payload > config_.payload_max;
  const auto bytes = is_payload ? payload : row["other_bytes"].as<std::size_t>();
  return bad((is_payload ? "its payload has " : "its key, event type and headers have ") +
             std::to_string(bytes) + " bytes, payload_max is " +
             std::to_string(config_.payload_max));
}

Record RowReader::record_from(const pqxx::row& row) const {
  Record record;
  record.position = {row["created_at_us"].as<std::int64_t>(), row["id"].as<std::string>()};
  record.key = text_of(row["key"]);
  record.event_type = text_of(row["event_type"]);
  record.payload = text_of(row["payload"]);
  if (binary_ && record.payload) record.payload = from_hex(*record.payload);
  record.headers = headers_from(row["headers"]);
  return record;
}

}  // namespace seriatim::postgres
