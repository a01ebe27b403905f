#include "exec/child.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "exec/launch.hpp"
#include "seriatim/error.hpp"
#include "support/excerpt.hpp"
#include "support/sigpipe_held.hpp"

namespace seriatim::handlers {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t read_bytes = 64 * 1024;
constexpr std::size_t last_words_max = 1024 * 1024;  ///< of standard error, once it is dead
constexpr std::chrono::seconds death_takes_max{1};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

int milliseconds_until(Child::Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Child::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
}

std::string describe(int status) {
  if (WIFEXITED(status)) return "exited with " + std::to_string(WEXITSTATUS(status));
  const auto* name = ::sigabbrev_np(WTERMSIG(status));
  return std::string("was ended by SIG") + (name != nullptr ? name : "?");
}

/// It takes no signals: they are for whoever waits for them.
std::thread quiet_thread(std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(run));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

ssize_t read_some(int fd, char* into, std::size_t bytes) {
  ssize_t n = 0;
  do n = ::read(fd, into, bytes);
  while (n < 0 && errno == EINTR);
  return n;
}

/// Empty: the program runs.
std::string trouble_from(const Fd& report) {
  Trouble trouble{};
  if (read_some(report.get(), reinterpret_cast<char*>(&trouble), sizeof trouble) <= 0) return {};
  const std::string why = std::strerror(trouble.error);
  return trouble.at == Trouble::At::directory ? "working_directory: " + why : why;
}

}  // namespace

/// The thread that starts the program and reads its standard error. It lives until the program was
/// reaped, for its end kills the program: that is what happens when this process is killed.
struct Child::Keeper {
  explicit Keeper(ErrorLines::Writer write) : lines(std::move(write)) {
    errors.reader.do_not_block();
  }
  ~Keeper() { end(); }

  pid_t start(const Launch& launch) {
    // Shared: the thread may still be in set_value when its answer is here.
    const auto started = std::make_shared<std::promise<std::pair<pid_t, int>>>();
    auto answer = started->get_future();
    thread = quiet_thread([this, launch, started] {
      const pid_t forked = ::fork();
      if (forked == 0) become(launch);
      started->set_value({forked, errno});
      if (forked > 0) watch();
    });
    const auto [forked, error] = answer.get();
    errors.writer.close();
    errno = error;
    return forked;
  }

  /// Reads what is still there, no more.
  void end() {
    if (!thread.joinable()) return;
    const std::uint64_t one = 1;
    (void)!::write(leave.get(), &one, sizeof one);
    thread.join();
  }

  void watch() {
    pollfd left{leave.get(), POLLIN, 0};
    for (bool open = true; left.revents == 0;) {
      std::array<pollfd, 2> ready{left, {open ? errors.reader.get() : -1, POLLIN, 0}};
      (void)::poll(ready.data(), ready.size(), -1);
      left = ready[0];
      if (ready[1].revents != 0) open = take() != 0;
    }
    std::size_t all = 0;
    for (ssize_t n = take(); n > 0 && all < last_words_max; n = take()) {
      all += static_cast<std::size_t>(n);
    }
    const std::lock_guard lock(mutex);
    lines.finish(Clock::now());
  }

  /// Answers as `read` does.
  ssize_t take() {
    std::array<char, 4096> bytes{};
    const auto n = read_some(errors.reader.get(), bytes.data(), bytes.size());
    if (n <= 0) return n;
    const std::lock_guard lock(mutex);
    lines.feed({bytes.data(), static_cast<std::size_t>(n)}, Clock::now());
    return n;
  }

  Pipe errors;
  Fd leave{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  ErrorLines lines;
  std::thread thread;
};

Child::Child(Program program, ErrorLines::Writer error_lines)
    : keeper_(std::make_unique<Keeper>(std::move(error_lines))) {
  Pipe in;
  Pipe out;
  Pipe report;
  const auto arguments = pointers(program.command);
  const auto variables = pointers(program.environment);
  const auto& directory = program.working_directory;
  pid_ = keeper_->start({directory.empty() ? nullptr : directory.c_str(), arguments.data(),
                         variables.data(), in.reader.get(), out.writer.get(),
                         keeper_->errors.writer.get(), report.writer.get(), ::getpid()});
  std::string problem = pid_ < 0 ? std::strerror(errno) : "";
  if (pid_ > 0) {
    death_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    if (death_.get() < 0) problem = std::string("pidfd_open: ") + std::strerror(errno);
    report.writer.close();
    if (problem.empty()) problem = trouble_from(report.reader);
    if (!problem.empty()) (void)reap();
  }
  if (!problem.empty()) {
    throw Error("cannot start " + excerpt(program.command.front()) + ": " + problem);
  }
  input_ = std::move(in.writer);
  output_ = std::move(out.reader);
  input_.do_not_block();
  output_.do_not_block();
}

Child::~Child() {
  (void)reap();
}

Child::Ready Child::wait(bool to_write, Clock::time_point until) const {
  std::array<pollfd, 3> ready{{{to_write && takes_input_ ? input_.get() : -1, POLLOUT, 0},
                               {output_.get(), POLLIN, 0},
                               {death_.get(), POLLIN, 0}}};
  if (::poll(ready.data(), ready.size(), milliseconds_until(until)) < 0) return {};
  return {ready[0].revents != 0, ready[1].revents != 0, ready[2].revents != 0};
}

bool Child::has_ended(milliseconds within) const {
  pollfd dead{death_.get(), POLLIN, 0};
  const auto until = Clock::now() + within;
  do (void)::poll(&dead, 1, milliseconds_until(until));
  while (dead.revents == 0 && Clock::now() < until);
  return dead.revents != 0;
}

std::size_t Child::write(std::string_view bytes) {
  const SigpipeHeld held;
  const auto n = ::write(input_.get(), bytes.data(), bytes.size());
  if (n > 0) return static_cast<std::size_t>(n);
  if (n < 0 && errno != EAGAIN && errno != EINTR) takes_input_ = false;
  return 0;
}

std::size_t Child::unread() const {
  int bytes = 0;
  return ::ioctl(input_.get(), FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void Child::close_input() {
  takes_input_ = false;
  input_.close();
}

bool Child::read(std::string& into) const {
  const auto had = into.size();
  into.resize(had + read_bytes);
  const auto n = read_some(output_.get(), into.data() + had, read_bytes);
  into.resize(had + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  return n != 0;
}

void Child::signal(int number) const {
  if (!end_) ::kill(-pid_, number);
}

/// Until the program is waited for, its number and so its group's are nobody else's.
std::optional<Child::End> Child::reap() {
  if (end_) return end_;
  ::kill(pid_, SIGKILL);
  signal(SIGKILL);
  if (death_.get() >= 0 && !has_ended(death_takes_max)) return std::nullopt;
  int status = 0;
  pid_t waited_for = 0;
  do waited_for = ::waitpid(pid_, &status, 0);
  while (waited_for < 0 && errno == EINTR);
  // Where the program we are part of ignores SIGCHLD nobody knows how.
  end_ = waited_for < 0 ? End{"ended"}
                        : End{describe(status), WIFEXITED(status) && WEXITSTATUS(status) == 0};
  keeper_->end();
  return end_;
}

std::string Child::last_error_line() const {
  const std::lock_guard lock(keeper_->mutex);
  return keeper_->lines.last();
}

}  // namespace seriatim::handlers
