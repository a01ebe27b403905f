// Several statements in one round trip, and one that is sent before it is needed.
#include "postgres/guarded.hpp"
#include "postgres/open_connection.hpp"

namespace seriatim::postgres {

std::vector<Answer> Connection::run_together(const std::vector<Statement>& statements,
                                             const std::function<void(std::size_t)>& before) {
  return guarded([&] {
    const auto expectation = alone();
    for (const auto& statement : statements) prepared(statement.sql);
    std::vector<Step> steps;
    for (const auto& [sql, params, binary] : statements) {
      steps.push_back({name_of(sql), params, binary});
    }
    Pipeline pipeline(connection_->raw());
    std::vector<Answer> first;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (i > 0 && before) {
        pipeline.ask_now();
        for (auto& answer : pipeline.answers_now(1)) first.push_back(std::move(answer));
        before(i);
      }
      pipeline.send(steps[i].name, steps[i].params, steps[i].binary);
    }
    auto answers = pipeline.answers();
    std::move(answers.begin(), answers.end(), std::back_inserter(first));
    return first;
  });
}

bool Connection::begin_prepared(std::string_view first_statement, const Params& params) {
  if (in_transaction_ && !(is_known("ROLLBACK") && is_known(first_statement))) rollback();
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    auto steps = steps_back();
    steps.push_back(control(begin_));
    steps.push_back(step(first_statement, params));
    in_transaction_ = true;
    return !last_answer(steps).empty();
  });
}

/// As one text with literals, EXECUTE parsed anew each time, it takes the server a sixth more
/// (bench/profiles.md).
bool Connection::commit_with(const Change& change, const Change* ahead) {
  if (sent_ && !is_known(change.last)) rollback();
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    auto steps = sent_ ? steps_back() : std::vector<Step>{};
    if (!in_transaction_ || sent_) steps.push_back(control(begin_));
    steps.push_back(step(change.last, change.last_params));
    steps.push_back(control("COMMIT"));
    steps.push_back(control(begin_));
    steps.push_back(step(change.next, change.next_params));
    in_transaction_ = true;
    return !last_answer(steps, ahead).empty();
  });
}

void Connection::send_ahead(const Change& change) {
  guarded([&] {
    const auto expectation = alone();
    for (const auto* sql : {"COMMIT", "ROLLBACK"}) control(sql);
    const auto last = step(change.last, change.last_params);
    sent_next_ = step(change.next, change.next_params);
    sent_ = std::make_unique<Pipeline>(connection_->raw());
    sent_->send(last.name, last.params);
    sent_->flush();
    return 0;
  });
}

bool Connection::commit_sent(const Change* ahead) {
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    const std::vector<Step> steps{control("COMMIT"), control(begin_),
                                  *std::exchange(sent_next_, std::nullopt)};
    return !last_answer(steps, ahead).empty();
  });
}

bool Connection::end_sent() {
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    return commit_found({control("COMMIT")});
  });
}

bool Connection::commit_after(std::string_view last, const Params& params) {
  return guarded([&] {
    const auto expectation = alone();
    return commit_found({step(last, params), control("COMMIT")});
  });
}

void Connection::rollback() {
  if (!in_transaction_) return;
  const auto steps = sent_ ? steps_back() : std::vector<Step>{};
  in_transaction_ = false;
  guarded([&] {
    if (steps.empty()) return execute("ROLLBACK", Params{}).size();
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    return static_cast<pqxx::result::size_type>(answers_to(steps).size());
  });
}

// --- small parts --------------------------------------------------------------------------------

/// Before them that to what was sent ahead, unless it was forgotten.
std::vector<Answer> Connection::answers_to(const std::vector<Step>& steps, const Change* ahead) {
  auto pipeline = sent_ ? std::move(sent_) : std::make_unique<Pipeline>(connection_->raw());
  for (const auto& step : steps) pipeline->send(step.name, step.params);
  const bool known = is_known("ROLLBACK") && ahead && is_known(ahead->last);
  if (!known) return pipeline->answers();
  const auto owed = pipeline->owed();
  pipeline->ask_now();
  const auto last = step(ahead->last, ahead->last_params);
  pipeline->send(last.name, last.params);
  pipeline->flush();
  auto answers = pipeline->answers_now(owed);
  sent_next_ = step(ahead->next, ahead->next_params);
  sent_ = std::move(pipeline);
  return answers;
}

/// Of the last statement before the COMMIT that `steps` end with.
bool Connection::commit_found(const std::vector<Step>& steps) {
  const bool found = !answers_to(steps).front().empty();
  in_transaction_ = false;
  return found;
}

Answer Connection::last_answer(const std::vector<Step>& steps, const Change* ahead) {
  return std::move(answers_to(steps, ahead).back());
}

std::vector<Connection::Step> Connection::steps_back() {
  if (sent_) sent_->forget_answers();
  std::vector<Step> steps;
  if (in_transaction_) steps.push_back(control("ROLLBACK"));
  return steps;
}

Connection::Step Connection::step(std::string_view sql, const Params& params) {
  return {prepared(sql), params};
}

/// BEGIN and COMMIT: what has no plan need not be planned again.
Connection::Step Connection::control(std::string_view sql) {
  return {name_of(sql), {}};
}

}  // namespace seriatim::postgres
