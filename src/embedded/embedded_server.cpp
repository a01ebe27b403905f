#include "embedded/embedded_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "embedded/child_process.hpp"
#include "seriatim/error.hpp"

namespace seriatim::embedded {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds start_max{60'000};
constexpr milliseconds stop_max{60'000};
constexpr milliseconds predecessor_max{10'000};
constexpr std::size_t log_lines_shown = 15;
constexpr int port_attempts = 5;

bool has_server(const fs::path& folder) {
  return fs::exists(folder / "initdb") && fs::exists(folder / "postgres");
}

/// SERIATIM_POSTGRES_BIN says it; else, of the folders Debian keeps for each major version, the
/// newest.
fs::path find_binaries() {
  if (const char* chosen = std::getenv("SERIATIM_POSTGRES_BIN"); chosen && *chosen != '\0') {
    if (has_server(chosen)) return chosen;
    throw Error(std::string("SERIATIM_POSTGRES_BIN: no initdb and postgres in ") + chosen);
  }
  fs::path found;
  int newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (version > newest && has_server(entry.path() / "bin")) {
      newest = version;
      found = entry.path() / "bin";
    }
  }
  if (!found.empty()) return found;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (has_server(folder)) return folder;
  }
  throw Error(
      "no PostgreSQL server found in /usr/lib/postgresql or PATH: "
      "install the package postgresql");
}

/// Free when asked; another may take it before the server does, so starting tries again.
int free_loopback_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool ok = fd >= 0 && bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  if (fd >= 0) close(fd);
  if (!ok) throw Error(std::string("no free port on 127.0.0.1: ") + std::strerror(errno));
  return ntohs(address.sin_port);
}

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string end_of(const fs::path& log) {
  const auto lines = lines_of(log);
  std::string out;
  const auto skipped = lines.size() - std::min(lines.size(), log_lines_shown);
  for (auto i = skipped; i < lines.size(); ++i) out += "\n  " + lines[i];
  return out;
}

void give_to(const fs::path& folder, const std::optional<Account>& account) {
  if (account && chown(folder.c_str(), account->uid, account->gid) != 0) {
    throw Error("cannot give " + folder.string() + " to account postgres: " + std::strerror(errno));
  }
}

}  // namespace

struct EmbeddedServer::Impl {
  Options options;
  std::optional<Account> account;
  int port = 0;
  pid_t pid = 0;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (pid == 0) return;
    kill(pid, SIGINT);
    (void)wait_for(pid, stop_max);
  }

  fs::path data() const { return options.folder / "data"; }
  fs::path log() const { return options.folder / "server.log"; }

  void prepare_folder();
  void initialise();
  void await_predecessor() const;
  bool try_start();
  bool wait_until_ready();
  void demand_wanted() const;
  [[noreturn]] void fail(const std::string& what) const;
};

void EmbeddedServer::Impl::fail(const std::string& what) const {
  throw Error(what + "; " + log().string() + " ends:" + end_of(log()));
}

void EmbeddedServer::Impl::prepare_folder() {
  options.folder = fs::absolute(options.folder);
  const bool fresh = !fs::exists(options.folder);
  fs::create_directories(options.folder);
  if (fresh || fs::is_empty(options.folder)) give_to(options.folder, account);
}

void EmbeddedServer::Impl::initialise() {
  if (fs::exists(data() / "PG_VERSION")) return;
  const std::vector<std::string> command{(options.binaries / "initdb").string(),
                                         "--pgdata=" + data().string(),
                                         "--username=postgres",
                                         "--auth=trust",
                                         "--encoding=UTF8",
                                         "--locale=C.UTF-8",
                                         "--no-sync",
                                         "--no-instructions"};
  // Never cut short: a program that initdb has started would outlive it for a moment.
  const auto status = wait_for(spawn(command, account, log()), start_max);
  demand_wanted();
  if (!status || *status != 0) {
    fail("initdb could not create " + data().string() +
         (account ? " (account postgres must be able to enter the folder's path)" : ""));
  }
}

/// A server whose starter was killed is still shutting down: its place is free in a moment. One
/// that stays refuses us itself.
void EmbeddedServer::Impl::await_predecessor() const {
  const auto deadline = std::chrono::steady_clock::now() + predecessor_max;
  while (std::chrono::steady_clock::now() < deadline) {
    demand_wanted();
    const auto lines = lines_of(data() / "postmaster.pid");
    const pid_t predecessor = lines.empty() ? 0 : std::atoi(lines.front().c_str());
    if (predecessor <= 0 || kill(predecessor, 0) != 0) return;
    std::this_thread::sleep_for(milliseconds{20});
  }
}

bool EmbeddedServer::Impl::try_start() {
  std::vector<std::string> command{(options.binaries / "postgres").string(),
                                   "-D",
                                   data().string(),
                                   "-c",
                                   "listen_addresses=127.0.0.1",
                                   "-c",
                                   "port=" + std::to_string(port),
                                   "-c",
                                   "unix_socket_directories=",
                                   "-c",
                                   "logging_collector=off"};
  for (const auto& setting : options.settings) {
    command.emplace_back("-c");
    command.push_back(setting);
  }
  pid = spawn(command, account, log());
  return wait_until_ready();
}

/// The eighth line of postmaster.pid says "ready" once connections are taken.
bool EmbeddedServer::Impl::wait_until_ready() {
  const auto deadline = std::chrono::steady_clock::now() + start_max;
  while (std::chrono::steady_clock::now() < deadline) {
    demand_wanted();
    const auto lines = lines_of(data() / "postmaster.pid");
    const bool own = !lines.empty() && std::atoi(lines.front().c_str()) == pid;
    if (own && lines.size() >= 8 && lines[7].rfind("ready", 0) == 0) return true;
    if (wait_for(pid, milliseconds{5})) {
      pid = 0;
      return false;
    }
  }
  fail("the server did not become ready within a minute");
}

void EmbeddedServer::Impl::demand_wanted() const {
  if (options.stop.stop_requested()) throw Error("stopped by a signal before PostgreSQL was up");
}

EmbeddedServer::EmbeddedServer(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  if (impl_->options.binaries.empty()) impl_->options.binaries = find_binaries();
  impl_->account = server_account();
  impl_->prepare_folder();
  impl_->initialise();
  impl_->await_predecessor();
  for (int attempt = 1; attempt <= port_attempts; ++attempt) {
    impl_->port = free_loopback_port();
    if (!impl_->try_start()) continue;
    impl_->options.stop = {};  // start() is not meant
    return;
  }
  impl_->fail("the server did not start");
}

EmbeddedServer::~EmbeddedServer() = default;

void EmbeddedServer::start() {
  if (impl_->pid == 0 && !impl_->try_start()) impl_->fail("the server did not start again");
}

void EmbeddedServer::stop(Stop how) {
  if (impl_->pid == 0) return;
  kill(impl_->pid, how == Stop::fast ? SIGINT : SIGQUIT);
  if (!wait_for(impl_->pid, stop_max)) impl_->fail("the server did not stop within a minute");
  impl_->pid = 0;
}

std::string EmbeddedServer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(impl_->port) + "/" + database;
}

int EmbeddedServer::port() const {
  return impl_->port;
}

std::filesystem::path EmbeddedServer::log_file() const {
  return impl_->log();
}

}  // namespace seriatim::embedded
