#include "runtime/known_types.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "runtime/broken_answer.hpp"
#include "seriatim/error.hpp"

namespace seriatim::runtime {

namespace {

/// The event types of a process.
class Types {
 public:
  explicit Types(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}

  [[nodiscard]] bool know(const Record& record) const {
    return record.event_type && names_.contains(*record.event_type);
  }
  static Outcome refusal(const Record& record) {
    const auto what = record.event_type ? "event type \"" + *record.event_type + "\" is not"
                                        : std::string("a row without an event type is not one");
    return Outcome::poison(what +
                           " of event_types; add it there, or to source.ignore to pass over "
                           "all rows of it, and restart");
  }

 private:
  std::set<std::string> names_;
};

class KnownTypes final : public Handler {
 public:
  KnownTypes(Types types, std::unique_ptr<Handler> handler)
      : types_(std::move(types)), handler_(std::move(handler)) {}

  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override {
    const auto stranger = std::find_if_not(batch.begin(), batch.end(),
                                           [this](const Record& row) { return types_.know(row); });
    const auto known = static_cast<std::size_t>(stranger - batch.begin());
    auto answer =
        known == 0 ? BatchOutcome{} : call_checked(*handler_, batch.first(known), context);
    if (known < batch.size() && answer.done == known) answer.next = Types::refusal(*stranger);
    return answer;
  }

  std::optional<Rendering> render(const Record& record) override {
    if (!types_.know(record)) throw Error(Types::refusal(record).reason);
    return handler_->render(record);
  }

  std::unique_ptr<CallThread> make_call_thread() override { return handler_->make_call_thread(); }

 private:
  Types types_;
  std::unique_ptr<Handler> handler_;
};

class KnownTypesAsync final : public AsyncHandler {
 public:
  KnownTypesAsync(Types types, std::unique_ptr<AsyncHandler> handler)
      : types_(std::move(types)), handler_(std::move(handler)) {}

  void begin(const Record& record, const CallContext& context, Completion done) override {
    if (types_.know(record)) return handler_->begin(record, context, std::move(done));
    done(Types::refusal(record));
  }

 private:
  Types types_;
  std::unique_ptr<AsyncHandler> handler_;
};

}  // namespace

HandlerFactory only_known_types(const std::vector<std::string>& event_types,
                                HandlerFactory factory) {
  if (event_types.empty()) return factory;
  return [types = Types(event_types),
          factory = std::move(factory)](unsigned lane) -> std::unique_ptr<Handler> {
    return std::make_unique<KnownTypes>(types, factory(lane));
  };
}

AsyncHandlerFactory only_known_types(const std::vector<std::string>& event_types,
                                     AsyncHandlerFactory factory) {
  if (event_types.empty()) return factory;
  return [types = Types(event_types),
          factory = std::move(factory)](unsigned lane) -> std::unique_ptr<AsyncHandler> {
    return std::make_unique<KnownTypesAsync>(types, factory(lane));
  };
}

}  // namespace seriatim::runtime
