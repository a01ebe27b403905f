#include "exec/error_lines.hpp"

#include <algorithm>
#include <utility>

#include "support/excerpt.hpp"

namespace seriatim::handlers {

void ErrorLines::feed(std::string_view bytes, Clock::time_point now) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    add(bytes.substr(0, end));
    end_line(now);
    bytes.remove_prefix(end + 1);
  }
  add(bytes);
}

void ErrorLines::finish(Clock::time_point now) {
  end_line(now);
  report_dropped();
}

/// One byte over the limit is kept, so that the cut is seen.
void ErrorLines::add(std::string_view piece) {
  line_ += piece.substr(0, std::min(piece.size(), line_bytes_max + 1 - line_.size()));
}

void ErrorLines::end_line(Clock::time_point now) {
  const auto line = std::exchange(line_, {});
  const auto end = line.find_last_not_of(" \t\r");
  if (end == std::string::npos) return;
  last_ = excerpt(std::string_view(line).substr(0, end + 1), line_bytes_max);
  report(last_, now);
}

void ErrorLines::report(const std::string& line, Clock::time_point now) {
  if (now - second_began_ >= std::chrono::seconds(1)) {
    report_dropped();
    second_began_ = now;
    reported_ = 0;
  }
  if (reported_ < lines_a_second_max) {
    reported_ += 1;
    write_(line);
  } else {
    dropped_ += 1;
  }
}

void ErrorLines::report_dropped() {
  if (dropped_ == 0) return;
  write_(std::to_string(std::exchange(dropped_, 0)) + " lines left out: more than " +
         std::to_string(lines_a_second_max) + " a second");
}

}  // namespace seriatim::handlers
