#include "postgres/wire/sql_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>

#include "core/ensure.hpp"

namespace seriatim::postgres {

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

std::string doubled(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  return out += quote;
}

}  // namespace

std::string fill(std::string_view sql, const Placeholders& values) {
  std::string out;
  while (!sql.empty()) {
    const auto open = sql.find('{');
    out += sql.substr(0, open);
    if (open == std::string_view::npos) break;
    sql.remove_prefix(open);
    const auto close = std::find_if_not(sql.begin() + 1, sql.end(), is_name_character);
    if (close == sql.begin() + 1 || close == sql.end() || *close != '}') {  // a brace of the SQL
      out += '{';
      sql.remove_prefix(1);
      continue;
    }
    const auto name = sql.substr(1, static_cast<std::size_t>(close - sql.begin()) - 1);
    const auto value =
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    core::ensure(value != values.end(), "every placeholder of a statement has a value");
    out += value->second;
    sql.remove_prefix(name.size() + 2);
  }
  return out;
}

std::string quote_identifier(std::string_view name) {
  return doubled(name, '"');
}

std::string quote_literal(std::string_view text) {
  auto literal = doubled(text, '\'');
  if (text.find('\\') == std::string_view::npos) return literal;
  std::string escaped = "E";
  for (const char c : literal) escaped += c == '\\' ? std::string(2, c) : std::string(1, c);
  return escaped;
}

std::string fold_identifier(std::string_view name) {
  std::string out;
  if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
    name = name.substr(1, name.size() - 2);
    for (std::size_t i = 0; i < name.size(); ++i) {
      out += name[i];
      if (name[i] == '"' && i + 1 < name.size() && name[i + 1] == '"') ++i;
    }
    return out;
  }
  for (const char c : name) out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

namespace {

std::string array_element(const std::string& element) {
  std::string out = "\"";
  for (const char c : element) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

}  // namespace

std::string array_text(const std::vector<std::string>& elements) {
  std::string out = "{";
  for (const auto& element : elements) {
    if (out.size() > 1) out += ',';
    out += array_element(element);
  }
  return out += '}';
}

std::string nullable_array_text(const std::vector<std::optional<std::string>>& elements) {
  std::string out = "{";
  for (const auto& element : elements) {
    if (out.size() > 1) out += ',';
    out += element ? array_element(*element) : "NULL";
  }
  return out += '}';
}

namespace {

struct CivilDate {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// Days since 1970 to a date of the proleptic Gregorian calendar (H. Hinnant, "chrono-compatible
// low-level date algorithms"); std::chrono's years end at 32767, PostgreSQL's at 294276.
CivilDate civil_from_days(std::int64_t days) {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const auto day_of_era = static_cast<unsigned>(days - era * 146097);
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const unsigned day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned month_from_march = (5 * day_of_year + 2) / 153;
  const unsigned day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
  const unsigned month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

}  // namespace

std::string timestamp_text(std::int64_t microseconds) {
  if (microseconds == INT64_MIN) return "-infinity";
  if (microseconds == INT64_MAX) return "infinity";
  constexpr std::int64_t day_us = 86'400'000'000;
  std::int64_t days = microseconds / day_us;
  std::int64_t rest = microseconds % day_us;
  if (rest < 0) {
    rest += day_us;
    days -= 1;
  }
  const auto date = civil_from_days(days);
  const bool before_christ = date.year <= 0;
  const auto seconds = rest / 1'000'000;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04lld-%02u-%02u %02lld:%02lld:%02lld.%06lld+00%s",
                static_cast<long long>(before_christ ? 1 - date.year : date.year), date.month,
                date.day, static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60),
                static_cast<long long>(rest % 1'000'000), before_christ ? " BC" : "");
  return text.data();
}

namespace {

// Length of the well-formed UTF-8 sequence at the front, 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool outside = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || outside ? 0 : length;
}

}  // namespace

std::string storable_text(std::string_view text, std::size_t bytes_max) {
  std::string out;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    const auto piece = length == 0 ? std::string_view("?") : text.substr(0, length);
    if (out.size() + piece.size() > bytes_max) break;
    if (piece != std::string_view("\0", 1)) out += piece;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace seriatim::postgres
