#include "seriatim/inbox.hpp"

#include <stdexcept>

#include "sql/source.hpp"

namespace seriatim {

namespace {

constexpr std::size_t prune_rows = 10'000;  ///< in one transaction

[[noreturn]] void refuse(const Transaction::Refusal& refusal) {
  const bool no_schema = refusal.sqlstate == "3F000" || refusal.sqlstate == "42883";
  throw InboxRefusal(refusal.message + " (SQLSTATE " + refusal.sqlstate + ")" +
                         (no_schema ? "; `seriatim init` installs schema seriatim" : ""),
                     refusal.sqlstate);
}

/// The transaction of an effect: a refusal cannot be overlooked.
class EffectTransaction final : public Transaction {
 public:
  explicit EffectTransaction(Transaction& transaction) : transaction_(transaction) {}

  Answer run(const std::string& statement, const Params& params) override {
    return accepted(transaction_.run(statement, params));
  }
  Answer run_over(const std::string& statement, const std::vector<Column>& columns) override {
    return accepted(transaction_.run_over(statement, columns));
  }
  void savepoint(std::chrono::milliseconds) override { throw_misuse(); }
  void rollback_to_savepoint() override { throw_misuse(); }

  /// A refusal whose exception the effect swallowed.
  void end() const {
    if (refused_) refuse(*refused_);
  }

 private:
  Answer accepted(Answer answer) {
    if (answer.refusal) refused_ = *answer.refusal;
    if (refused_) refuse(*refused_);
    return answer;
  }
  [[noreturn]] static void throw_misuse() {
    throw std::logic_error("the effect of an event is taken back by an exception, nothing else");
  }

  Transaction& transaction_;
  std::optional<Refusal> refused_;
};

}  // namespace

Inbox::Inbox(std::string url, std::string consumer)
    : url_(std::move(url)), consumer_(std::move(consumer)) {}

Inbox::~Inbox() = default;

DatabaseSession& Inbox::session() {
  if (!session_) session_ = open_database(url_, "seriatim-inbox/" + consumer_);
  return *session_;
}

void Inbox::abandon() noexcept try {
  if (session_) session_->rollback();
} catch (...) {
  session_.reset();
}

/// Constraints may be checked here.
void Inbox::commit() try { session_->commit(); } catch (const SourceBroken& refused) {
  throw InboxRefusal(refused.what(), refused.sqlstate());
}

bool Inbox::once(const std::string& event_id, const Effect& effect) try {
  auto& session = this->session();
  EffectTransaction transaction(session.begin());
  const auto first = transaction.run(std::string(sql::source::inbox_take), {consumer_, event_id});
  if (first.rows.at(0).at(0) != "t") {
    session.rollback();
    return false;
  }
  effect(transaction);
  transaction.end();
  commit();
  return true;
} catch (const SessionLost&) {
  session_.reset();
  throw;
} catch (...) {
  abandon();
  throw;
}

std::size_t Inbox::prune(std::chrono::hours older_than) try {
  const auto age = std::to_string(std::chrono::seconds(older_than).count());
  std::size_t pruned = 0;
  for (std::size_t rows = prune_rows; rows == prune_rows; pruned += rows) {
    auto& session = this->session();
    EffectTransaction transaction(session.begin());
    const auto answer = transaction.run(std::string(sql::source::inbox_forget),
                                        {consumer_, age, std::to_string(prune_rows)});
    commit();
    rows = std::stoul(answer.rows.at(0).at(0).value());
  }
  return pruned;
} catch (const SessionLost&) {
  session_.reset();
  throw;
} catch (...) {
  abandon();
  throw;
}

}  // namespace seriatim
