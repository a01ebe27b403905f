#include "lab/process/server_process.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "lab/process/free_port.hpp"

namespace seriatim::lab {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds check_interval{5};
constexpr int log_lines_shown = 15;

/// The last lines, each on a line of its own.
std::string end_of(const std::string& text) {
  auto from = text.size();
  for (int lines = 0; from > 0 && lines <= log_lines_shown; ++lines) {
    from = text.rfind('\n', from - 1);
    if (from == std::string::npos) return '\n' + text;
  }
  return text.substr(from);
}

}  // namespace

std::optional<Account> server_account() {
  if (geteuid() != 0) return std::nullopt;
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr) {
    throw std::runtime_error(
        "PostgreSQL does not run as root and there is no account postgres: "
        "install the package postgresql, or run as another user");
  }
  return Account{entry->pw_uid, entry->pw_gid};
}

ServerProcess::ServerProcess(Options options) : options_(std::move(options)) {
  if (options_.folder.empty()) temporary_ = std::make_unique<TemporaryFolder>();
  folder_ = temporary_ ? temporary_->path() : fs::absolute(options_.folder);
  choose_port();
}

ServerProcess::~ServerProcess() {
  end(SIGKILL);
}

void ServerProcess::start() {
  if (!try_start()) fail(options_.name + " ended at once");
}

bool ServerProcess::try_start() {
  if (process_ && process_->runs()) return true;
  log_before_ = log().size();
  process_ = std::make_unique<Process>(command(), program(options_.log));
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  while (!answers()) {
    if (process_->wait_at_most(check_interval)) {
      process_.reset();
      return false;
    }
    if (std::chrono::steady_clock::now() > deadline) fail(options_.name + " does not answer");
  }
  return true;
}

bool ServerProcess::end(int signal) {
  if (!process_) return true;
  const auto group = -process_->pid();
  process_->signal(signal);
  if (process_->runs()) ::kill(group, SIGCONT);
  const bool in_time = process_->wait_at_most(options_.patience).has_value();
  if (!in_time) ::kill(group, SIGKILL);
  process_.reset();
  ended();
  return in_time;
}

void ServerProcess::freeze() {
  if (!process_) throw std::runtime_error(options_.name + " is to freeze and does not run");
  process_->freeze();
}

void ServerProcess::thaw() {
  if (process_) process_->signal(SIGCONT);
}

std::string ServerProcess::log() const {
  std::ifstream in(log_file());
  return {std::istreambuf_iterator<char>(in), {}};
}

bool ServerProcess::says(const std::string& text) const {
  return log().find(text, log_before_) != std::string::npos;
}

void ServerProcess::choose_port() {
  port_ = free_port();
}

void ServerProcess::make_folder(const fs::path& folder) const {
  fs::create_directories(folder);
  const auto& account = options_.account;
  if (!account || !fs::is_empty(folder)) return;
  if (::chown(folder.c_str(), account->uid, account->gid) != 0) {
    throw std::runtime_error("cannot give " + folder.string() +
                             " to account postgres: " + std::strerror(errno));
  }
}

Process::Options ServerProcess::program(const std::string& log) const {
  Process::Options options;
  options.folder = "/";  // this program's may be closed to the account
  if (!log.empty()) options.out_file = file(log).string();
  options.err_with_out = true;
  options.account = options_.account;
  options.group = Process::Group::own_session;
  options.death_signal = options_.death_signal;
  return options;
}

void ServerProcess::fail(const std::string& what) const {
  throw std::runtime_error(what + "; " + log_file().string() + " ends:" + end_of(log()));
}

}  // namespace seriatim::lab
