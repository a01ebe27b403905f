#pragma once

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

namespace seriatim::testing {

/// A plain blocking socket, every wait with a deadline.
class PlainSocket {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds patience{20'000};

  explicit PlainSocket(int fd) : fd_(fd) {}
  ~PlainSocket() { close(); }
  PlainSocket(PlainSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PlainSocket& operator=(PlainSocket&&) = delete;

  /// A connection to 127.0.0.1; `error()` says why there is none.
  static PlainSocket to(unsigned short port, milliseconds limit = patience) {
    PlainSocket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    auto address = loopback(port);
    if (::connect(socket.fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      return socket;
    }
    socket.error_ = errno == EINPROGRESS && !socket.wait(POLLOUT, limit) ? ETIMEDOUT : 0;
    if (socket.error_ == 0) socket.error_ = socket.option(SOL_SOCKET, SO_ERROR);
    return socket;
  }

  [[nodiscard]] int error() const { return error_; }
  [[nodiscard]] int fd() const { return fd_; }
  void set(int level, int name, int value) { ::setsockopt(fd_, level, name, &value, sizeof value); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  void send(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<std::size_t>(n);
      if (n < 0 && (errno != EAGAIN || !wait(POLLOUT, patience))) {
        error_ = errno;
        return;
      }
    }
  }
  /// As many bytes as fit at once; 0 where the kernel takes none now.
  std::size_t send_some(const std::string& bytes) {
    const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  /// What comes up to `bytes` bytes, the end of the stream, an error or the limit.
  std::string receive(std::size_t bytes, milliseconds limit = patience) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::string all;
    std::array<char, 4096> buffer{};
    pieces_ = 0;
    ended_ = false;
    while (all.size() < bytes) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !wait(POLLIN, left)) return all;
      const auto n = ::recv(fd_, buffer.data(), std::min(buffer.size(), bytes - all.size()), 0);
      if (n == 0) ended_ = true;
      if (n < 0) error_ = errno;
      if (n <= 0) return all;
      pieces_ += 1;
      all.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  /// Of the last `receive`: pieces it came in, and whether it met the end of the stream (FIN).
  [[nodiscard]] unsigned pieces() const { return pieces_; }
  [[nodiscard]] bool ended() const { return ended_; }

  static sockaddr_in loopback(unsigned short port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

 private:
  [[nodiscard]] bool wait(short events, milliseconds limit) const {
    pollfd one{fd_, events, 0};
    return ::poll(&one, 1, static_cast<int>(limit.count())) > 0;
  }
  [[nodiscard]] int option(int level, int name) const {
    int value = 0;
    socklen_t size = sizeof value;
    ::getsockopt(fd_, level, name, &value, &size);
    return value;
  }

  int fd_;
  int error_ = 0;
  unsigned pieces_ = 0;
  bool ended_ = false;
};

/// A listening port of 127.0.0.1 and the connections it is asked for, one at a time.
class PlainListener {
 public:
  PlainListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = PlainSocket::loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_.fd(), 16) == 0);
    ::getsockname(socket_.fd(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] unsigned short port() const { return port_; }
  PlainSocket accept() {
    pollfd one{socket_.fd(), POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(PlainSocket::patience.count()));
    return PlainSocket(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  PlainSocket socket_;
  unsigned short port_ = 0;
};

}  // namespace seriatim::testing
