#pragma once

#include <string>

#include "app/post_target.hpp"

namespace seriatim::app {

/// How the span of a call with one row belongs to the span of its row.
enum class SpanRelation {
  child,  ///< in the row's own trace
  link,   ///< in a trace of its own, with a link
};

/// `[traces]`: where spans go, and their form.
struct TracesConfig {
  PostTarget collector;
  SpanRelation relation = SpanRelation::child;
  std::string service_name = "seriatim";
};

[[nodiscard]] TracesConfig read_traces(Options section, Secrets& secrets);

}  // namespace seriatim::app
