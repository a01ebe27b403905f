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
  /// False if the receiver closed it, or sent what nobody has read yet.
  [[nodiscard]] virtual bool is_quiet() = 0;
};

struct Exchange {
  HttpResult result;
  bool reusable = false;   ///< nothing odd was seen: the connection may carry the next request
  bool untouched = false;  ///< not one byte left and none came: safe to send elsewhere
  std::chrono::seconds keep_alive{0};  ///< the receiver's own Keep-Alive: timeout; 0: not said
};

/// The headers of the request as it goes out, in order. `closes`: see HttpConnection::post.
[[nodiscard]] std::vector<Header> headers_of(const HttpRequest& request, bool closes);

/// An open connection, plain or TLS, for HTTP.
class HttpConnection {
 public:
  HttpConnection() = default;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  virtual ~HttpConnection() = default;

  /// POSTs and reads the answer, which may come before the request was read: an early "no" ends the
  /// request. `closes`: asks the receiver to close the connection after it.
  [[nodiscard]] virtual Exchange post(const HttpRequest& request, bool closes,
                                      std::chrono::steady_clock::time_point deadline) = 0;
  /// False if the receiver closed it, or sent what nobody asked for: not to be used again.
  [[nodiscard]] virtual bool is_quiet() = 0;
};

template <class Connection>
using Opened = std::variant<std::unique_ptr<Connection>, HttpFailure>;

/// Opens connections to numeric addresses: TCP to one after the other, then TLS.
///
/// Threads: one user at a time. Lifetime: outlives its connections.
class Dialer {
 public:
  explicit Dialer(std::string ca_file);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  [[nodiscard]] Opened<HttpConnection> dial(const Url& url,
                                            const std::vector<std::string>& addresses,
                                            std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] Opened<ByteStream> open(const Url& url, const std::vector<std::string>& addresses,
                                        std::chrono::steady_clock::time_point deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers
