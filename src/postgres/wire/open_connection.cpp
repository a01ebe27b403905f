#include "postgres/wire/open_connection.hpp"

#include <utility>

namespace seriatim::postgres {

#if PQXX_VERSION_MAJOR >= 7

/// libpqxx 7 shows libpq's connection only to who takes it over.
OpenConnection::OpenConnection(const std::string& url)
    : OpenConnection(pqxx::connection(url).release_raw_connection()) {}

OpenConnection::OpenConnection(pg_conn* raw)
    : pqxx::connection(seize_raw_connection(raw)), raw_(raw) {}

void OpenConnection::prepare_now(const std::string& name, const std::string& statement) {
  prepare(name, statement);
}

#else

OpeningPolicy::handle OpeningPolicy::do_startconnect(handle given) {
  return open_ = connect_direct::do_startconnect(given);
}

OpeningPolicy::handle OpeningPolicy::do_disconnect(handle given) noexcept {
  open_ = nullptr;
  return connect_direct::do_disconnect(given);
}

OpenConnection::OpenConnection(const std::string& url)
    : OpeningPolicy(url), connection_base(static_cast<OpeningPolicy&>(*this)) {
  init();
  inhibit_reactivation(true);
}

OpenConnection::~OpenConnection() {
  close();
}

/// libpqxx 6 would wait for its own first use, and keeps what the server refused.
void OpenConnection::prepare_now(const std::string& name, const std::string& statement) {
  prepare(name, statement);
  try {
    connection_base::prepare_now(name);
  } catch (...) {
    unprepare(name);
    throw;
  }
}

#endif

}  // namespace seriatim::postgres
