#pragma once

#include <string>
#include <variant>

#include "app/context.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

/// What to do, and with what.
struct Command {
  Context::Options common;
  Verb verb;
};

/// Nothing to do but to say this: help, or what is wrong with the usage.
struct Answer {
  std::string text;
  Exit exit = Exit::done;  ///< done: to stdout; usage: to stderr
};

[[nodiscard]] std::variant<Command, Answer> parse_command_line(int count,
                                                               const char* const* arguments);

}  // namespace seriatim::app
