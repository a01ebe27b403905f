#include "app/desk/masked_payload.hpp"

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>

namespace seriatim::app {

namespace {

namespace json = boost::json;

constexpr std::string_view hidden_leaf = "\"•••\"";

class Masking {
 public:
  explicit Masking(const std::vector<std::string>& paths) : paths_(paths) {}

  [[nodiscard]] std::string text_of(const json::value& payload) {
    append(payload, "payload", true);
    return std::move(text_);
  }

 private:
  /// `nameable`: no name on the way has a dot in it, so `path` means this place alone.
  void append(const json::value& value, const std::string& path, bool nameable) {
    if (const auto* object = value.if_object()) {
      append_members(*object, path, nameable);
    } else if (const auto* array = value.if_array()) {
      append_elements(*array, path, nameable);
    } else if (nameable && std::find(paths_.begin(), paths_.end(), path) != paths_.end()) {
      append_leaf(value);
    } else {
      text_ += hidden_leaf;
    }
  }

  void append_members(const json::object& object, const std::string& path, bool nameable) {
    text_ += '{';
    for (const auto& [name, value] : object) {
      if (text_.back() != '{') text_ += ", ";
      text_ += json::serialize(name) + ": ";
      const bool plain = name.find('.') == json::string_view::npos;
      append(value, path + '.' + std::string(name), nameable && plain);
    }
    text_ += '}';
  }

  void append_elements(const json::array& array, const std::string& path, bool nameable) {
    text_ += '[';
    for (const auto& value : array) {
      if (text_.back() != '[') text_ += ", ";
      append(value, path, nameable);
    }
    text_ += ']';
  }

  /// Boost writes 12.5 as 1.25E1.
  void append_leaf(const json::value& value) {
    const auto* number = value.if_double();
    if (!number) {
      text_ += json::serialize(value);
      return;
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number).ptr;
    text_.append(digits.data(), end);
  }

  const std::vector<std::string>& paths_;
  std::string text_;
};

}  // namespace

std::optional<std::string> masked_payload(std::string_view payload,
                                          const std::vector<std::string>& paths) {
  if (payload.size() > masked_bytes_max) return std::nullopt;
  json::error_code wrong;
  const auto parsed = json::parse(json::string_view(payload.data(), payload.size()), wrong);
  if (wrong) return std::nullopt;
  return Masking(paths).text_of(parsed);
}

}  // namespace seriatim::app
