#include "postgres/row_records.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <string_view>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

/// As the statements give them: by number, for a name is looked up anew in every row.
enum Column : int {
  id,
  created_at,
  payload_is_binary,
  late,
  payload_bytes,  ///< NULL where the row was sent
  other_bytes,
  key,
  event_type,
  headers,
  payload
};

std::string_view view(const pqxx::field& field) {
  return {field.c_str(), field.size()};
}

bool is_true(const pqxx::field& field) {
  return view(field) == "t";
}

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional<std::string>(view(field));
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

/// What timestamptz_send gives, as \x and 16 digits: microseconds since 2000 (PostgreSQL:
/// datatype/timestamp.h), infinity at both ends. Nothing where it is no moment of our 64 bits.
std::optional<Mark> mark_from(const pqxx::field& field) {
  constexpr std::int64_t epochs_apart = 946'684'800'000'000;  // 1970 to 2000
  if (field.is_null()) return std::nullopt;
  const auto digits = view(field).substr(2);
  std::uint64_t bits = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  const auto since_2000 = static_cast<std::int64_t>(bits);
  if (since_2000 == mark_min || since_2000 > mark_max - epochs_apart) return std::nullopt;
  return since_2000 + epochs_apart;
}

/// [["name", "value"], …] as header_pairs.sql makes it; a JSON null is an empty value.
std::vector<Header> headers_from(const pqxx::field& field) {
  std::vector<Header> result;
  if (field.is_null()) return result;
  const auto pairs = boost::json::parse(field.c_str());
  for (const auto& pair : pairs.as_array()) {
    const auto& value = pair.at(1);
    result.emplace_back(pair.at(0).as_string(), value.is_null() ? "" : value.as_string());
  }
  return result;
}

std::optional<Round::Unreadable> too_large(const pqxx::row& row, bool binary,
                                           std::size_t payload_max) {
  const auto in_payload = row[payload_bytes].as<std::size_t>() / bytes_scale(binary);
  const auto beside_it = row[other_bytes].as<std::size_t>();
  if (in_payload <= payload_max && beside_it <= payload_max * bytes_scale(binary)) {
    return std::nullopt;
  }
  const bool is_payload = in_payload > payload_max;
  return Round::Unreadable{
      row[id].c_str(), HaltReason::bad_payload,
      (is_payload ? "its payload has " : "its key, event type and headers have ") +
          std::to_string(is_payload ? in_payload : beside_it) + " bytes, payload_max is " +
          std::to_string(payload_max)};
}

Record record_from(const pqxx::row& row, Mark created, bool binary) {
  Record record;
  record.position = {created, std::string(view(row[id]))};
  record.late = is_true(row[late]);
  record.key = text_of(row[key]);
  record.event_type = text_of(row[event_type]);
  record.payload = text_of(row[payload]);
  if (binary && record.payload) record.payload = from_hex(*record.payload);
  record.headers = headers_from(row[headers]);
  return record;
}

}  // namespace

RowRecords::RowRecords(const pqxx::result& rows, bool binary, std::size_t payload_max) {
  if (!rows.empty() && is_true(rows[0][payload_is_binary]) != binary) {
    throw SessionLost("the type of the payload changed: the table is looked at anew");
  }
  const auto bad = [](const pqxx::row& row, std::string why) {
    return Round::Unreadable{row[id].c_str(), HaltReason::bad_payload, std::move(why)};
  };
  records.reserve(static_cast<std::size_t>(rows.size()));
  for (const auto& row : rows) {
    const auto created = mark_from(row[created_at]);
    const bool sent = row[payload_bytes].is_null();
    if (row[id].is_null()) {
      unreadable = bad(row, "its id is NULL");
    } else if (!created) {
      unreadable = bad(row, "its created_at is NULL or infinite");
    } else if (!sent) {
      unreadable = too_large(row, binary, payload_max);
    }
    whole = sent && !unreadable;
    if (!whole) return;
    records.push_back(record_from(row, *created, binary));
  }
}

}  // namespace seriatim::postgres
