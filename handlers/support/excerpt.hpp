#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::handlers {

/// Texts that must not reach logs, reasons or the database.
///
/// Short ones (under `secret_bytes_min`) are left alone: they would blot out ordinary words.
class Redactor {
 public:
  static constexpr std::size_t secret_bytes_min = 4;

  Redactor() = default;
  explicit Redactor(std::string_view mask) : mask_(mask) {}

  void add(std::string_view secret);
  [[nodiscard]] std::string redact(std::string text) const;

 private:
  std::string_view mask_ = "[redacted]";  ///< in their place; of static life
  std::vector<std::string> secrets_;
};

/// Foreign text made fit for a terminal, a log line and a database: valid UTF-8; control
/// characters, terminal escapes and direction marks written out; at most `bytes_max` bytes.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t bytes_max = 200);

}  // namespace seriatim::handlers
