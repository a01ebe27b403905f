#pragma once

#include <variant>

#include "app/context.hpp"
#include "app/program.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

/// What to do, and with what.
struct Command {
  Context::Options common;
  Verb verb;
};

[[nodiscard]] std::variant<Command, Answer> parse_command_line(int count,
                                                               const char* const* arguments);

}  // namespace seriatim::app
