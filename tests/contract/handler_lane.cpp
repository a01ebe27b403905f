#include "contract/handler_lane.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/process.hpp"

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;
// With a server that starts anew, on a machine that does much else, before one more row is
// confirmed.
constexpr auto patience = std::chrono::seconds(120);
constexpr std::chrono::milliseconds longest_call{20'000};

constexpr const char* where = "test";

Options::Value value_of(const std::vector<std::string>& texts) {
  Options::List list;
  for (const auto& text : texts) list.push_back({text, where});
  return {std::move(list), where};
}

template <class Plain>
Options::Value value_of(const Plain& data) {
  return {data, where};
}

}  // namespace

std::unique_ptr<Handler> make_handler(void (*register_kind)(HandlerRegistry&),
                                      const BrokerUnderTest& broker) {
  HandlerRegistry registry;
  register_kind(registry);
  auto table = std::make_shared<Options::Table>();
  for (const auto& [key, option] : broker.options()) {
    auto& value = table->values[key];
    std::visit([&](const auto& data) { value = value_of(data); }, option);
  }
  Problems problems;
  Options options(table, problems);
  const auto factory = registry.find(broker.kind())->configure(options);
  options.finish();
  REQUIRE(problems.text() == "");
  return factory(0);
}

std::vector<Record> make_rows(std::size_t count) {
  std::vector<Record> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = std::to_string(i + 1);
    rows[i].position = {1'700'000'000'000'000 + static_cast<std::int64_t>(i), "row-" + number};
    rows[i].key = "customer-" + std::to_string(i % 7);
    rows[i].event_type = "booking.created";
    rows[i].payload = R"({"number":)" + number + "}";
    rows[i].process = "p";
    rows[i].sequence = i + 1;
    rows[i].epoch = 3;
  }
  return rows;
}

BatchOutcome HandlerLane::call(milliseconds limit, const std::stop_token& stop) {
  allowed_.wait(confirmed());
  const auto deadline = Clock::now() + limit;
  const auto rows = std::min<std::size_t>(allowed_, rows_.size()) - confirmed();
  const auto batch = std::span(rows_).subspan(confirmed(), std::min(batch_rows_, rows));
  auto outcome = handler_->handle(batch, {deadline, deadline, stop});
  REQUIRE(outcome.done <= batch.size());
  REQUIRE((outcome.done < batch.size() || !outcome.next));
  REQUIRE((!outcome.next || !outcome.next->is_done()));
  confirmed_ += outcome.done;
  if (outcome.next) failures_ += 1;
  return outcome;
}

void HandlerLane::allow(std::size_t rows) {
  allowed_ = rows;
  allowed_.notify_all();
}

std::optional<Outcome> HandlerLane::deliver_until_failure() {
  while (confirmed() < rows_.size()) {
    const auto outcome = call();
    if (outcome.next) return outcome.next;
    REQUIRE(outcome.done > 0);
  }
  return std::nullopt;
}

bool HandlerLane::deliver_all(milliseconds limit_of_a_call) {
  bool poisoned = false;
  auto limit = limit_of_a_call;
  const auto goes_on = [&] {
    const auto outcome = call(limit);
    limit = outcome.next ? std::min(2 * limit, longest_call) : limit_of_a_call;
    poisoned = outcome.next && outcome.next->kind == Outcome::Kind::poison;
    if (poisoned) MESSAGE(outcome.next->reason);
    return poisoned || outcome.done > 0;  // else again, a few milliseconds later
  };
  while (!poisoned && confirmed() < rows_.size()) {
    wait_until("one more row is confirmed", goes_on, patience);
  }
  return !poisoned;
}

}  // namespace seriatim::testing
