#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::handlers {

/// Nesting of JSON that is parsed; deeper payloads can be sent as they are, not taken apart.
inline constexpr unsigned json_depth_max = 100;

/// A parsed JSON text. Numbers are kept as they were written, digit for digit.
struct JsonValue {
  enum class Kind { null, boolean, number, text, list, object };

  Kind kind = Kind::null;
  std::string text;  ///< of text and number; "true" or "false" of boolean
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue, std::less<>> members;  ///< of equal names the last counts

  /// Member of that name; null where there is none.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;
};

/// Throws CannotRender for text that is not JSON (or nested over `json_depth_max`).
[[nodiscard]] JsonValue parse_json(std::string_view text);

/// Why `text` is not JSON that `parse_json` takes; empty: it is.
[[nodiscard]] std::string json_problem(std::string_view text);

}  // namespace seriatim::handlers
