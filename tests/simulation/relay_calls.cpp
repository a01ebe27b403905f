// Of a simulated relay: several calls in flight, each on a fiber of its own.
#include <deque>

#include "core/mutant.hpp"
#include "simulation/relay_parts.hpp"

namespace seriatim::simulation {

Relay::Flights::Flights(Relay& relay, runtime::CallNeeds needs)
    : relay_(relay), needs_(std::move(needs)) {}

void Relay::Flights::begin_until(Time not_after) {
  not_after_ = not_after;
}

void Relay::Flights::begin(std::shared_ptr<const Record> row) {
  waiting_.push_back(std::move(row));
  fill();
}

void Relay::Flights::revoke() {
  for (const auto& row : waiting_) answers_.push_back({row->sequence, std::nullopt, {}});
  waiting_.clear();
}

std::vector<core::Answer> Relay::Flights::take() {
  return std::exchange(answers_, {});
}

void Relay::Flights::fill() {
  std::erase_if(calls_, [](const auto& call) { return call->has_ended(); });
  while (!waiting_.empty() && in_flight_ < relay_.stage_.setup.config.in_flight) {
    in_flight_ += 1;
    calls_.push_back(std::make_shared<Fiber>([this, row = std::move(waiting_.front())] {
      call(*row);
      in_flight_ -= 1;
      relay_.hint();
      fill();
    }));
    waiting_.pop_front();
    relay_.go_on(std::weak_ptr(calls_.back()));
  }
}

void Relay::Flights::call(const Record& row) {
  auto& stage = relay_.stage_;
  if (relay_.time() > not_after_ && !core::mutant(core::Mutant::late_call)) {
    answers_.push_back({row.sequence, std::nullopt, {}});
    return;
  }
  auto taken = relay_.receiver_.take(relay_.number_, stage.now(), 0, row);
  if (stage.strikes(stage.setup.crash_in_call)) relay_.server_.crash_within(taken.takes);
  relay_.pass(taken.takes);
  answers_.push_back({row.sequence, std::move(taken.outcome), {}});
}

}  // namespace seriatim::simulation
