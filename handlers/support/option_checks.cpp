#include "support/option_checks.hpp"

#include <fstream>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

void check_template(Options& options, std::string_view key, const std::string& text,
                    Escaping escaping) {
  try {
    (void)Template(text, escaping);
  } catch (const CannotRender& e) {
    options.problem(key, e.what());
  }
}

void check_readable(Options& options, std::string_view key, const std::string& file) {
  if (!file.empty() && !std::ifstream(file)) options.problem(key, "cannot be read: " + file);
}

}  // namespace seriatim::handlers
