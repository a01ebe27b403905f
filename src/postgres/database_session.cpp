#include "postgres/wire/connection.hpp"
#include "postgres/wire/handler_transaction.hpp"
#include "seriatim/postgres.hpp"

namespace seriatim {

namespace postgres {

namespace {

/// The handler's own deadline bounds its statements (Transaction::savepoint); these are for the
/// rest.
Connection::Options options_for(const std::string& application) {
  Connection::Options options;
  options.application = application;
  return options;
}

class HandlersSession final : public DatabaseSession {
 public:
  HandlersSession(const std::string& url, const std::string& application)
      : connection_(url, options_for(application)) {}

  Transaction& begin() override {
    connection_.begin("");
    return lent_;
  }
  void commit() override { connection_.commit(); }
  void rollback() override { connection_.rollback(); }

 private:
  Connection connection_;
  HandlerTransaction lent_{connection_, [] {}};  // begun already
};

}  // namespace

}  // namespace postgres

std::unique_ptr<DatabaseSession> open_database(const std::string& url,
                                               const std::string& application) {
  return std::make_unique<postgres::HandlersSession>(url, application);
}

}  // namespace seriatim
