#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postgres/wire/fetch.hpp"
#include "postgres/wire/pipeline.hpp"
#include "postgres/wire/watchdog.hpp"
#include "seriatim/error.hpp"

struct pg_cancel;  // libpq's

namespace seriatim::postgres {

using std::chrono::milliseconds;

class OpenConnection;

/// Parameters of a statement in text form; absent: NULL.
using Params = std::vector<std::optional<std::string>>;
/// … in binary form, as the type's receive function reads it.
using BinaryParams = std::vector<std::string>;

/// `sql` is its caller's until it is answered. `binary`: rows come in binary form.
struct Statement {
  std::string_view sql;
  Params params = {};
  bool binary = false;
};

/// One connection to the server, never silently reopened. The keepalives and the tcp_user_timeout
/// of the URL (or ours) hold at both of its ends. A server that says nothing for twice the
/// tcp_user_timeout is given up, unless it is still at the statement.
///
/// Behind a pooler (PgBouncer) every transaction may come to another backend, which other clients
/// have left as they liked and will find again: there each statement runs in a transaction that
/// brings its own settings, and nothing is kept from one transaction to the next.
///
/// Threads: one. Errors: everything that may work on another connection is SessionLost; what the
/// server refused for good is SourceBroken, naming the SQLSTATE. A statement that fails ends the
/// open transaction.
class Connection {
 public:
  struct Options {
    std::string application = "seriatim";
    milliseconds statement_timeout{30'000};
    milliseconds lock_timeout{5'000};
    milliseconds idle_in_transaction_timeout{60'000};
    /// Asks the server on a second connection whether a silent backend is still at work.
    bool tries_again = true;
    /// Plans each prepared statement once, without the values, and along an index if there is one.
    /// For a lane's session: its statements read a range of an index, whatever the table holds.
    /// Has no effect behind a pooler.
    bool one_plan = false;
  };

  Connection(const std::string& url, const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// One statement, in the open transaction or in one of its own.
  pqxx::result run(std::string_view sql, const Params& params = {});

  /// The same, for a statement of every round: parsed once. Through a pooler it is a plain
  /// statement.
  pqxx::result run_prepared(std::string_view sql, const Params& params);

  /// The same with rows in binary form.
  Answer fetch(std::string_view sql, const Params& params);
  Answer fetch_prepared(std::string_view sql, const Params& params);

  /// The same in the open transaction, where a refusal is the caller's to deal with: the
  /// transaction stays open, in error until it is rolled back to a savepoint.
  struct Refusal {
    std::string sqlstate;
    std::string message;
  };
  std::variant<pqxx::result, Refusal> attempt(std::string_view sql, const Params& params);
  std::variant<pqxx::result, Refusal> attempt_binary(std::string_view sql,
                                                     const BinaryParams& params);

  /// Opens a transaction and runs its first statement in the same round trip, so it takes literals
  /// and no parameters.
  pqxx::result begin(std::string_view first_statement);
  /// The same for a statement as run_prepared takes it; whether it found a row. The ROLLBACK of a
  /// transaction left open goes in the same message.
  bool begin_prepared(Statement first);

  /// Statements as run_prepared takes them, in one round trip, each with a snapshot of its own; the
  /// answers in their order. `before`: called with the number of each but the first when the one
  /// before it is answered and it is not yet sent, which takes a round trip each. Through a
  /// pooler they are sent one by one.
  std::vector<Answer> run_together(const std::vector<Statement>& statements,
                                   const std::function<void(std::size_t)>& before = {});

  /// In its scope statements stay on one backend. Through a pooler that takes a transaction (and
  /// saves the statements theirs), directly nothing; each statement has its own snapshot either
  /// way.
  class OneBackend {
   public:
    explicit OneBackend(Connection& connection);
    ~OneBackend();  ///< rolls back where `end` was not reached
    OneBackend(const OneBackend&) = delete;
    OneBackend& operator=(const OneBackend&) = delete;
    void end();

   private:
    Connection& connection_;
    bool opened_;
  };

  /// SessionLost from here means: in doubt.
  void commit();
  /// Statements as run_prepared takes them, and COMMIT, in one round trip: in the open transaction,
  /// or in one of their own. One that is refused keeps nothing of them.
  std::vector<Answer> commit_with(const std::vector<Statement>& statements);
  /// Sent behind a statement without waiting for that, and run in a transaction of its own; not
  /// asked if it would have to be prepared: refused there, that would cost the statement before it.
  struct Behind {
    Statement statement;
    std::optional<Answer> answer;
    std::exception_ptr refusal;  ///< in the place of the answer: SessionLost or SourceBroken
  };
  /// A statement as run_prepared takes it, in a transaction of its own, and `behind` it what is to
  /// be asked then, if anything. Through a pooler that is not asked.
  Answer run_then(const Statement& statement, Behind* behind = nullptr);
  /// Does nothing where no transaction is open.
  void rollback();
  [[nodiscard]] bool in_transaction() const { return in_transaction_; }

  /// Several statements at once, for migrations; their results are dropped.
  void run_script(std::string_view script);

  /// The backend is this client's own: no pooler hands it to others between transactions, so that
  /// its pid and its LISTENs mean something.
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] int backend_pid() const;
  /// Its pid, for others who ask whether this client lives; absent behind a pooler.
  [[nodiscard]] std::optional<std::string> own_backend() const;

  /// How long a statement may wait for a lock.
  [[nodiscard]] milliseconds lock_timeout() const { return lock_timeout_; }

  /// Asks the server to end the statement in flight (57014), if there is one. From any thread.
  void cancel() noexcept;

  /// False behind a pooler, which would leave the LISTEN with a backend that others use.
  bool listen(const std::string& channel);
  /// Payloads of notifications that have come: (channel, payload). Never waits.
  std::vector<std::pair<std::string, std::string>> notifications();
  /// The server, or the network, has ended it, as far as that can be seen without waiting.
  [[nodiscard]] bool is_lost() noexcept;
  /// For poll(2): readable when notifications may have come, or the server has gone.
  [[nodiscard]] int socket() const;

 private:
  class Receiver;
  template <class F>
  auto translate_errors(F&& work);
  pqxx::result execute(std::string_view sql, const auto& params);
  pqxx::result execute_prepared(std::string_view sql, const auto& params);
  std::variant<pqxx::result, Refusal> attempt_with(std::string_view sql, const auto& params);
  Answer ask(const Statement& statement);
  const std::string& name_of(std::string_view sql);
  [[nodiscard]] bool is_known(std::string_view sql) const;
  void send(Pipeline& pipeline, const Statement& known);
  void make_known(const std::vector<Statement>& statements);
  std::vector<Answer> answers_to(const std::vector<Statement>& statements);
  [[nodiscard]] Watchdog::Expectation expectation() const;
  void apply_settings(const Options& options);
  pqxx::result run_shielded(const std::string& message);
  void pass_network_bounds();
  void watch_silence(const std::string& url, const Options& options);
  [[nodiscard]] int tcp_option(int name) const;

  std::unique_ptr<OpenConnection> connection_;
  std::shared_ptr<pg_cancel> cancel_;
  std::unique_ptr<Watchdog> watch_;
  milliseconds silence_max_{30'000};
  milliseconds lock_timeout_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::pair<std::string, std::string>> notifications_;
  std::map<std::string, std::string, std::less<>> prepared_;  ///< statement → name
  std::string begin_ = "BEGIN;\n";
  bool in_transaction_ = false;
  bool direct_ = true;
};

}  // namespace seriatim::postgres
