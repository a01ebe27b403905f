#include "support/header_text.hpp"

#include <algorithm>

#include "support/cannot_render.hpp"
#include "support/encoding.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::size_t value_bytes_max = 8192;

bool is_token_char(char c) {
  const bool alnum = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return alnum || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
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

void add_delivery_headers(const Record& record, std::vector<Header>& headers) {
  headers.emplace_back("Idempotency-Key", header_encode(record.idempotency_key()));
  headers.emplace_back("Seriatim-Process", header_encode(record.process));
  headers.emplace_back("Seriatim-Lane", std::to_string(record.lane));
  headers.emplace_back("Seriatim-Sequence", std::to_string(record.sequence));
  if (record.set_aside > 0) {
    headers.emplace_back("Seriatim-Set-Aside", std::to_string(record.set_aside));
  }
  headers.emplace_back("Seriatim-Epoch", std::to_string(record.epoch));
  headers.emplace_back("Seriatim-Attempt", std::to_string(record.attempt));
  if (record.late) headers.emplace_back("Seriatim-Late", "true");
  if (record.previous_id) {
    headers.emplace_back("Seriatim-Previous-Id", header_encode(*record.previous_id));
  }
}

void pass_headers(const Record& record, const std::vector<std::string>& names,
                  std::vector<Header>& headers) {
  for (const auto& name : names) {
    const auto found = std::find_if(record.headers.begin(), record.headers.end(),
                                    [&](const Header& h) { return same_header(h.first, name); });
    if (found != record.headers.end()) headers.emplace_back(name, found->second);
  }
}

}  // namespace seriatim::handlers
