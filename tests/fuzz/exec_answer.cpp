#include "exec/answer.hpp"

#include "fuzz/fuzz_target.hpp"
#include "support/encoding.hpp"

SERIATIM_FUZZ_TARGET(exec_answer) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto answer = read_answer(input);
  if (!answer.problem.empty()) {
    require(answer.id.empty() && answer.outcome.reason.empty(), "no answer has no content");
    return;
  }
  std::string line = R"({"id":")" + json_escape(answer.id) + R"(","outcome":")" +
                     to_string(answer.outcome.kind) + R"(","reason":")" +
                     json_escape(answer.outcome.reason) + '"';
  if (const auto after = answer.outcome.retry_after) {
    require(after->count() >= 0 && after->count() <= 1'000'000'000'000, "a wait has bounds");
    const auto fraction = std::to_string(after->count() % 1000 + 1000).substr(1);
    line += R"(,"after":)" + std::to_string(after->count() / 1000) + '.' + fraction;
  }
  const auto again = read_answer(line + '}');
  require(again.problem.empty() && again.id == answer.id, "an answer is one after printing");
  require(
      again.outcome.kind == answer.outcome.kind && again.outcome.reason == answer.outcome.reason,
      "an outcome is the same after printing");
  require(again.outcome.retry_after.has_value() == answer.outcome.retry_after.has_value(),
          "a wait is there after printing");
  if (!again.outcome.retry_after) return;
  const auto more = (*again.outcome.retry_after - *answer.outcome.retry_after).count();
  require(more == 0 || more == 1, "a wait is the same after printing, but for rounding up");
}
