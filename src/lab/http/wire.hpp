#pragma once

#include <openssl/ssl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace seriatim::lab {

/// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;

  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

using TlsContext = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

/// A TLS server context from PEM texts; `version_max` 0 means the newest.
TlsContext make_tls_context(const std::string& certificate, const std::string& key,
                            int version_max);

/// The server's end of one connection, plain or TLS, blocking.
class Wire {
 public:
  Wire(Fd socket, SSL_CTX* tls);

  /// False when the TLS handshake failed.
  [[nodiscard]] bool accept();
  /// Reads until `buffer` holds more; false at the end of the stream or on an error.
  [[nodiscard]] bool read_more(std::string& buffer);
  [[nodiscard]] bool write(std::string_view bytes);
  /// Two writes (over TLS: two records) in one segment.
  [[nodiscard]] bool write_together(std::string_view first, std::string_view second);
  /// FIN, our side only.
  void finish();
  /// The next close sends RST.
  void reset_on_close();
  /// True when the time went by; false when the peer (or `shutdown` by another thread) ended first.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) const;
  /// Until the peer is gone.
  void wait_for_end() const;
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  Fd socket_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  std::array<char, 16384> heard_{};  ///< cleared once, not at every read
};

}  // namespace seriatim::lab
