#pragma once

#include <string>

#include "app/traces/span_exporter.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::app {

/// Whose calls are traced.
struct TracedProcess {
  std::string name;
  std::string handler_kind;
  SpanRelation relation = SpanRelation::child;
};

/// The same handler, but each call for a row of a sampled trace makes a span. A handler of single
/// rows gets each row in a call of its own. For a call of one row the receiver gets our span as
/// its parent: the row's header `traceparent` is replaced.
///
/// Order of wrappers: nearest to the handler, because it asks what kind of handler it is.
/// Lifetime: `exporter` outlives the handlers made.
[[nodiscard]] HandlerFactory traced(HandlerFactory factory, TracedProcess process,
                                    SpanExporter& exporter);

/// The record as such a handler passes it on, for people to read: its `traceparent`, which is made
/// in the call, is described.
[[nodiscard]] Record shown_as_traced(const Record& record, SpanRelation relation);

}  // namespace seriatim::app
