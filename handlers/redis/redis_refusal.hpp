#pragma once

#include <string_view>

namespace seriatim::handlers {

/// What an error the server answered speaks against.
enum class RedisRefusal {
  server,  ///< its state or ours at it: full, loading, read-only, no rights … it may work later
  stream,  ///< the key is something else
  row,     ///< it will never take this row
  id,      ///< the stream is past the id of this row
};

/// By the text of the error, as the server or a script sends it.
[[nodiscard]] RedisRefusal refusal_of(std::string_view error);

}  // namespace seriatim::handlers
