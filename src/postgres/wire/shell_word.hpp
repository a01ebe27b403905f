#pragma once

#include <string>
#include <string_view>

namespace seriatim::postgres {

/// As a word of a command a person may paste into a shell: names hold what their owners put in.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace seriatim::postgres
