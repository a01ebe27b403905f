#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace seriatim::handlers {

/// Cuts what a child writes on its standard error into lines for the log: long ones are cut short,
/// floods are thinned out and counted, so that neither memory nor the log is at its mercy.
class ErrorLines {
 public:
  using Clock = std::chrono::steady_clock;
  using Writer = std::function<void(std::string text)>;

  static constexpr std::size_t line_bytes_max = 1'000;
  static constexpr std::size_t lines_a_second_max = 100;

  /// `write` gets each line made fit for a log.
  explicit ErrorLines(Writer write) : write_(std::move(write)) {}

  void feed(std::string_view bytes, Clock::time_point now);
  /// The end: what is left is a line too.
  void finish(Clock::time_point now);
  /// The last line that was not blank; it often says why a program ended.
  [[nodiscard]] const std::string& last() const { return last_; }

 private:
  void add(std::string_view piece);
  void end_line(Clock::time_point now);
  void report(const std::string& line, Clock::time_point now);
  void report_dropped();

  Writer write_;
  std::string line_;
  std::string last_;
  Clock::time_point second_began_{};
  std::size_t reported_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace seriatim::handlers
