#include "runtime/known_types.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "runtime/broken_answer.hpp"
#include "seriatim/error.hpp"

namespace seriatim::runtime {

namespace {

class KnownTypes final : public Handler {
 public:
  KnownTypes(std::set<std::string> types, std::unique_ptr<Handler> handler)
      : types_(std::move(types)), handler_(std::move(handler)) {}

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override {
    const auto stranger = std::find_if_not(batch.begin(), batch.end(),
                                           [this](const Record& record) { return knows(record); });
    const auto known = static_cast<std::size_t>(stranger - batch.begin());
    auto answer =
        known == 0 ? BatchOutcome{} : call_checked(*handler_, batch.first(known), context);
    if (known < batch.size() && answer.done == known) answer.next = refusal(*stranger);
    return answer;
  }

  std::optional<Rendering> render(const Record& record) override {
    if (!knows(record)) throw Error(refusal(record).reason);
    return handler_->render(record);
  }

 private:
  [[nodiscard]] bool knows(const Record& record) const {
    return record.event_type && types_.contains(*record.event_type);
  }
  static Outcome refusal(const Record& record) {
    const auto what = record.event_type ? "event type \"" + *record.event_type + "\" is not"
                                        : std::string("a row without an event type is not one");
    return Outcome::poison(what +
                           " of event_types; add it there, or to source.ignore to pass over "
                           "all rows of it, and restart");
  }

  std::set<std::string> types_;
  std::unique_ptr<Handler> handler_;
};

}  // namespace

HandlerFactory only_known_types(std::vector<std::string> event_types, HandlerFactory factory) {
  if (event_types.empty()) return factory;
  return [types = std::set(event_types.begin(), event_types.end()),
          factory = std::move(factory)](unsigned lane) -> std::unique_ptr<Handler> {
    return std::make_unique<KnownTypes>(types, factory(lane));
  };
}

}  // namespace seriatim::runtime
