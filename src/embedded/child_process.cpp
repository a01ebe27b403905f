#include "embedded/child_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "seriatim/error.hpp"

namespace seriatim::embedded {

std::optional<Account> server_account() {
  if (geteuid() != 0) return std::nullopt;
  const passwd* entry = getpwnam("postgres");
  if (entry == nullptr) {
    throw Error(
        "PostgreSQL does not run as root and there is no account postgres: "
        "install the package postgresql, or run as another user");
  }
  return Account{entry->pw_uid, entry->pw_gid};
}

namespace {

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(char* const* arguments, const std::optional<Account>& account, int log) {
  setsid();  // a Ctrl-C at the terminal is for us, not for the server
  if (account) {
    const bool changed =
        setgroups(1, &account->gid) == 0 && setgid(account->gid) == 0 && setuid(account->uid) == 0;
    if (!changed) _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGINT);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (chdir("/") != 0) _exit(126);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(arguments[0], arguments);
  _exit(127);
}

}  // namespace

pid_t spawn(const std::vector<std::string>& command, const std::optional<Account>& account,
            const std::filesystem::path& log) {
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) throw Error("cannot write " + log.string() + ": " + std::strerror(errno));
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) become(arguments.data(), account, output);
  close(output);
  if (pid < 0) throw Error("cannot start " + command.front() + ": " + std::strerror(errno));
  return pid;
}

std::optional<int> wait_for(pid_t pid, std::chrono::milliseconds at_most) {
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return status;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace seriatim::embedded
