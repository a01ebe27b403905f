#pragma once

#include <string>

namespace seriatim::handlers {

/// A provider's `{"code": 21211, "message": "…", "status": 400}` as "code 21211: …"; any other
/// text as it is.
[[nodiscard]] std::string provider_error_text(const std::string& body);

}  // namespace seriatim::handlers
