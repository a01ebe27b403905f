#include "runtime/broken_answer.hpp"

#include <optional>
#include <string>

namespace seriatim::runtime {

namespace {

std::string rows(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " row" : " rows");
}

std::optional<std::string> breach_of(const BatchOutcome& answer, std::size_t given) {
  if (answer.done > given) {
    return "claims " + rows(answer.done) + " done, but was given " + rows(given);
  }
  if (!answer.next) return std::nullopt;
  const std::string kind = to_string(answer.next->kind);
  if (answer.done == given) {
    return "claims all of its " + rows(given) + " done, and an outcome \"" + kind +
           "\" for one more";
  }
  if (answer.next->is_done()) {
    return "claims " + rows(answer.done) + " done, and calls the next one done without counting it";
  }
  return std::nullopt;
}

}  // namespace

BatchOutcome call_checked(Handler& handler, std::span<const Record> batch,
                          const CallContext& context) {
  auto answer = handler.handle(batch, context);
  const auto breach = breach_of(answer, batch.size());
  if (!breach) return answer;
  throw BrokenAnswer("the handler of process \"" + batch.front().process + "\" " + *breach +
                     ". What its receiver has is unknown, so no row of this call counts as "
                     "delivered: check the receiver and correct the handler");
}

}  // namespace seriatim::runtime
