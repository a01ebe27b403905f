#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seriatim::console {

/// Whether a Host header names this server. A page of a foreign site whose name was pointed at our
/// address (DNS rebinding) sends its own name, and is refused.
enum class HostVerdict { ours, foreign, malformed };

/// `local`: the address the connection came in at; `hosts`: names that are ours, in addition to
/// "localhost".
[[nodiscard]] HostVerdict judge_host(std::string_view header, std::string_view local,
                                     const std::vector<std::string>& hosts);

}  // namespace seriatim::console
