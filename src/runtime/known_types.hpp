#pragma once

#include <string>
#include <vector>

#include "seriatim/async_handler.hpp"

namespace seriatim::runtime {

/// The same handler, but a row of an event type that is not listed is poison and never handed
/// over. An empty list names every type.
[[nodiscard]] HandlerFactory only_known_types(const std::vector<std::string>& event_types,
                                              HandlerFactory factory);
[[nodiscard]] AsyncHandlerFactory only_known_types(const std::vector<std::string>& event_types,
                                                   AsyncHandlerFactory factory);

}  // namespace seriatim::runtime
