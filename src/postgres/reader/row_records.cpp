#include "postgres/reader/row_records.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <string_view>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

/// As the statements give them; rows_within_share.sql ends with `unsent`.
enum Column : std::size_t {
  id,
  created_at,
  key,
  event_type,
  headers,
  payload,
  unsent,  ///< why; NULL where the row was sent
  payload_bytes,
  other_bytes,
  late,
  found,
  columns
};

using Cell = std::optional<std::string_view>;
using Cells = std::array<Cell, columns>;

Cells cells_of(const Answer& rows, std::size_t row) {
  Cells cells;
  const auto answered = std::min<std::size_t>(rows.columns(), columns);
  for (std::size_t column = 0; column < answered; ++column) cells[column] = rows.cell(row, column);
  return cells;
}

bool is_true(const Cell& cell) {
  return cell && !cell->empty() && cell->front() != 0;
}

/// The network's order of bytes.
std::uint64_t number(const Cell& cell) {
  std::uint64_t n = 0;
  if (!cell) return n;
  for (const char byte : *cell) n = n << 8 | static_cast<unsigned char>(byte);
  return n;
}

unsigned char hex_value(char digit) {
  return static_cast<unsigned char>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

std::string from_hex(std::string_view digits) {
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(hex_value(digits[i]) * 16 + hex_value(digits[i + 1]));
  }
  return bytes;
}

/// Microseconds since 2000 (PostgreSQL: datatype/timestamp.h), infinity at both ends. Nothing where
/// it is no moment of our 64 bits.
std::optional<OrderKey> mark_from(const Cell& cell) {
  constexpr std::int64_t epochs_apart = 946'684'800'000'000;  // 1970 to 2000
  if (!cell) return std::nullopt;
  const auto since_2000 = static_cast<std::int64_t>(number(cell));
  if (since_2000 == order_key_min || since_2000 > order_key_max - epochs_apart) return std::nullopt;
  return since_2000 + epochs_apart;
}

/// [["name", "value"], …] as header_pairs.sql makes it; a JSON null is an empty value.
std::vector<Header> headers_from(const Cell& cell) {
  std::vector<Header> result;
  if (!cell) return result;
  const auto pairs = boost::json::parse(*cell);
  for (const auto& pair : pairs.as_array()) {
    const auto& value = pair.at(1);
    result.emplace_back(pair.at(0).as_string(), value.is_null() ? "" : value.as_string());
  }
  return result;
}

std::optional<PollResult::Unreadable> too_large(const Cells& row, bool binary,
                                                std::size_t payload_max) {
  const auto in_payload = number(row[payload_bytes]) / bytes_scale(binary);
  const auto in_others = number(row[other_bytes]);
  if (in_payload <= payload_max && in_others <= payload_max * bytes_scale(binary)) {
    return std::nullopt;
  }
  const bool is_payload = in_payload > payload_max;
  return PollResult::Unreadable{
      std::string(*row[id]), HaltReason::bad_payload,
      (is_payload ? "its payload has " : "its key, event type and headers have ") +
          std::to_string(is_payload ? in_payload : in_others) + " bytes, payload_max is " +
          std::to_string(payload_max)};
}

Record record_from(const Cells& row, OrderKey created, bool binary) {
  Record record;
  record.position = {created, std::string(*row[id])};
  record.late = is_true(row[late]);
  record.key = row[key];
  record.event_type = row[event_type];
  if (binary && row[payload]) {
    record.payload = from_hex(*row[payload]);
  } else {
    record.payload = row[payload];
  }
  record.headers = headers_from(row[headers]);
  return record;
}

}  // namespace

std::size_t bytes_of(const Record& record) {
  const auto size = [](const std::optional<std::string>& text) { return text ? text->size() : 0; };
  auto bytes = size(record.payload) + size(record.key) + size(record.event_type);
  for (const auto& [name, value] : record.headers) bytes += name.size() + value.size();
  return bytes;
}

std::size_t found_in(const Answer& rows) {
  return rows.empty() ? 0 : number(rows.cell(0, found));
}

RowRecords::RowRecords(const Answer& rows, bool binary, std::size_t payload_max) {
  records.reserve(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const auto row = cells_of(rows, at);
    if (row[unsent] == "retyped") {
      throw SessionLost("the type of the payload changed: the table is checked anew");
    }
    const auto bad = [&](std::string why) {
      return PollResult::Unreadable{std::string(row[id].value_or("")), HaltReason::bad_payload,
                                    std::move(why)};
    };
    const auto created = mark_from(row[created_at]);
    if (!row[id]) {
      unreadable = bad("its id is NULL");
    } else if (!created) {
      unreadable = bad("its created_at is NULL or infinite");
    } else if (row[unsent]) {
      unreadable = too_large(row, binary, payload_max);
    }
    whole = !row[unsent] && !unreadable;
    if (!whole) return;
    records.push_back(record_from(row, *created, binary));
  }
}

}  // namespace seriatim::postgres
