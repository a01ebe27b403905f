#include "postgres/connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <set>

#include "postgres/silence_watch.hpp"
#include "postgres/sql_text.hpp"
#include "seriatim_sql.hpp"

#ifdef __SANITIZE_ADDRESS__
// libpqxx 6 asks a lost connection for its encoding before it takes hold of the result: two
// kilobytes a lost session are never freed. Known, and too small to hide our own leaks behind.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libpqxx-6";
}
#endif

namespace seriatim::postgres {

namespace {

// A half-open connection is noticed within 10 + 3·5 s, unanswered data within 15 s.
constexpr std::array<std::string_view, 6> network_bounds{
    "connect_timeout=10",    "keepalives=1",       "keepalives_idle=10",
    "keepalives_interval=5", "keepalives_count=3", "tcp_user_timeout=15000"};

/// Our bounds first: libpq lets what comes later win, so what the user wrote does.
std::string with_network_bounds(const std::string& url) {
  const bool uri = url.rfind("postgres://", 0) == 0 || url.rfind("postgresql://", 0) == 0;
  const auto query = uri ? url.find('?') : std::string::npos;
  std::string out = uri ? url.substr(0, query) : std::string();
  char separator = '?';
  for (const auto bound : network_bounds) {
    if (uri) out += std::exchange(separator, '&');
    out += bound;
    if (!uri) out += ' ';
  }
  if (!uri) return out + url;
  return query == std::string::npos ? out : out + '&' + url.substr(query + 1);
}

bool starts_with_any(const std::string& state, std::initializer_list<std::string_view> prefixes) {
  for (const auto prefix : prefixes) {
    if (state.compare(0, prefix.size(), prefix) == 0) return true;
  }
  return false;
}

/// Errors of the moment: connection, conflict with others, resources, shutdown, storage hiccups.
bool may_work_later(const std::string& sqlstate) {
  return sqlstate.empty() || starts_with_any(sqlstate, {"08", "25", "40", "53", "55", "57", "58"});
}

/// P0 and 38: raised by a user's function, which an expression over the row may call.
bool is_about_data(const std::string& sqlstate) {
  return starts_with_any(sqlstate, {"22", "38", "54", "P0", "XX001", "XX002"});
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (auto& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// The server's first line alone: DETAIL and CONTEXT quote rows.
std::string first_line(const std::string& text) {
  return one_line(text.substr(0, text.find('\n')));
}

[[noreturn]] void throw_for(const std::string& message, const std::string& sqlstate) {
  const auto what = first_line(message);
  if (may_work_later(sqlstate)) {
    throw SessionLost(sqlstate.empty() ? what : what + " (SQLSTATE " + sqlstate + ")", sqlstate);
  }
  const bool schema_missing = what.find("seriatim.") != std::string::npos &&
                              starts_with_any(sqlstate, {"42P01", "3F000", "42883"});
  const bool no_schema = what.find("schema \"seriatim\"") != std::string::npos;
  const std::string advice = schema_missing || (no_schema && sqlstate == "3F000")
                                 ? "; schema seriatim is not installed here: run `seriatim init`"
                                 : "";
  throw SourceBroken(is_about_data(sqlstate) ? HaltReason::bad_payload : HaltReason::source_changed,
                     what + " (SQLSTATE " + sqlstate + ")" + advice, sqlstate);
}

template <class E>
bool is_a(const std::exception& e) {
  return dynamic_cast<const E*>(&e) != nullptr;
}

/// libpqxx 6 drops the SQLSTATE of some of its classes; the class then stands for it.
std::string sqlstate_of(const pqxx::sql_error& e) {
  if (!e.sqlstate().empty()) return e.sqlstate();
  if (is_a<pqxx::insufficient_privilege>(e)) return "42501";
  if (is_a<pqxx::undefined_table>(e)) return "42P01";
  if (is_a<pqxx::undefined_column>(e)) return "42703";
  if (is_a<pqxx::undefined_function>(e)) return "42883";
  if (is_a<pqxx::syntax_error>(e)) return "42601";
  if (is_a<pqxx::data_exception>(e)) return "22000";
  if (is_a<pqxx::integrity_constraint_violation>(e)) return "23000";
  if (is_a<pqxx::feature_not_supported>(e)) return "0A000";
  if (is_a<pqxx::disk_full>(e)) return "53100";
  if (is_a<pqxx::out_of_memory>(e)) return "53200";
  return "";
}

}  // namespace

void rethrow_translated() {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const pqxx::sql_error& e) {
    throw_for(e.what(), sqlstate_of(e));
  } catch (const pqxx::serialization_failure& e) {
    throw_for(e.what(), "40001");
  } catch (const pqxx::deadlock_detected& e) {
    throw_for(e.what(), "40P01");
  } catch (const pqxx::too_many_connections& e) {
    throw_for(e.what(), "53300");
  } catch (const std::exception& e) {  // broken connection, in doubt, and what libpqxx cannot name
    throw SessionLost(one_line(e.what()));
  }
}

// --- one statement ------------------------------------------------------------------------------

template <class F>
auto Connection::guarded(F&& work) {
  try {
    return work();
  } catch (...) {
    try {
      if (watch_ && watch_->ended_it()) {
        throw SessionLost(
            "the database did not answer in time, though the network is up: what is "
            "between us and it, or the server itself, has stopped");
      }
      rethrow_translated();
    } catch (const SessionLost&) {
      throw;
    } catch (...) {
      rollback();
      throw;
    }
  }
}

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
  const SilenceWatch::Expectation expectation(*watch_, silence_max_);
  pqxx::nontransaction work(*connection_);
  if (params.empty()) return work.exec(std::string(sql));
  return with_values(
      params, [&](const auto& values) { return work.exec_params(std::string(sql), values); });
}

pqxx::result Connection::execute_prepared(std::string_view sql, const auto& params) {
  const SilenceWatch::Expectation expectation(*watch_, silence_max_);
  const auto& name = prepared(sql);
  pqxx::nontransaction work(*connection_);
  return with_values(params, [&](const auto& values) { return work.exec_prepared(name, values); });
}

/// A plan made when a table was small, and is not analysed since, must not outlive that for long.
const std::string& Connection::prepared(std::string_view sql) {
  constexpr unsigned uses_max = 250;
  auto known = prepared_.find(sql);
  if (known != prepared_.end() && ++known->second.uses > uses_max && !in_transaction_) {
    connection_->unprepare(known->second.name);
    prepared_.erase(known);
    known = prepared_.end();
  }
  if (known == prepared_.end()) {
    const auto name = "seriatim_" + std::to_string(++prepared_count_);
    connection_->prepare(name, std::string(sql));
    known = prepared_.emplace(sql, Prepared{name}).first;
  }
  return known->second.name;
}

pqxx::result Connection::run(std::string_view sql, const Params& params) {
  OneBackend scope(*this);
  auto result = guarded([&] { return execute(sql, params); });
  scope.end();
  return result;
}

pqxx::result Connection::run_prepared(std::string_view sql, const Params& params) {
  if (!direct_) return run(sql, params);
  return guarded([&] { return execute_prepared(sql, params); });
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
  auto result = guarded([&] {
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
  return guarded([&] {
    try {
      return execute(begin_ + std::string(first_statement), Params{});
    } catch (const pqxx::feature_not_supported&) {  // READ WRITE during recovery
      if (direct_) throw;
      throw SessionLost("the pooler leads to a standby: let it lead to the primary alone");
    }
  });
}

pqxx::result Connection::begin_prepared(std::string_view first_statement, const Params& params) {
  rollback();
  return begin(guarded([&] { return execute_text(first_statement, params); }));
}

/// Text that runs a prepared statement, for messages of several statements.
std::string Connection::execute_text(std::string_view sql, const Params& params) {
  const auto& name = prepared(sql);
#if PQXX_VERSION_MAJOR < 7
  connection_->prepare_now(name);
#endif
  std::string values;
  for (const auto& param : params) {
    values += values.empty() ? "(" : ",";
    values += param ? quote_literal(*param) : "NULL";
  }
  return "EXECUTE " + name + values + ");";
}

Connection::OneBackend::OneBackend(Connection& connection)
    : connection_(connection), opened_(!connection.direct_ && !connection.in_transaction_) {
  if (opened_) connection_.begin("");
}

Connection::OneBackend::~OneBackend() {
  try {
    if (opened_) connection_.rollback();
  } catch (const std::exception&) {  // lost: whoever uses it next is told
  }
}

void Connection::OneBackend::end() {
  if (opened_) connection_.commit();
  opened_ = false;
}

void Connection::commit() {
  const auto result = guarded([&] { return execute("COMMIT", Params{}); });
  in_transaction_ = false;
}

pqxx::result Connection::commit_with(std::string_view last_statement, const Params& params,
                                     std::string_view next_statement, const Params& next_params) {
  return guarded([&] {
    const auto last = (in_transaction_ ? "" : begin_) + execute_text(last_statement, params);
    const auto next = begin_ + execute_text(next_statement, next_params);
    in_transaction_ = true;
    return execute(last + "COMMIT;" + next, Params{});
  });
}

void Connection::rollback() {
  if (!in_transaction_) return;
  in_transaction_ = false;
  guarded([&] { return execute("ROLLBACK", Params{}); });
}

void Connection::run_script(std::string_view script) {
  run(script);
}

// --- opening ------------------------------------------------------------------------------------

Connection::Connection(const std::string& url, const Options& options) {
  guarded([&] {
    connection_ = std::make_unique<pqxx::connection>(with_network_bounds(url));
#if PQXX_VERSION_MAJOR < 7
    // libpqxx 6 would reopen a lost connection on a new backend, without our locks and settings.
    connection_->inhibit_reactivation(true);
#endif
    watch_ = std::make_unique<SilenceWatch>(connection_->sock());
    return 0;
  });
  apply_settings(options);
  tell_network_bounds();
  watch_silence(url, options);
}

Connection::~Connection() = default;

void Connection::apply_settings(const Options& options) {
  const auto ms = [](milliseconds m) { return std::to_string(m.count()); };
  const auto row =
      run(sql::session_settings,
          {options.application, ms(options.statement_timeout), ms(options.lock_timeout),
           ms(options.idle_in_transaction_timeout), std::to_string(connection_->backendpid())})[0];
  direct_ = row["direct"].as<bool>();
  if (direct_) return;
  begin_ = fill(sql::pooled_begin, {{"server_started", row["server_started"].c_str()},
                                    {"client_encoding", row["client_encoding"].c_str()},
                                    {"application", quote_literal(options.application)},
                                    {"statement_timeout", ms(options.statement_timeout)},
                                    {"lock_timeout", ms(options.lock_timeout)},
                                    {"idle_timeout", ms(options.idle_in_transaction_timeout)}});
}

/// What holds at our end, whoever set it, shall hold at the server's: so that a host of ours that
/// vanished is noticed there as well, and the lock on its cursor falls.
void Connection::tell_network_bounds() {
  const int keepalive_idle = tcp_option(TCP_KEEPIDLE);
  if (keepalive_idle <= 0) return;  // a Unix-domain socket
  const int user_timeout = tcp_option(TCP_USER_TIMEOUT);
  if (user_timeout > 0) silence_max_ = 2 * milliseconds(user_timeout);
  if (!direct_) return;  // the server's end is the pooler's affair
  try {
    run(sql::session_network,
        {std::to_string(keepalive_idle), std::to_string(tcp_option(TCP_KEEPINTVL)),
         std::to_string(tcp_option(TCP_KEEPCNT)), std::to_string(user_timeout)});
  } catch (const SourceBroken&) {  // not for us to set here: the server's own bounds hold
  }
}

/// A statement may take long, and a commit waits for its standby as long as that takes; so silence
/// alone proves nothing. Behind a pooler nobody knows which backend to ask about.
void Connection::watch_silence(const std::string& url, const Options& options) {
  if (!options.looks_again) return;
  if (!direct_) {
    silence_max_ += options.statement_timeout;
    return;
  }
  constexpr auto npos = std::string_view::npos;
  watch_->ask([url, pid = std::to_string(backend_pid())] {
    try {
      Connection another(url, {.application = "seriatim looks again", .looks_again = false});
      return another.run(sql::backend_works, {pid})[0][0].as<bool>();
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

void Connection::listen(const std::string& channel) {
  guarded([&] {
    receivers_.push_back(std::make_unique<Receiver>(*this, channel));
    return 0;
  });
}

std::vector<std::pair<std::string, std::string>> Connection::notifications() {
  return guarded([&] {
    connection_->get_notifs();
    if (!connection_->is_open()) throw SessionLost("the server ended the connection");
    return std::exchange(notifications_, {});
  });
}

int Connection::socket() const {
  return connection_->sock();
}

}  // namespace seriatim::postgres
