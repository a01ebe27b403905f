#pragma once

#include <functional>
#include <string>

#include "app/output.hpp"
#include "app/secrets.hpp"

namespace seriatim::app {

/// Nothing to do but to say this: help, or what is wrong with the usage.
struct Answer {
  std::string text;
  Exit exit = Exit::done;  ///< done: to stdout; usage: to stderr
};
Exit say(const Answer& answer);

/// What follows a command line that cannot be read. `verb`: with a space before it, or empty.
[[nodiscard]] std::string usage_error(const std::string& verb, const std::string& what);

/// What each of our programs does around its work: signals, standard files and memory first; what
/// went wrong becomes words on stderr, with secrets taken out, and an exit code.
int run_program(const std::function<Exit(Secrets&)>& work);

}  // namespace seriatim::app
