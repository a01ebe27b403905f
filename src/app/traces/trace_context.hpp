#pragma once

#include <array>
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace seriatim::app {

using TraceId = std::array<unsigned char, 16>;
using SpanId = std::array<unsigned char, 8>;

/// A span's place in its trace, as W3C Trace Context passes it on in the header `traceparent`.
struct TraceParent {
  static constexpr unsigned char sampled_flag = 0x01;

  TraceId trace{};
  SpanId span{};
  unsigned char flags = 0;

  [[nodiscard]] bool sampled() const { return (flags & sampled_flag) != 0; }
  /// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
  [[nodiscard]] std::string text() const;

  friend auto operator<=>(const TraceParent&, const TraceParent&) = default;
};

/// Absent for what the standard calls invalid: another length, capitals, ids of zeros, version ff.
/// A later version is read by the fields that version 00 has.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view text);

/// Lower case.

/// From the system's random numbers; never all zeros. Throws std::system_error if there are none.
[[nodiscard]] TraceId random_trace_id();
[[nodiscard]] SpanId random_span_id();

}  // namespace seriatim::app
