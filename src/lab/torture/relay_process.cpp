#include "lab/torture/relay_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "seriatim/error.hpp"

namespace seriatim::torture {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto stop_max = 20s;

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const auto& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

/// This program's environment, but for the names given anew.
std::vector<std::string> environment_with(const RelayProcess::Environment& added) {
  std::vector<std::string> result;
  for (const auto& [name, value] : added) result.push_back(name + '=' + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool anew = false;
    for (const auto& [name, value] : added) anew = anew || text.rfind(name + '=', 0) == 0;
    if (!anew) result.push_back(text);
  }
  return result;
}

}  // namespace

RelayProcess::RelayProcess(const std::vector<std::string>& command, const Environment& environment,
                           std::filesystem::path log)
    : command_(command), environment_(environment_with(environment)), log_(std::move(log)) {}

RelayProcess::~RelayProcess() {
  kill();
}

void RelayProcess::start() {
  const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) throw Error("cannot write " + log_.string() + ": " + std::strerror(errno));
  pid_ = ::fork();
  if (pid_ == 0) become(log);
  ::close(log);
  if (pid_ < 0) throw Error(std::string("cannot start a relay: ") + std::strerror(errno));
}

void RelayProcess::become(int log) const {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto arguments = pointers(command_);
  ::execvpe(arguments[0], arguments.data(), pointers(environment_).data());
  ::_exit(127);
}

void RelayProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void RelayProcess::kill() {
  signal(SIGKILL);
  reap(0);
}

int RelayProcess::stop() {
  signal(SIGCONT);
  signal(SIGTERM);
  for (const auto deadline = Clock::now() + stop_max; Clock::now() < deadline;) {
    if (const auto status = ended()) return *status;
    std::this_thread::sleep_for(5ms);
  }
  kill();
  return 128 + SIGKILL;
}

std::optional<int> RelayProcess::ended() {
  return reap(WNOHANG);
}

std::optional<int> RelayProcess::reap(int options) {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  pid_t found = 0;
  while ((found = ::waitpid(pid_, &status, options)) < 0 && errno == EINTR) {
  }
  if (found != pid_) return std::nullopt;
  pid_ = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace seriatim::torture
