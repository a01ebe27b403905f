#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace seriatim::handlers {

/// Appends whole lines to a file or to standard output.
///
/// The file is opened for each line, so that it may be rotated. A line that was cut short (full
/// disk) is ended before the next attempt writes it anew: readers see a broken line, then the
/// whole. Threads: one user at a time; writers to standard output take turns.
class LineWriter {
 public:
  /// Empty path: standard output.
  explicit LineWriter(std::string path, bool sync = false);

  /// `line` without its end. Answers what went wrong; empty: the system has the whole line (and
  /// with `sync` the disk).
  [[nodiscard]] std::string write(std::string_view line,
                                  std::chrono::steady_clock::time_point deadline);

 private:
  [[nodiscard]] std::string write_to(int fd, std::string_view line,
                                     std::chrono::steady_clock::time_point deadline);

  std::string path_;
  bool sync_;
  bool torn_ = false;
};

}  // namespace seriatim::handlers
