#include "support/answer_head.hpp"

#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(answer_head) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  std::size_t line = 0;
  std::size_t by_byte = 0;
  std::size_t line_by_byte = 0;
  const auto size = head_size(input, line);
  for (std::size_t n = 1; n <= input.size() && by_byte == 0; ++n) {
    by_byte = head_size(input.substr(0, n), line_by_byte);
  }
  require(size <= input.size() && size == by_byte, "a head ends at one place however it arrives");
  if (size == 0 || !may_begin_answer(input)) return;
  StrictHead strict;
  make_strict(input.substr(0, size), strict);
  for (std::size_t at = strict.text.find('\n'); at != std::string::npos;
       at = strict.text.find('\n', at + 1)) {
    require(at > 0 && strict.text[at - 1] == '\r', "every line ends in CR LF");
  }
  line = 0;
  require(head_size(strict.text, line) == strict.text.size(), "the head is still one head");
  require(may_begin_answer(strict.text), "the status line is still one");
  StrictHead again;
  make_strict(strict.text, again);
  require(again.text == strict.text && !again.has_bare_line, "a strict head is left as it is");
}
