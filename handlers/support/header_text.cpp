#include "support/header_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::size_t value_bytes_max = 8192;

constexpr auto token_chars = [] {
  std::array<bool, 256> table{};
  for (unsigned char c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned char c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (unsigned char c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool is_token_char(char c) {
  return token_chars[static_cast<unsigned char>(c)];
}

bool is_control(char c) {
  return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

}  // namespace

void check_header(std::string_view name, std::string_view value) {
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_token_char)) {
    throw CannotRender("a header's name is not an HTTP token");
  }
  if (std::any_of(value.begin(), value.end(), is_control)) {
    throw CannotRender("header " + std::string(name) + " holds a line break or control character");
  }
  if (value.size() > value_bytes_max) {
    throw CannotRender("header " + std::string(name) + " is over 8192 bytes");
  }
}

bool same_header(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  check_header(name, value);
  lines_.emplace_back(name, value);
}

void HeaderLines::add_number(std::string_view name, std::uint64_t value) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  add(name, {digits.data(), end});
}

void add_delivery_headers(const Record& record, HeaderLines& headers) {
  headers.add("Idempotency-Key", header_encode(record.idempotency_key()));
  headers.add("Seriatim-Process", header_encode(record.process));
  headers.add_number("Seriatim-Lane", record.lane);
  headers.add_number("Seriatim-Sequence", record.sequence);
  if (record.set_aside > 0) headers.add_number("Seriatim-Set-Aside", record.set_aside);
  headers.add_number("Seriatim-Epoch", record.epoch);
  headers.add_number("Seriatim-Attempt", record.attempt);
  if (record.order_by_key) headers.add("Seriatim-Order", "key");
  if (record.late) headers.add("Seriatim-Late", "true");
  if (record.previous_id) headers.add("Seriatim-Previous-Id", header_encode(*record.previous_id));
}

void pass_headers(const Record& record, const std::vector<std::string>& names,
                  HeaderLines& headers) {
  for (const auto& name : names) {
    const auto found = std::find_if(record.headers.begin(), record.headers.end(),
                                    [&](const Header& h) { return same_header(h.first, name); });
    if (found != record.headers.end()) headers.add(name, found->second);
  }
}

}  // namespace seriatim::handlers
