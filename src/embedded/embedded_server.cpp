#include "embedded/embedded_server.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "lab/process/server_process.hpp"
#include "seriatim/error.hpp"

namespace seriatim::embedded {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds predecessor_max{10'000};
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

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

}  // namespace

/// SIGINT is PostgreSQL's fast shutdown: it leaves no process and no shared memory.
struct EmbeddedServer::Impl final : lab::ServerProcess {
  explicit Impl(EmbeddedServer::Options wanted)
      : ServerProcess({.name = "the server",
                       .folder = wanted.folder,
                       .log = "server.log",
                       .death_signal = SIGINT}),
        wanted_(std::move(wanted)) {
    if (wanted_.binaries.empty()) wanted_.binaries = find_binaries();
  }
  ~Impl() override { end(SIGINT); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void create();
  using ServerProcess::use_port;
  [[nodiscard]] bool can_be_copied() const { return fs::exists(binary("pg_basebackup")); }
  void stop(Stop how) {
    if (!end(how == Stop::fast ? SIGINT : SIGQUIT)) fail("the server did not stop within a minute");
  }

 private:
  [[nodiscard]] std::string binary(const char* name) const {
    return (wanted_.binaries / name).string();
  }
  [[nodiscard]] std::vector<std::string> command() const override;
  bool answers() override;
  void initialise();
  [[nodiscard]] std::vector<std::string> new_data() const;
  void await_predecessor() const;
  void demand_wanted() const {
    if (wanted_.stop.stop_requested()) throw Error("stopped by a signal before PostgreSQL was up");
  }

  EmbeddedServer::Options wanted_;
};

void EmbeddedServer::Impl::create() {
  make_folder(file(""));
  initialise();
  await_predecessor();
  for (int attempt = 1; !try_start(); ++attempt) {
    if (attempt == port_attempts) fail("the server did not start");
    choose_port();  // another may have taken it in between
  }
  wanted_.stop = {};  // start() is not meant
}

void EmbeddedServer::Impl::initialise() {
  if (fs::exists(file("data") / "PG_VERSION")) return;
  const auto words = new_data();
  lab::Process creator(words, program(options_.log));
  // Never cut short: a program that initdb has started would outlive it for a moment.
  const auto ended = creator.wait_at_most(options_.patience);
  demand_wanted();
  if (ended && ended->code == 0) return;
  fail(words.front() + " could not create " + file("data").string() +
       (options_.account ? " (account postgres must be able to enter the folder's path)" : ""));
}

/// The command that makes them.
std::vector<std::string> EmbeddedServer::Impl::new_data() const {
  const auto data = "--pgdata=" + file("data").string();
  if (wanted_.primary_url.empty()) {
    return {
        binary("initdb"),   data,        "--username=postgres", "--auth=trust", "--encoding=UTF8",
        "--locale=C.UTF-8", "--no-sync", "--no-instructions"};
  }
  return {binary("pg_basebackup"),
          data,
          "--dbname=" + wanted_.primary_url,
          "--checkpoint=fast",
          "--write-recovery-conf",
          "--no-sync",
          "--no-password"};
}

/// A server whose starter was killed is still shutting down: its place is free in a moment. One
/// that stays refuses us itself.
void EmbeddedServer::Impl::await_predecessor() const {
  const auto deadline = std::chrono::steady_clock::now() + predecessor_max;
  while (std::chrono::steady_clock::now() < deadline) {
    demand_wanted();
    const auto lines = lines_of(file("data") / "postmaster.pid");
    const pid_t predecessor = lines.empty() ? 0 : std::atoi(lines.front().c_str());
    if (predecessor <= 0 || ::kill(predecessor, 0) != 0) return;
    std::this_thread::sleep_for(milliseconds{20});
  }
}

std::vector<std::string> EmbeddedServer::Impl::command() const {
  std::vector<std::string> words{binary("postgres"), "-D", file("data").string()};
  auto settings = wanted_.settings;
  settings.insert(settings.begin(), {"listen_addresses=127.0.0.1", "port=" + std::to_string(port()),
                                     "unix_socket_directories=", "logging_collector=off"});
  for (const auto& setting : settings) words.insert(words.end(), {"-c", setting});
  return words;
}

/// The eighth line of postmaster.pid says "ready" once connections are taken.
bool EmbeddedServer::Impl::answers() {
  demand_wanted();
  const auto lines = lines_of(file("data") / "postmaster.pid");
  return lines.size() >= 8 && std::atoi(lines.front().c_str()) == pid() &&
         lines[7].rfind("ready", 0) == 0;
}

EmbeddedServer::EmbeddedServer(Options options)
    : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->create();
}

EmbeddedServer::~EmbeddedServer() = default;

void EmbeddedServer::start() {
  impl_->start();
}

void EmbeddedServer::start(int port) {
  impl_->use_port(port);
  impl_->start();
}

void EmbeddedServer::stop(Stop how) {
  impl_->stop(how);
}

std::string EmbeddedServer::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port()) + "/" + database;
}

int EmbeddedServer::port() const {
  return impl_->port();
}

bool EmbeddedServer::can_be_copied() const {
  return impl_->can_be_copied();
}

std::filesystem::path EmbeddedServer::log_file() const {
  return impl_->log_file();
}

}  // namespace seriatim::embedded
