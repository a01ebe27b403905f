#include "postgres/wire/connection.hpp"

#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "postgres/wire/network_bounds.hpp"
#include "postgres/wire/open_connection.hpp"
#include "postgres/wire/pqxx_compat.hpp"
#include "postgres/wire/server_error.hpp"
#include "postgres/wire/sql_text.hpp"
#include "postgres/wire/translate_errors.hpp"
#include "postgres/wire/watchdog.hpp"
#include "sql/wire.hpp"

#ifdef __SANITIZE_ADDRESS__
// libpqxx 6 asks a lost connection for its encoding before it takes hold of the result: two
// kilobytes a lost session are never freed. Known, and too small to hide our own leaks behind.
// Visible, or the sanitizer's runtime does not find it.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpqxx-6";
}
#endif

namespace seriatim::postgres {

// --- one statement ------------------------------------------------------------------------------

namespace {

#if PQXX_VERSION_MAJOR >= 7
auto pqxx_value(const std::optional<std::string>& param) {
  return param;
}
auto pqxx_value(const std::string& binary) {
  return pqxx::binary_cast(binary);
}
#else
const char* pqxx_value(const std::optional<std::string>& param) {
  return param ? param->c_str() : nullptr;
}
pqxx::binarystring pqxx_value(const std::string& binary) {
  return pqxx::binarystring(binary);
}
#endif

/// Hands the parameters to `send` as libpqxx takes them.
pqxx::result with_values(const auto& params, auto&& send) {
#if PQXX_VERSION_MAJOR >= 7
  pqxx::params values;
  for (const auto& param : params) values.append(pqxx_value(param));
  return send(values);
#else
  std::vector<decltype(pqxx_value(params.front()))> values;
  for (const auto& param : params) values.push_back(pqxx_value(param));
  return send(pqxx::prepare::make_dynamic_params(values));
#endif
}

}  // namespace

pqxx::result Connection::execute(std::string_view sql, const auto& params) {
  const auto owed = expectation();
  pqxx::nontransaction work(*connection_);
  if (params.empty()) return work.exec(std::string(sql));
  return with_values(
      params, [&](const auto& values) { return exec_values(work, std::string(sql), values); });
}

pqxx::result Connection::execute_prepared(std::string_view sql, const auto& params) {
  const auto owed = expectation();
  const auto& name = name_of(sql);
  pqxx::nontransaction work(*connection_);
  return with_values(params, [&](const auto& values) { return exec_known(work, name, values); });
}

Watchdog::Expectation Connection::expectation() const {
  return Watchdog::Expectation(*watch_, silence_max_);
}

bool Connection::is_known(std::string_view sql) const {
  return prepared_.find(sql) != prepared_.end();
}

const std::string& Connection::name_of(std::string_view sql) {
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    const auto name = "seriatim_" + std::to_string(prepared_.size() + 1);
    connection_->prepare_now(name, std::string(sql));
    known = prepared_.emplace(sql, name).first;
  }
  return known->second;
}

pqxx::result Connection::run(std::string_view sql, const Params& params) {
  OneBackend scope(*this);
  auto result = translate_errors([&] { return execute(sql, params); });
  scope.end();
  return result;
}

pqxx::result Connection::run_prepared(std::string_view sql, const Params& params) {
  if (!direct_) return run(sql, params);
  return translate_errors([&] { return execute_prepared(sql, params); });
}

Answer Connection::fetch(std::string_view sql, const Params& params) {
  return ask({sql, params, true});
}

Answer Connection::ask(const Statement& statement) {
  OneBackend scope(*this);
  auto answer = translate_errors([&] {
    const auto owed = expectation();
    return fetch_text(connection_->raw(), std::string(statement.sql), statement.params,
                      statement.binary);
  });
  scope.end();
  return answer;
}

Answer Connection::fetch_prepared(std::string_view sql, const Params& params) {
  if (!direct_) return fetch(sql, params);
  return translate_errors([&] {
    const auto owed = expectation();
    return postgres::fetch_prepared(connection_->raw(), name_of(sql), params);
  });
}

std::variant<pqxx::result, Connection::Refusal> Connection::attempt(std::string_view sql,
                                                                    const Params& params) {
  return attempt_with(sql, params);
}

std::variant<pqxx::result, Connection::Refusal> Connection::attempt_binary(
    std::string_view sql, const BinaryParams& params) {
  return attempt_with(sql, params);
}

std::variant<pqxx::result, Connection::Refusal> Connection::attempt_with(std::string_view sql,
                                                                         const auto& params) {
  std::optional<Refusal> refusal;
  auto result = translate_errors([&] {
    try {
      return direct_ && !params.empty() ? execute_prepared(sql, params) : execute(sql, params);
    } catch (const pqxx::sql_error& e) {
      if (!connection_->is_open()) throw;
      refusal = {sqlstate_of(e), first_line(e.what())};
      return pqxx::result();
    }
  });
  if (refusal) return *refusal;
  return result;
}

pqxx::result Connection::begin(std::string_view first_statement) {
  rollback();
  in_transaction_ = true;
  return translate_errors([&] {
    try {
      return execute(begin_ + std::string(first_statement), Params{});
    } catch (const pqxx::feature_not_supported&) {  // READ WRITE during recovery
      if (direct_) throw;
      throw SessionLost("the pooler leads to a standby: let it lead to the primary alone");
    }
  });
}

Connection::OneBackend::OneBackend(Connection& connection)
    : connection_(connection), opened_(!connection.direct_ && !connection.in_transaction_) {
  if (opened_) connection_.begin("");
}

Connection::OneBackend::~OneBackend() {
  try {
    if (opened_) connection_.rollback();
  } catch (const std::exception&) {  // lost: whoever uses it next learns it
  }
}

void Connection::OneBackend::end() {
  if (opened_) connection_.commit();
  opened_ = false;
}

void Connection::commit() {
  const auto result = translate_errors([&] { return execute("COMMIT", Params{}); });
  in_transaction_ = false;
}

void Connection::run_script(std::string_view script) {
  run(script);
}

// --- opening ------------------------------------------------------------------------------------

Connection::Connection(const std::string& url, const Options& options)
    : lock_timeout_(options.lock_timeout) {
  translate_errors([&] {
    connection_ = std::make_unique<OpenConnection>(with_network_bounds(url));
    cancel_ = {PQgetCancel(connection_->raw()), &PQfreeCancel};
    watch_ = std::make_unique<Watchdog>(connection_->sock());
    return 0;
  });
  apply_settings(options);
  pass_network_bounds();
  watch_silence(url, options);
}

Connection::~Connection() = default;

/// What holds at our end, whoever set it, shall hold at the server's: so that a host of ours that
/// vanished is noticed there as well, and its lane is free.
void Connection::pass_network_bounds() {
  const int keepalive_idle = tcp_option(TCP_KEEPIDLE);
  if (keepalive_idle <= 0) return;  // a Unix-domain socket
  const int user_timeout = tcp_option(TCP_USER_TIMEOUT);
  if (user_timeout > 0) silence_max_ = 2 * milliseconds(user_timeout);
  if (!direct_) return;  // the server's end is the pooler's affair
  try {
    run(sql::wire::session_network,
        {std::to_string(keepalive_idle), std::to_string(tcp_option(TCP_KEEPINTVL)),
         std::to_string(tcp_option(TCP_KEEPCNT)), std::to_string(user_timeout)});
  } catch (const SourceBroken&) {  // not for us to set here: the server's own bounds hold
  }
}

/// A statement may take long, and a commit waits for its standby as long as that takes; so silence
/// alone proves nothing. Behind a pooler nobody knows which backend to ask about.
void Connection::watch_silence(const std::string& url, const Options& options) {
  if (!options.tries_again) return;
  if (!direct_) {
    silence_max_ += options.statement_timeout;
    return;
  }
  constexpr auto npos = std::string_view::npos;
  watch_->ask([url, pid = std::to_string(backend_pid())] {
    try {
      Connection another(url, {.application = "seriatim checks again", .tries_again = false});
      return another.run(sql::wire::backend_works, {pid})[0][0].as<bool>();
    } catch (const SessionLost& lost) {
      // A server that refuses us lives. At connect libpq hands its words on, and no SQLSTATE.
      return !lost.sqlstate().empty() || std::string_view(lost.what()).find("FATAL") != npos;
    } catch (const std::exception&) {
      return true;
    }
  });
}

int Connection::tcp_option(int name) const {
  int value = 0;
  socklen_t size = sizeof value;
  const int failed = ::getsockopt(socket(), IPPROTO_TCP, name, &value, &size);
  return failed ? 0 : value;
}

void Connection::cancel() noexcept {
  std::array<char, 256> why{};
  if (cancel_) PQcancel(cancel_.get(), why.data(), static_cast<int>(why.size()));
}

std::optional<std::string> Connection::own_backend() const {
  return direct_ ? std::optional(std::to_string(backend_pid())) : std::nullopt;
}

int Connection::backend_pid() const {
  return connection_->backendpid();
}

// --- notifications ------------------------------------------------------------------------------

class Connection::Receiver final : public pqxx::notification_receiver {
 public:
  Receiver(Connection& owner, const std::string& channel)
      : pqxx::notification_receiver(*owner.connection_, channel), owner_(owner) {}
  void operator()(const std::string& payload, int /*backend*/) override {
    owner_.notifications_.emplace_back(channel(), payload);
  }

 private:
  Connection& owner_;
};

bool Connection::listen(const std::string& channel) {
  if (!direct_) return false;
  translate_errors([&] {
    receivers_.push_back(std::make_unique<Receiver>(*this, channel));
    return 0;
  });
  return true;
}

std::vector<std::pair<std::string, std::string>> Connection::notifications() {
  return translate_errors([&] {
    connection_->get_notifs();
    if (!connection_->is_open()) throw SessionLost("the server ended the connection");
    return std::exchange(notifications_, {});
  });
}

/// Readable is not lost: a notification may have come.
bool Connection::is_lost() noexcept {
  return PQconsumeInput(connection_->raw()) != 1 || PQstatus(connection_->raw()) != CONNECTION_OK;
}

int Connection::socket() const {
  return connection_->sock();
}

}  // namespace seriatim::postgres
