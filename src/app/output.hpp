#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seriatim::app {

/// Exit codes, the same for every verb.
enum class Exit {
  done = 0,
  failure = 1,
  usage = 2,   ///< usage or configuration: nothing was started
  halted = 3,  ///< a lane is halted
};

/// Gives closed descriptors 0 to 2 to /dev/null, so that no socket takes their place and is
/// written to by mistake. Call first in main.
void occupy_standard_files();

[[nodiscard]] bool stdout_is_terminal();

/// To stdout, at once. Throws Error when it cannot be written (full disk, closed pipe).
void print(std::string_view text);
/// To stderr; a failure is ignored, there is nowhere left to report it.
void complain(std::string_view text) noexcept;

/// A table for people: columns aligned, two spaces apart. On a terminal the heading is bold.
class Table {
 public:
  explicit Table(std::vector<std::string> heading);
  void row(std::vector<std::string> cells);
  /// A line of its own under the latest row, indented.
  void note(std::string text);
  [[nodiscard]] std::string text(bool terminal) const;

 private:
  struct Line {
    std::vector<std::string> cells;
    std::string note;
  };
  [[nodiscard]] std::vector<std::size_t> widths() const;

  std::vector<std::string> heading_;
  std::vector<Line> lines_;
};

}  // namespace seriatim::app
