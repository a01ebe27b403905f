#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/environment.hpp"
#include "app/secrets.hpp"
#include "seriatim/options.hpp"

namespace seriatim::app {

/// TOML text as the tree that `Options` reads, each value knowing its line, variables substituted.
/// `file` is the name used in messages. Syntax errors, unset variables and kinds of value nobody
/// uses (dates) become problems. Secrets met on the way are learned.
[[nodiscard]] std::shared_ptr<const Options::Table> read_toml(std::string_view text,
                                                              const std::string& file,
                                                              const Environment& environment,
                                                              Secrets& secrets, Problems& problems);

}  // namespace seriatim::app
