#include "support/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace seriatim::testing {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int pipe_bytes = 1 << 20;

struct Pipe {
  int reader = -1;
  int writer = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe: no file descriptors");
  fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
  return {ends[0], ends[1]};
}

/// A socket rather than a pipe: writing to a program that has ended must not raise SIGPIPE here.
Pipe make_input() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error("socketpair: no file descriptors");
  }
  return {ends[0], ends[1]};
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

void redirect(int target, const std::string& file, bool closed, int pipe_end) {
  if (closed) {
    close(target);
  } else if (file.empty()) {
    if (dup2(pipe_end, target) < 0) fail_in_child("dup2 failed\n");
  } else {
    const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd < 0 || dup2(fd, target) < 0) fail_in_child("cannot open the output file\n");
    if (fd != target) close(fd);
  }
}

void limit_files(unsigned files_max) {
  if (files_max == 0) return;
  const rlimit limit{files_max, files_max};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail_in_child("setrlimit failed\n");
}

/// As a shell at a terminal starts a program, however the tests were started (nohup).
void reset_signals() {
  signal(SIGHUP, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Process::Process(std::vector<std::string> command) : Process(std::move(command), Options{}) {}

Process::Process(std::vector<std::string> command, Options options)
    : name_(command.at(0)), input_(options.input) {
  auto in = make_input();
  auto out = make_pipe();
  auto err = make_pipe();
  auto environment = environment_of(options);
  const auto arguments = pointers(command);
  const auto variables = pointers(environment);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    reset_signals();
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0)
      fail_in_child("no such folder\n");
    if (dup2(in.reader, STDIN_FILENO) < 0) fail_in_child("dup2 failed\n");
    redirect(STDOUT_FILENO, options.out_file, options.out_closed, out.writer);
    redirect(STDERR_FILENO, options.err_file, options.err_closed, err.writer);
    limit_files(options.files_max);
    execvpe(arguments[0], arguments.data(), variables.data());
    fail_in_child("cannot execute the program\n");
  }
  close_quietly(in.reader);
  close_quietly(out.writer);
  close_quietly(err.writer);
  in_fd_ = in.writer;
  out_fd_ = out.reader;
  err_fd_ = err.reader;
  for (const int fd : {in_fd_, out_fd_, err_fd_}) fcntl(fd, F_SETFL, O_NONBLOCK);
  pid_fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd_ < 0) throw std::runtime_error("pidfd_open failed");
  feed();
}

Process::~Process() {
  if (!code_) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (int* fd : {&pid_fd_, &in_fd_, &out_fd_, &err_fd_}) close_quietly(*fd);
}

void Process::signal(int number) const {
  if (!code_) kill(pid_, number);
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
  std::array<pollfd, 4> watched{
      {{pid_fd_, POLLIN, 0}, {out_fd_, POLLIN, 0}, {err_fd_, POLLIN, 0}, {in_fd_, POLLOUT, 0}}};
  poll(watched.data(), watched.size(), timeout_ms);
  reap_if_ended();  // before the last reads, so that nothing written before the end is missed
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
    if (count < 0) break;  // it reads no more
    input_.erase(0, static_cast<std::size_t>(count));
  }
  close_quietly(in_fd_);
}

void Process::reap_if_ended() {
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return;
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

Ended run(std::vector<std::string> command, Process::Options options) {
  return Process(std::move(command), std::move(options)).wait();
}

void freeze(pid_t child) {
  kill(child, SIGSTOP);
  int status = 0;
  while (waitpid(child, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status)) throw std::runtime_error("the program to freeze has ended");
}

void wait_until(const std::string& what, const std::function<bool()>& fact,
                std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (!fact()) {
    if (Clock::now() >= deadline) throw std::runtime_error("waited in vain until " + what);
    poll(nullptr, 0, 5);
  }
}

}  // namespace seriatim::testing
