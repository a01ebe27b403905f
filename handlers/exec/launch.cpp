// Runs after fork in a program of several threads: async-signal-safe calls only.
#include "exec/launch.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace seriatim::handlers {

namespace {

[[noreturn]] void give_up(int report, Trouble::At at) {
  const Trouble trouble{at, errno};
  (void)!::write(report, &trouble, sizeof trouble);
  ::_exit(127);
}

void forget_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Where we were started without standard input or output, a pipe may have got its number.
int out_of_the_way(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// Also those that a library opened without O_CLOEXEC; best effort, Linux 5.11 and newer.
void keep_descriptors_back() {
#ifdef SYS_close_range
  constexpr unsigned cloexec = 4;
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, cloexec);
#endif
}

}  // namespace

void become(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // it ended before prctl
  forget_signals();
  const int input = out_of_the_way(launch.input);
  const int output = out_of_the_way(launch.output);
  const int errors = out_of_the_way(launch.errors);
  const int report = out_of_the_way(launch.report);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  keep_descriptors_back();
  if (launch.directory != nullptr && ::chdir(launch.directory) != 0) {
    give_up(report, Trouble::At::directory);
  }
  ::execvpe(launch.arguments[0], launch.arguments, launch.variables);
  give_up(report, Trouble::At::program);
}

}  // namespace seriatim::handlers
