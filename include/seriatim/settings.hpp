#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "seriatim/options.hpp"

namespace seriatim {

struct Setting;

/// What a configuration file says in a table, said in code:
///
///     {{"url", "https://pay.example"}, {"timeout", "5s"}, {"headers", Settings{{"X-Shop", "7"}}}}
///
/// A key that comes twice has its last value.
class Settings {
 public:
  Settings() = default;
  Settings(std::initializer_list<std::pair<std::string, Setting>> entries);

  void set(std::string key, Setting value);
  /// As handlers read them. `path` names them in messages.
  [[nodiscard]] std::shared_ptr<const Options::Table> table(const std::string& path) const;

 private:
  std::vector<std::pair<std::string, Setting>> entries_;
};

/// One value: text, true or false, a number, a list of texts, or a table.
struct Setting {
  // NOLINTBEGIN(google-explicit-constructor): they are written in braces.
  Setting(const char* text) : value(std::string(text)) {}
  Setting(std::string text) : value(std::move(text)) {}
  Setting(std::same_as<bool> auto flag) : value(flag) {}
  Setting(std::integral auto number) requires(!std::same_as<decltype(number), bool>)
      : value(static_cast<std::int64_t>(number)) {}
  Setting(double number) : value(number) {}
  Setting(std::vector<std::string> texts) : value(std::move(texts)) {}
  Setting(Settings table) : value(std::move(table)) {}
  // NOLINTEND(google-explicit-constructor)

  std::variant<std::string, bool, std::int64_t, double, std::vector<std::string>, Settings> value;
};

}  // namespace seriatim
