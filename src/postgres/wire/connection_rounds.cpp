// Several statements in one round trip.
#include <algorithm>

#include "postgres/wire/open_connection.hpp"
#include "postgres/wire/translate_errors.hpp"
#include "seriatim/error.hpp"

namespace seriatim::postgres {

std::vector<Answer> Connection::run_together(const std::vector<Statement>& statements,
                                             const std::function<void(std::size_t)>& before) {
  if (!direct_) {
    std::vector<Answer> answers;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (i > 0 && before) before(i);
      answers.push_back(ask(statements[i]));
    }
    return answers;
  }
  return translate_errors([&] {
    const auto owed = expectation();
    make_known(statements);
    Pipeline pipeline(connection_->raw());
    std::vector<Answer> first;
    for (std::size_t i = 0; i < statements.size(); ++i) {
      if (i > 0 && before) {
        pipeline.ask_now();
        for (auto& answer : pipeline.answers_now(1)) first.push_back(std::move(answer));
        before(i);
      }
      send(pipeline, statements[i]);
    }
    auto answers = pipeline.answers();
    std::move(answers.begin(), answers.end(), std::back_inserter(first));
    return first;
  });
}

bool Connection::begin_prepared(Statement first) {
  rollback();
  if (!direct_) {
    begin("");
    return !ask(first).empty();
  }
  return translate_errors([&] {
    in_transaction_ = true;
    return !answers_to({{begin_}, std::move(first)}).back().empty();
  });
}

std::vector<Answer> Connection::commit_with(const std::vector<Statement>& statements) {
  if (!direct_) {
    if (!in_transaction_) begin("");
    std::vector<Answer> answers;
    for (const auto& statement : statements) answers.push_back(ask(statement));
    commit();
    return answers;
  }
  return translate_errors([&] {
    auto all = statements;
    const bool begins = !std::exchange(in_transaction_, true);
    if (begins) all.insert(all.begin(), {begin_});
    all.push_back({"COMMIT"});
    auto answers = answers_to(all);
    in_transaction_ = false;
    answers.pop_back();
    if (begins) answers.erase(answers.begin());
    return answers;
  });
}

/// What is asked behind the statement is answered when its commit is, so a round trip is spared: a
/// row is called a sixth sooner next to 1 000 inserts a second (bench/profiles.md).
Answer Connection::run_then(const Statement& statement, Behind* behind) {
  if (!direct_) return ask(statement);
  return translate_errors([&] {
    const auto owed = expectation();
    make_known({statement});
    const bool asks = behind != nullptr && is_known(behind->statement.sql);
    Pipeline pipeline(connection_->raw());
    send(pipeline, statement);
    pipeline.flush();
    if (asks) {
      send(pipeline, behind->statement);
      pipeline.flush();
    }
    auto answer = std::move(pipeline.answers_now(1).front());
    pipeline.confirm();
    if (!asks) return answer;
    try {
      behind->answer = translate_errors([&] { return std::move(pipeline.answers_now(1).front()); });
    } catch (const Error&) {
      behind->refusal = std::current_exception();
    }
    return answer;
  });
}

void Connection::rollback() {
  if (!std::exchange(in_transaction_, false)) return;
  translate_errors([&] { return execute("ROLLBACK", Params{}).size(); });
}

// --- small parts --------------------------------------------------------------------------------

/// In a pipeline no statement can be prepared.
void Connection::make_known(const std::vector<Statement>& statements) {
  for (const auto& statement : statements) name_of(statement.sql);
}

void Connection::send(Pipeline& pipeline, const Statement& known) {
  pipeline.send(name_of(known.sql), known.params, known.binary);
}

std::vector<Answer> Connection::answers_to(const std::vector<Statement>& statements) {
  const auto owed = expectation();
  make_known(statements);
  Pipeline pipeline(connection_->raw());
  for (const auto& statement : statements) send(pipeline, statement);
  return pipeline.answers();
}

}  // namespace seriatim::postgres
