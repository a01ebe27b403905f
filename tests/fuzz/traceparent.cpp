#include <string>

#include "app/traces/trace_context.hpp"
#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(traceparent) {
  using seriatim::app::parse_traceparent;
  using seriatim::fuzz::require;
  const auto parent = parse_traceparent(input);
  if (!parent) return;
  const auto text = parent->text();
  require(text.substr(2) == input.substr(2, 53), "what is accepted is written as it was");
  require(input.substr(0, 2) != "ff", "version ff is invalid");
  require(input.starts_with("00") ? input.size() == 55 : true, "version 00 has 55 characters");
  require(parent->trace != seriatim::app::TraceId{}, "a trace's id is not all zeros");
  require(parent->span != seriatim::app::SpanId{}, "a span's id is not all zeros");
  require(parse_traceparent(text) == parent, "what is written is accepted");
}
