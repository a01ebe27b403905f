#pragma once

#include <string>

#include "support/url.hpp"

namespace seriatim::handlers {

// Which targets a handler may reach when `allow_private` is not set. Numeric addresses are judged
// at connect time, after the name was resolved, so that a name cannot turn private in between.

/// Why this numeric address is refused ("a loopback address", …); empty: it is public.
[[nodiscard]] std::string refusal_of_address(const std::string& address);

/// Why this URL is refused before any name is resolved; empty: nothing speaks against it yet.
[[nodiscard]] std::string refusal_of_url(const Url& url);

}  // namespace seriatim::handlers
