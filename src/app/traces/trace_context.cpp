#include "app/traces/trace_context.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/random.h>

#include "app/text.hpp"

namespace seriatim::app {

namespace {

constexpr std::string_view digits = "0123456789abcdef";

template <std::size_t size>
bool read_hex(std::string_view text, std::array<unsigned char, size>& bytes) {
  if (text.size() != 2 * size) return false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto high = digits.find(text[2 * i]);
    const auto low = digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    bytes[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

template <std::size_t size>
bool is_zero(const std::array<unsigned char, size>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

template <class Id>
Id random_id() {
  Id id{};
  while (is_zero(id)) {
    const auto filled = ::getrandom(id.data(), id.size(), 0);
    if (filled == static_cast<ssize_t>(id.size()) || (filled < 0 && errno == EINTR)) continue;
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return id;
}

}  // namespace

std::string TraceParent::text() const {
  return "00-" + hex(trace) + '-' + hex(span) + '-' + hex({&flags, 1});
}

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  constexpr std::size_t length = 55;
  if (text.size() < length || text[2] != '-' || text[35] != '-' || text[52] != '-') return {};
  std::array<unsigned char, 1> version{};
  std::array<unsigned char, 1> flags{};
  TraceParent parent;
  const bool read =
      read_hex(text.substr(0, 2), version) && read_hex(text.substr(3, 32), parent.trace) &&
      read_hex(text.substr(36, 16), parent.span) && read_hex(text.substr(53, 2), flags);
  if (!read || version[0] == 0xff || is_zero(parent.trace) || is_zero(parent.span)) return {};
  const bool longer = text.size() > length;
  if (longer && (version[0] == 0 || text[length] != '-')) return {};
  parent.flags = flags[0];
  return parent;
}

TraceId random_trace_id() {
  return random_id<TraceId>();
}

SpanId random_span_id() {
  return random_id<SpanId>();
}

}  // namespace seriatim::app
