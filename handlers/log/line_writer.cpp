#include "log/line_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "support/sigpipe_held.hpp"

namespace seriatim::handlers {

namespace {

using Clock = std::chrono::steady_clock;

/// One lane's turn to write to standard output. (Not a timed_mutex: ThreadSanitizer of g++ 12 does
/// not know the lock it takes with a steady deadline.)
class Turn {
 public:
  explicit Turn(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    held_ = ended_.wait_until(lock, deadline, [] { return !taken_; });
    taken_ = true;
  }
  ~Turn() {
    if (!held_) return;
    const std::lock_guard lock(mutex_);
    taken_ = false;
    ended_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] bool held() const { return held_; }

 private:
  static inline std::mutex mutex_;
  static inline std::condition_variable ended_;
  static inline bool taken_ = false;

  bool held_ = false;
};

class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// Pipes and terminals take this much without blocking once poll says they are writable.
constexpr std::size_t pipe_bytes = 4096;

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

int wait_writable(int fd, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd ready{fd, POLLOUT, 0};
  const int n = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
  return n == 0 ? ETIMEDOUT : n < 0 ? errno : 0;
}

/// Answers an errno, and in `done` how much was written.
int write_all(int fd, std::string_view text, Clock::time_point deadline, std::size_t& done) {
  const auto piece_max = is_regular(fd) ? text.size() : pipe_bytes;
  while (done < text.size()) {
    if (const int error = wait_writable(fd, deadline); error != 0 && error != EINTR) return error;
    const auto n = ::write(fd, text.data() + done, std::min(piece_max, text.size() - done));
    if (n < 0 && errno != EINTR && errno != EAGAIN) return errno;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

LineWriter::LineWriter(std::string path, bool sync) : path_(std::move(path)), sync_(sync) {}

std::string LineWriter::write(std::string_view line, Clock::time_point deadline) {
  if (path_.empty()) {
    const Turn turn(deadline);
    if (!turn.held()) return "standard output: another lane is still writing";
    return write_to(STDOUT_FILENO, line, deadline);
  }
  const File file(path_);
  if (file.fd() < 0) return path_ + ": " + std::strerror(errno);
  return write_to(file.fd(), line, deadline);
}

std::string LineWriter::write_to(int fd, std::string_view line, Clock::time_point deadline) {
  const SigpipeHeld held;
  std::string text = torn_ ? "\n" : "";
  text += line;
  text += '\n';
  std::size_t done = 0;
  int error = write_all(fd, text, deadline, done);
  if (done > 0) torn_ = done < text.size();
  if (error == 0 && sync_ && ::fdatasync(fd) != 0 && errno != EINVAL) error = errno;
  if (error == 0) return {};
  return (path_.empty() ? "standard output" : path_) + ": " + std::strerror(error);
}

}  // namespace seriatim::handlers
