#pragma once

#include <string>
#include <string_view>

#include "seriatim/outcome.hpp"

namespace seriatim::handlers {

/// One line a child answered.
struct ExecAnswer {
  std::string id;
  Outcome outcome;      ///< its reason is as the child wrote it
  std::string problem;  ///< why it is no answer; empty: it is
};

/// `{"id":"4711","outcome":"retry","reason":"…","after":5}`; other members are ignored.
[[nodiscard]] ExecAnswer read_answer(std::string_view line);

}  // namespace seriatim::handlers
