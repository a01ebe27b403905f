#include "support/pipelined_handler.hpp"

#include <exception>
#include <string>
#include <utility>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

// Rounds that confirm no row and blame none: a handler may search for the row that is to blame.
constexpr unsigned fruitless_rounds_max = 32;

}  // namespace

BatchOutcome PipelinedHandler::handle(std::span<const Record> batch, const CallContext& context) {
  context_ = &context;
  std::size_t done = 0;
  for (unsigned fruitless = 0; done < batch.size();) {
    if (done > 0 && context.should_yield()) break;
    auto round = deliver(batch.subspan(done));
    done += round.done;
    if (round.failure) return {done, std::move(round.failure)};
    fruitless = round.done > 0 ? 0 : fruitless + 1;
    if (fruitless == fruitless_rounds_max) {
      return {done, Outcome::retry_later("in " + std::to_string(fruitless_rounds_max) +
                                         " rounds the receiver confirmed no row and refused none; "
                                         "see whether another client writes to the same place")};
    }
  }
  return {done, std::nullopt};
}

PipelinedHandler::RoundResult PipelinedHandler::deliver(Rows rows) {
  bool sent = false;
  try {
    if (auto failure = begin(rows, context_->deadline)) return {0, std::move(failure)};
    const auto added = rows.first(fill(rows));
    sent = true;
    return settle(added, context_->deadline);
  } catch (const CannotRender& e) {
    return {0, Outcome::poison(e.what())};
  } catch (const std::exception& e) {  // thrown on, it would make rows of earlier rounds repeat
    auto why = reported(e.what());
    return {0, sent ? Outcome::unknown(std::move(why)) : Outcome::retry_later(std::move(why))};
  }
}

std::size_t PipelinedHandler::fill(Rows rows) {
  std::size_t added = 0;
  try {
    while (added < rows.size() && add(rows, added)) ++added;
  } catch (const std::exception&) {
    // What was added is settled first, so that its answers are not taken for those of a later
    // round.
    if (added == 0) throw;
  }
  return added;
}

std::string PipelinedHandler::reported(std::string text) const {
  return excerpt(redactor_.redact(std::move(text)), 300);
}

}  // namespace seriatim::handlers
