#pragma once

#include <string>
#include <vector>

namespace seriatim::testing {

/// The string literals of C++ source, adjacent ones joined. Comments, character literals and digit
/// separators are passed over; escapes are left as they are.
[[nodiscard]] std::vector<std::string> string_literals(const std::string& code);

}  // namespace seriatim::testing
