#pragma once

#include <string>
#include <string_view>

#include "seriatim/options.hpp"
#include "support/template.hpp"

namespace seriatim::handlers {

/// These note a problem with `key` if its value is not usable.
void check_template(Options& options, std::string_view key, const std::string& text,
                    Escaping escaping = Escaping::none);
void check_readable(Options& options, std::string_view key, const std::string& file);

}  // namespace seriatim::handlers
