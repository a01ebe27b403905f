#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seriatim::postgres {

/// ["4711", "4712"], as to_json makes it of a text[].
[[nodiscard]] std::vector<std::string> ids_from_json(std::string_view json);

}  // namespace seriatim::postgres
