#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace seriatim::handlers {

/// A file descriptor, closed at the end.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void do_not_block() const { ::fcntl(fd_, F_SETFL, O_NONBLOCK); }

 private:
  int fd_;
};

}  // namespace seriatim::handlers
