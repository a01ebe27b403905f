#include "support/pgbouncer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "embedded/child_process.hpp"
#include "support/postgres_fixture.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace seriatim::testing {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

const Need need([] { return why_missing("/usr/sbin/pgbouncer", "pgbouncer"); });

constexpr milliseconds start_max{20'000};
constexpr int port_attempts = 5;

/// Free when asked; another may take it before PgBouncer does, so starting tries again.
int free_loopback_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool ok = fd >= 0 && bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  if (fd >= 0) close(fd);
  if (!ok) throw std::runtime_error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace

struct PgBouncer::Impl {
  Options options;
  int server_port = 0;
  TemporaryFolder folder;
  int port = 0;
  pid_t pid = 0;

  fs::path file(const std::string& name) const { return folder.path() / name; }

  void configure() const {
    std::ofstream(file("users.txt")) << "\"postgres\" \"\"\n";
    std::ofstream(file("pgbouncer.ini"))
        << "[databases]\n* = host=127.0.0.1 port=" << server_port
        << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port
        << "\nunix_socket_dir =\nauth_type = trust\nauth_file = " << file("users.txt").string()
        << "\nlog_connections = 0\nlog_disconnections = 0"
        << "\npool_mode = " << options.pool_mode << "\ndefault_pool_size = " << options.pool_size
        << "\nmax_client_conn = 200\n"
        << options.settings;
  }

  bool try_start() {
    port = free_loopback_port();
    configure();
    pid = embedded::spawn({"/usr/sbin/pgbouncer", file("pgbouncer.ini").string()},
                          embedded::server_account(), file("pgbouncer.log"));
    const auto deadline = std::chrono::steady_clock::now() + start_max;
    while (std::chrono::steady_clock::now() < deadline) {
      try {
        const SqlSession admin("postgresql://postgres@127.0.0.1:" + std::to_string(port) +
                               "/postgres?connect_timeout=2");
        return true;
      } catch (const std::exception&) {  // not yet
      }
      if (embedded::wait_for(pid, milliseconds{10})) {
        pid = 0;
        return false;
      }
    }
    return false;
  }
};

PgBouncer::PgBouncer(int server_port, Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->server_port = server_port;
  for (int attempt = 1; attempt <= port_attempts; ++attempt) {
    if (impl_->try_start()) return;
  }
  std::ifstream log(impl_->file("pgbouncer.log"));
  throw std::runtime_error("PgBouncer did not start:\n" +
                           std::string(std::istreambuf_iterator<char>(log), {}));
}

PgBouncer::~PgBouncer() {
  if (impl_->pid == 0) return;
  kill(impl_->pid, SIGTERM);  // at once, whoever is connected
  (void)embedded::wait_for(impl_->pid, start_max);
}

std::string PgBouncer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(impl_->port) + "/" + database;
}

void PgBouncer::lead_to(int server_port) {
  impl_->server_port = server_port;
  impl_->configure();
  kill(impl_->pid, SIGHUP);
}

}  // namespace seriatim::testing
