#include "lab/process/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace seriatim::lab {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int pipe_bytes = 1 << 20;
constexpr int check_interval_ms = 10;

/// Where one of the program's streams ends, here and there.
struct Ends {
  int ours = -1;
  int theirs = -1;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// Above stderr, so that the child can put each where it belongs without losing another: this
/// program may have been started without a stdout.
int lifted(int fd) {
  if (fd > STDERR_FILENO) return fd;
  const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(fd);
  return above;
}

Ends output_ends(const std::string& file, bool closed, bool elsewhere) {
  if (closed || elsewhere) return {};
  if (!file.empty()) {
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) fail("cannot write " + file);
    return {-1, lifted(fd)};
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
  return {lifted(ends[0]), lifted(ends[1])};
}

/// A socket rather than a pipe: writing to a program that has ended must not raise SIGPIPE here.
Ends input_ends(const Process::Options& options) {
  if (options.input.empty() && !options.input_open) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0) fail("/dev/null");
    return {-1, lifted(null)};
  }
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("socketpair");
  return {lifted(ends[1]), lifted(ends[0])};
}

void close_quietly(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

std::vector<std::string> environment_of(const Process::Options& options) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const auto name = text.substr(0, text.find('='));
    bool dropped = options.environment.count(name) > 0;
    for (const auto& without : options.without_environment) dropped = dropped || without == name;
    if (!dropped) result.push_back(text);
  }
  for (const auto& [name, value] : options.environment) result.push_back(name + '=' + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// --- in the child, between fork and exec: async-signal-safe calls only ---------------------------

[[noreturn]] void fail_in_child(const char* what) {
  (void)!write(STDERR_FILENO, what, std::strlen(what));
  _exit(127);
}

void redirect(int target, int end) {
  if (end < 0) {
    close(target);
  } else if (dup2(end, target) < 0) {
    fail_in_child("dup2 failed\n");
  }
}

void limit_files(unsigned files_max) {
  if (files_max == 0) return;
  const rlimit limit{files_max, files_max};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail_in_child("setrlimit failed\n");
}

void become(const std::optional<Account>& account) {
  if (!account) return;
  const bool changed =
      setgroups(1, &account->gid) == 0 && setgid(account->gid) == 0 && setuid(account->uid) == 0;
  if (!changed) fail_in_child("cannot become another account\n");
}

/// After the change of account, which would forget it.
void end_with(pid_t parent, int death_signal) {
  if (death_signal == 0) return;
  prctl(PR_SET_PDEATHSIG, death_signal);
  if (getppid() != parent) fail_in_child("the starter has ended\n");
}

/// As a shell at a terminal starts a program, however this one was started (nohup, in the
/// background).
void reset_signals() {
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Process::Process(std::vector<std::string> command) : Process(std::move(command), Options{}) {}

Process::Process(std::vector<std::string> command, const Options& options)
    : name_(command.at(0)), input_(options.input), input_open_(options.input_open) {
  auto in = input_ends(options);
  auto out = output_ends(options.out_file, options.out_closed, false);
  auto err = output_ends(options.err_file, options.err_closed,
                         options.err_with_out || options.err_inherited);
  auto environment = environment_of(options);
  const auto arguments = pointers(command);
  const auto variables = pointers(environment);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    if (options.group == Group::own) setpgid(0, 0);
    if (options.group == Group::own_session) setsid();
    redirect(STDIN_FILENO, in.theirs);
    redirect(STDOUT_FILENO, out.theirs);
    if (!options.err_inherited) {
      redirect(STDERR_FILENO, options.err_with_out ? STDOUT_FILENO : err.theirs);
    }
    limit_files(options.files_max);
    become(options.account);
    end_with(parent, options.death_signal);
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0)
      fail_in_child("no such folder\n");
    reset_signals();
    execvpe(arguments[0], arguments.data(), variables.data());
    fail_in_child("cannot execute the program\n");
  }
  for (int* fd : {&in.theirs, &out.theirs, &err.theirs}) close_quietly(*fd);
  in_fd_ = in.ours;
  out_fd_ = out.ours;
  err_fd_ = err.ours;
  for (const int fd : {in_fd_, out_fd_, err_fd_}) {
    if (fd >= 0) fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  // Not there before Linux 5.3: its end is then seen by polling.
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  feed();
}

Process::~Process() {
  kill();
  for (int* fd : {&pid_fd_, &in_fd_, &out_fd_, &err_fd_}) close_quietly(*fd);
}

void Process::signal(int number) {
  if (number == SIGCONT) frozen_ = false;
  if (!code_) ::kill(pid_, number);
}

void Process::freeze() {
  if (frozen_ && !code_) return;  // the kernel reports a stop once
  signal(SIGSTOP);
  int status = 0;
  while (!code_ && waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!code_ && !WIFSTOPPED(status)) note_end(status);
  if (code_) throw std::runtime_error(name_ + " is to freeze and has ended" + story());
  frozen_ = true;
}

void Process::kill() {
  signal(SIGKILL);
  while (!code_) pump_once(check_interval_ms);
}

Ended Process::stop(milliseconds limit) {
  signal(SIGTERM);
  signal(SIGCONT);
  if (!wait_at_most(limit)) kill();
  return wait();
}

Ended Process::wait(milliseconds limit) {
  auto ended = wait_at_most(limit);
  if (!ended) throw std::runtime_error(name_ + " still runs after its time" + story());
  return *ended;
}

std::optional<Ended> Process::wait_at_most(milliseconds limit) {
  if (!pump_until([&] { return code_.has_value(); }, limit)) return std::nullopt;
  return Ended{*code_, out_, err_};
}

void Process::wait_for_output(const std::string& text, milliseconds limit) {
  const auto seen = [&] { return out_.find(text) != std::string::npos; };
  if (!pump_until(seen, limit)) throw std::runtime_error("no \"" + text + "\" on stdout" + story());
}

void Process::wait_for_errors(const std::string& text, milliseconds limit) {
  const auto seen = [&] { return err_.find(text) != std::string::npos; };
  if (!pump_until(seen, limit)) throw std::runtime_error("no \"" + text + "\" on stderr" + story());
}

std::optional<std::string> Process::next_line(milliseconds limit) {
  std::size_t end = out_.find('\n');
  const auto whole = [&] { return (end = out_.find('\n')) != std::string::npos; };
  if (end == std::string::npos && !pump_until(whole, limit)) return std::nullopt;
  auto line = out_.substr(0, end);
  out_.erase(0, end + 1);
  return line;
}

void Process::write(const std::string& bytes) {
  input_ += bytes;
  feed();
}

void Process::end_input() {
  input_open_ = false;
  feed();
}

bool Process::pump_until(const std::function<bool()>& fact, milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  pump_once(0);
  while (!fact()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (code_ || left <= milliseconds{0}) return false;
    pump_once(static_cast<int>(left.count()));
  }
  return true;
}

void Process::pump_once(int timeout_ms) {
  if (code_) return;
  const short writable = input_.empty() ? 0 : POLLOUT;
  std::array<pollfd, 4> watched{{{pid_fd_, POLLIN, 0},
                                 {out_fd_, POLLIN, 0},
                                 {err_fd_, POLLIN, 0},
                                 {writable != 0 ? in_fd_ : -1, writable, 0}}};
  poll(watched.data(), watched.size(),
       pid_fd_ < 0 ? std::min(timeout_ms, check_interval_ms) : timeout_ms);
  // Before the last reads, so that nothing written before the end is missed.
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == pid_ || (ended < 0 && errno == ECHILD)) note_end(status);
  feed();
  drain(out_fd_, out_);
  drain(err_fd_, err_);
}

void Process::drain(int& fd, std::string& into) {
  std::array<char, 65536> chunk{};
  while (fd >= 0) {
    const auto count = read(fd, chunk.data(), chunk.size());
    if (count > 0) {
      into.append(chunk.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      close_quietly(fd);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void Process::feed() {
  while (in_fd_ >= 0 && !input_.empty()) {
    const auto count = send(in_fd_, input_.data(), input_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {  // it reads no more
      input_.clear();
      return close_quietly(in_fd_);
    }
    input_.erase(0, static_cast<std::size_t>(count));
  }
  if (!input_open_) close_quietly(in_fd_);
}

void Process::note_end(int status) {
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Process::story() const {
  return code_ ? "; it ended with " + std::to_string(*code_) + "\nstdout: " + out_ +
                     "\nstderr: " + err_
               : "\nstdout: " + out_ + "\nstderr: " + err_;
}

Ended run(std::vector<std::string> command) {
  return Process(std::move(command)).wait();
}

Ended run(std::vector<std::string> command, const Process::Options& options) {
  return Process(std::move(command), options).wait();
}

void wait_until(const std::string& what, const std::function<bool()>& fact,
                std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!fact()) {
    if (Clock::now() >= deadline) throw std::runtime_error("waited in vain until " + what);
    poll(nullptr, 0, 5);
  }
}

}  // namespace seriatim::lab
