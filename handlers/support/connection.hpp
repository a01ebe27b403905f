#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/http_client.hpp"
#include "support/url.hpp"

namespace seriatim::handlers {

struct Exchange {
  HttpResult result;
  bool reusable = false;   ///< nothing odd was seen: the connection may carry the next request
  bool untouched = false;  ///< not one byte left and none came: safe to send elsewhere
  std::chrono::seconds keep_alive{0};  ///< the receiver's own Keep-Alive: timeout; 0: not said
};

/// An open connection, plain or TLS.
class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  /// Sends the request and reads the answer, both at once, since some receivers answer early.
  [[nodiscard]] virtual Exchange exchange(std::string_view head, std::string_view body,
                                          std::chrono::steady_clock::time_point deadline) = 0;
  /// False when the receiver closed it, or sent what nobody asked for: not to be used again.
  [[nodiscard]] virtual bool is_quiet() = 0;
};

using Dialled = std::variant<std::unique_ptr<Connection>, HttpFailure>;

/// An open connection, plain or TLS, for clients that speak a protocol of their own.
class ByteStream {
 public:
  using Clock = std::chrono::steady_clock;
  /// Takes what arrived; true: that was all.
  using Take = std::function<bool(std::string_view bytes)>;

  ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;
  virtual ~ByteStream() = default;

  /// Sends `bytes` and reads until `take` has all, both at once, since some receivers refuse what
  /// they have not yet read. Answers what went wrong; empty: nothing. After an error the stream is
  /// of no use.
  [[nodiscard]] virtual std::string talk(std::string_view bytes, const Take& take,
                                         Clock::time_point deadline) = 0;
  /// False when the receiver closed it, or sent what nobody has read yet.
  [[nodiscard]] virtual bool is_quiet() = 0;
};

using Opened = std::variant<std::unique_ptr<ByteStream>, HttpFailure>;

/// Opens connections to numeric addresses: TCP to one after the other, then TLS.
///
/// Threads: one user at a time. Lifetime: outlives its connections.
class Dialer {
 public:
  explicit Dialer(std::string ca_file);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  [[nodiscard]] Dialled dial(const Url& url, const std::vector<std::string>& addresses,
                             std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] Opened open(const Url& url, const std::vector<std::string>& addresses,
                            std::chrono::steady_clock::time_point deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers
