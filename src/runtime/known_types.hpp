#pragma once

#include <string>
#include <vector>

#include "seriatim/handler.hpp"

namespace seriatim::runtime {

/// The same handler, but a row of an event type that is not listed is poison and never handed
/// over. An empty list names every type.
[[nodiscard]] HandlerFactory only_known_types(std::vector<std::string> event_types,
                                              HandlerFactory factory);

}  // namespace seriatim::runtime
