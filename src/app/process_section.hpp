#pragma once

#include "app/config_file.hpp"
#include "seriatim/options.hpp"

namespace seriatim::app {

/// Reads one `[[process]]` with its source and handler, noting problems; what could not be read
/// keeps its default.
[[nodiscard]] ConfiguredProcess read_process(Options& section, const HandlerRegistry& handlers);

}  // namespace seriatim::app
