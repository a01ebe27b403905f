#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "app/traces/span.hpp"

namespace seriatim::app {

/// The body of an OTLP/HTTP request: ExportTraceServiceRequest in OTLP's JSON mapping (ids in
/// hexadecimal, 64-bit integers as texts, enums as numbers).
[[nodiscard]] std::string otlp_request(std::span<const CallSpan> spans,
                                       const std::string& service_name);

/// What the collector says in an answer of status 200.
struct PartialSuccess {
  std::uint64_t rejected = 0;
  std::string why;  ///< its own text
};
/// Nothing is rejected if the answer is no JSON, or says nothing of it.
[[nodiscard]] PartialSuccess partial_success(std::string_view answer);

}  // namespace seriatim::app
