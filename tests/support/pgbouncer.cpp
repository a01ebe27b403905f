#include "support/pgbouncer.hpp"

#include <fstream>

#include "support/postgres_fixture.hpp"
#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

const Need need([] { return why_missing("/usr/sbin/pgbouncer", "pgbouncer"); });

}  // namespace

PgBouncer::PgBouncer(int server_port, Options options)
    : ServerProcess({.name = "PgBouncer"}), wanted_(std::move(options)) {
  configure(server_port);
  start();
}

void PgBouncer::configure(int server_port) const {
  std::ofstream(file("users.txt")) << "\"postgres\" \"\"\n";
  std::ofstream(file("pgbouncer.ini"))
      << "[databases]\n* = host=127.0.0.1 port=" << server_port
      << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port()
      << "\nunix_socket_dir =\nauth_type = trust\nauth_file = " << file("users.txt").string()
      << "\nlog_connections = 0\nlog_disconnections = 0"
      << "\npool_mode = " << wanted_.pool_mode << "\ndefault_pool_size = " << wanted_.pool_size
      << "\nmax_client_conn = 200\n"
      << wanted_.settings;
}

std::vector<std::string> PgBouncer::command() const {
  return {"/usr/sbin/pgbouncer", file("pgbouncer.ini").string()};
}

bool PgBouncer::answers() try {
  const SqlSession admin(url("postgres") + "?connect_timeout=2");
  return true;
} catch (const std::exception&) {
  return false;
}

std::string PgBouncer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port()) + "/" + database;
}

void PgBouncer::lead_to(int server_port) {
  configure(server_port);
  ::kill(pid(), SIGHUP);
}

}  // namespace seriatim::testing
