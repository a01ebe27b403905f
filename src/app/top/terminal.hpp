#pragma once

#include <termios.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/top/frame.hpp"

namespace seriatim::app::top {

/// The terminal as a screen to draw on and keys to read. The destructor gives it back as it was.
///
/// Threads: one. Errors: Error if standard input or output is no terminal.
class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Colours unless NO_COLOR is set; bars and dots of ASCII if the locale is not UTF-8.
  [[nodiscard]] Appearance appearance() const;
  void draw(const std::vector<std::string>& lines) const;

  /// A character, or "up", "down", "enter", "escape", "erase". Absent: none came in `time`, the
  /// window has another size, or a signal came.
  [[nodiscard]] std::optional<std::string> key(std::chrono::milliseconds time);

 private:
  termios before_{};
  std::string typed_;  ///< and not asked for yet
};

}  // namespace seriatim::app::top
