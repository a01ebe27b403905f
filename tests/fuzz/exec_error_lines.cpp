#include <vector>

#include "exec/error_lines.hpp"
#include "fuzz/fuzz_target.hpp"

namespace {

std::vector<std::string> error_lines_of(std::string_view text, std::size_t piece) {
  using seriatim::handlers::ErrorLines;
  std::vector<std::string> found;
  ErrorLines lines([&](std::string line) { found.push_back(std::move(line)); });
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    lines.feed(text.substr(0, piece), {});
  }
  lines.finish({});
  for (const auto& line : found) {
    seriatim::fuzz::require(!line.empty() && line.size() <= ErrorLines::line_bytes_max,
                            "a line is not blank and is cut");
    seriatim::fuzz::require(!seriatim::fuzz::has_control(line), "a line stays one line");
  }
  seriatim::fuzz::require(found.size() <= ErrorLines::lines_a_second_max + 1, "a flood is thinned");
  found.push_back(lines.last());
  return found;
}

}  // namespace

SERIATIM_FUZZ_TARGET(exec_error_lines) {
  const auto whole = error_lines_of(input, std::max<std::size_t>(input.size(), 1));
  seriatim::fuzz::require(whole == error_lines_of(input, 1) && whole == error_lines_of(input, 13),
                          "lines are the same however they arrive");
}
