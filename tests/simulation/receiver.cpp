#include "simulation/receiver.hpp"

namespace seriatim::simulation {

using std::chrono::milliseconds;

Receiver::Answer Receiver::take(unsigned relay, Micros call_begun, std::size_t place,
                                const Record& record) {
  auto answer = decide(record);
  Evidence::Attempt attempt;
  attempt.id = std::stoll(record.id());
  if (record.previous_id && !stage_.sabotaged(Sabotage::previous_id_forgotten)) {
    attempt.previous_id = std::stoll(*record.previous_id);
  }
  attempt.sequence = record.sequence;
  attempt.epoch = record.epoch;
  attempt.attempt = record.attempt;
  attempt.body = lab::hash_of(*record.payload);
  attempt.begun = stage_.now();
  attempt.ended = stage_.now() + answer.takes;
  attempt.accepted = answer.outcome.is_done();
  attempt.row = row_of(*record.payload);
  attempt.relay = relay;
  attempt.call_begun = call_begun;
  attempt.place = place;
  attempt.answer = answer.outcome.kind;
  attempt.late = record.late;
  if (answer.outcome.kind == Outcome::Kind::unknown) attempt.accepted = stage_.one_of(2) == 1;
  stage_.evidence.attempts.push_back(attempt);
  stage_.trace(stage_.now(), "receiver", [&] {
    return "gets row " + record.id() + " as " + std::to_string(record.sequence) + ", epoch " +
           std::to_string(record.epoch) + ", attempt " + std::to_string(record.attempt) + ": " +
           seriatim::to_string(answer.outcome.kind) + " in " + std::to_string(answer.takes) + " µs";
  });
  return answer;
}

Receiver::Answer Receiver::decide(const Record& record) {
  const auto& setup = stage_.setup;
  const auto takes = duration();
  if (is_poisonous(record.id())) return {Outcome::poison("422"), false, takes};
  if (stage_.strikes(setup.throws)) {
    stage_.fault(std::nullopt, "handler throws");
    return {Outcome::retry_later("the handler threw"), true, takes};
  }
  if (stage_.strikes(setup.unknown)) {
    stage_.fault(std::nullopt, "receiver's answer lost");
    return {Outcome::unknown("reset"), false, takes};
  }
  if (stage_.strikes(setup.retry_later)) {
    auto after = stage_.random.chance(0.3)
                     ? std::optional(milliseconds{stage_.random.between(-5, 3'000)})
                     : std::nullopt;
    return {Outcome::retry_later("503", after), false, takes};
  }
  return {Outcome::done(), false, takes};
}

Micros Receiver::duration() {
  if (!stage_.strikes(stage_.setup.slow)) return stage_.random.between(50, 3 * millisecond);
  const auto& setup = stage_.setup;
  if (setup.faults) {
    return stage_.random.between(10, stage_.random.chance(0.1) ? 7'000 : 450) * millisecond;
  }
  return stage_.random.between(10, setup.config.lease.count() / 2) * millisecond;
}

bool Receiver::is_poisonous(const std::string& id) {
  const auto known = poisonous_.find(id);
  if (known != poisonous_.end()) return known->second;
  return poisonous_[id] = stage_.strikes(stage_.setup.poison);
}

}  // namespace seriatim::simulation
