#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <vector>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

using std::chrono::milliseconds;

/// Parameters of a statement in text form; absent: NULL.
using Params = std::vector<std::optional<std::string>>;

/// One connection to the server, never silently reopened.
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
  };

  Connection(const std::string& url, const Options& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// One statement, in the open transaction or in one of its own.
  pqxx::result run(std::string_view sql, const Params& params = {});

  /// Opens a transaction and runs its first statement in the same round trip, so it takes literals
  /// and no parameters.
  pqxx::result begin(std::string_view first_statement);
  /// SessionLost from here means: in doubt.
  void commit();
  /// Does nothing where no transaction is open.
  void rollback();
  [[nodiscard]] bool in_transaction() const { return in_transaction_; }

  /// Several statements at once, for migrations; their results are dropped.
  void run_script(std::string_view script);

  /// The backend is this client's own: no pooler hands it to others between transactions, so that
  /// its pid and its LISTENs mean something.
  [[nodiscard]] bool direct() const { return direct_; }
  [[nodiscard]] int backend_pid() const;

  void listen(const std::string& channel);
  /// Payloads of notifications that have come: (channel, payload). Never waits.
  std::vector<std::pair<std::string, std::string>> notifications();
  /// For poll(2): readable when notifications may have come, or the server has gone.
  [[nodiscard]] int socket() const;

 private:
  class Receiver;
  template <class F>
  auto guarded(F&& work);
  void apply_settings(const Options& options);

  std::unique_ptr<pqxx::connection> connection_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::pair<std::string, std::string>> notifications_;
  bool in_transaction_ = false;
  bool direct_ = false;
};

/// Turns what libpqxx threw into SessionLost or SourceBroken. Call inside a catch block.
[[noreturn]] void rethrow_translated();

}  // namespace seriatim::postgres
