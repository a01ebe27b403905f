// Several statements in one round trip, and one that is sent before it is needed.
#include <algorithm>
#include <array>

#include "postgres/wire/guarded.hpp"
#include "postgres/wire/open_connection.hpp"
#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

/// Ends one transaction and begins the next.
constexpr std::string_view commit_and_begin = "COMMIT AND CHAIN";
/// Whatever becomes of what is sent ahead ends with one of these.
constexpr std::array ends{commit_and_begin, std::string_view("COMMIT"),
                          std::string_view("ROLLBACK")};

}  // namespace

std::vector<Answer> Connection::run_together(const std::vector<Statement>& statements,
                                             const std::function<void(std::size_t)>& before) {
  return guarded([&] {
    const auto expectation = alone();
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
  if (in_transaction_ && !(is_known("ROLLBACK") && is_known(first.sql))) rollback();
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    auto statements = way_back();
    statements.push_back({begin_});
    statements.push_back(std::move(first));
    return begin_found(statements);
  });
}

/// As one text with literals, EXECUTE parsed anew each time, it takes the server a sixth more
/// (bench/profiles.md).
bool Connection::commit_with(Change change, const Ahead& ahead) {
  if (sent_ && !is_known(change.last.sql)) rollback();
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    const bool begins = !in_transaction_ || sent_;
    auto statements = sent_ ? way_back() : std::vector<Statement>{};
    if (begins) statements.push_back({begin_});
    statements.push_back(std::move(change.last));
    statements.push_back({commit_and_begin});
    statements.push_back(std::move(change.next));
    return begin_found(statements, ahead);
  });
}

void Connection::send_ahead(Change change) {
  guarded([&] {
    const auto expectation = alone();
    for (const auto sql : ends) name_of(sql);
    for (const auto sql : {change.last.sql, change.next.sql}) name_of(sql);
    auto pipeline = std::make_unique<Pipeline>(connection_->raw());
    send(*pipeline, change.last);
    pipeline->flush();
    sent_ = {std::move(pipeline), std::move(change.next)};
    return 0;
  });
}

bool Connection::commit_sent(const Ahead& ahead) {
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    std::vector<Statement> statements{{commit_and_begin}};
    statements.push_back(std::move(sent_->next));
    return begin_found(statements, ahead);
  });
}

bool Connection::end_sent(Behind* behind) {
  return guarded([&] {
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    return commit_found({}, behind);
  });
}

bool Connection::commit_after(Statement last, Behind* behind) {
  return guarded([&] {
    const auto expectation = alone();
    return commit_found({std::move(last)}, behind);
  });
}

void Connection::rollback() {
  if (!in_transaction_) return;
  const auto statements = sent_ ? way_back() : std::vector<Statement>{};
  in_transaction_ = false;
  guarded([&] {
    if (statements.empty()) return execute("ROLLBACK", Params{}).size();
    const SilenceWatch::Expectation expectation(*watch_, silence_max_);
    return static_cast<pqxx::result::size_type>(answers_to(statements).size());
  });
}

// --- small parts --------------------------------------------------------------------------------

/// In a pipeline no statement can be prepared.
void Connection::make_known(const std::vector<Statement>& statements) {
  for (const auto& statement : statements) name_of(statement.sql);
}

void Connection::send(Pipeline& pipeline, const Statement& known) {
  pipeline.send(name_of(known.sql), known.params, known.binary);
}

/// Before them that to what was sent ahead, unless it was forgotten.
std::vector<Answer> Connection::answers_to(const std::vector<Statement>& known,
                                           const Ahead& ahead) {
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): what it reports is in a unique_ptr
  auto pipeline = this->pipeline();
  for (const auto& statement : known) send(*pipeline, statement);
  const auto owed = pipeline->owed();
  auto next = ahead ? send_behind(*pipeline, ahead) : std::nullopt;
  if (!next) return pipeline->answers();
  auto answers = pipeline->answers_now(owed);
  sent_ = {std::move(pipeline), *std::move(next)};
  return answers;
}

/// The server is at the others when this is made: 5 % more rows a second where each is committed
/// (bench/profiles.md).
std::optional<Statement> Connection::send_behind(Pipeline& pipeline, const Ahead& ahead) {
  pipeline.ask_now();
  auto change = ahead();
  if (!is_known(change.last.sql)) return std::nullopt;
  send(pipeline, change.last);
  pipeline.flush();
  return std::move(change.next);
}

/// By the last of them, the first of a transaction that is open from then on.
bool Connection::begin_found(const std::vector<Statement>& statements, const Ahead& ahead) {
  make_known(statements);
  if (ahead && !sent_) std::for_each(ends.begin(), ends.end(), [&](auto sql) { name_of(sql); });
  in_transaction_ = true;
  return !answers_to(statements, ahead).back().empty();
}

/// By the last one before the COMMIT. What is asked behind it is answered when the COMMIT is, so a
/// round trip is spared: a row is called a sixth sooner beside 1 000 inserts a second
/// (bench/profiles.md).
bool Connection::commit_found(std::vector<Statement> statements, Behind* behind) {
  statements.push_back({"COMMIT"});
  make_known(statements);
  const bool asks = behind != nullptr && is_known(behind->statement.sql);
  const auto pipeline = this->pipeline();
  for (const auto& statement : statements) send(*pipeline, statement);
  const auto owed = pipeline->owed();
  pipeline->flush();
  if (asks) {
    send(*pipeline, behind->statement);
    pipeline->flush();
  }
  const bool found = !pipeline->answers_now(owed).front().empty();
  in_transaction_ = false;
  if (!asks) return found;
  try {
    behind->answer = guarded([&] { return std::move(pipeline->answers_now(1).front()); });
  } catch (const Error&) {
    behind->refusal = std::current_exception();
  }
  return found;
}

/// With what was sent ahead in it, if that was.
std::unique_ptr<Pipeline> Connection::pipeline() {
  return sent_ ? std::move(std::exchange(sent_, std::nullopt)->pipeline)
               : std::make_unique<Pipeline>(connection_->raw());
}

std::vector<Statement> Connection::way_back() {
  if (sent_) sent_->pipeline->forget_answers();
  std::vector<Statement> statements;
  if (in_transaction_) statements.push_back({"ROLLBACK"});
  return statements;
}

}  // namespace seriatim::postgres
