#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/traces/trace_context.hpp"

namespace seriatim::app {

/// The numbers are OTLP's.
enum class SpanKind { internal = 1, client = 3, producer = 4 };

struct SpanAttribute {
  std::string_view name;  ///< a literal
  std::variant<std::string, std::int64_t, double> value;
};

/// One call of a handler, as a trace shows it.
struct CallSpan {
  TraceParent self;
  std::optional<SpanId> parent;  ///< of the same trace
  std::vector<TraceParent> links;
  std::uint32_t links_dropped = 0;
  std::string name;
  SpanKind kind = SpanKind::client;
  std::chrono::system_clock::time_point start;
  std::chrono::nanoseconds duration{0};
  std::vector<SpanAttribute> attributes;
  bool failed = false;
};

}  // namespace seriatim::app
