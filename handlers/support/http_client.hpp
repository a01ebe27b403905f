#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "support/header_text.hpp"
#include "support/resolver.hpp"
#include "support/url.hpp"

namespace seriatim::handlers {

struct HttpClientConfig {
  bool allow_private = false;  ///< reach private, loopback, link-local … addresses too
  std::string ca_file;         ///< PEM; empty: the system's certificate authorities
  /// Name, TCP and TLS together; the call's deadline holds as well.
  std::chrono::milliseconds connect_timeout{10'000};
  /// A connection unused for longer is not used again. Below the idle time-outs of common servers
  /// (5 s), because one that closes just as we send leaves us not knowing.
  std::chrono::milliseconds idle_max{4'000};
  bool keep_alive = true;  ///< false: a connection for each request, which says so to the receiver
  Lookup lookup = resolve_by_system;
};

/// Refers to what it is made of.
struct HttpRequest {
  const Url& url;
  const HeaderLines& headers;  ///< next to Host and Content-Length
  std::string_view body;
};

/// The receiver spoke. `body` holds at most the first 64 KiB.
struct HttpAnswer {
  int status = 0;
  std::string retry_after;
  std::string body;
};

/// There is no answer, or none to be trusted. `what` is for people.
struct HttpFailure {
  enum class Kind {
    not_sent,  ///< the receiver cannot have the whole request
    refused,   ///< the target or its certificate is not acceptable: nothing was sent
    lost,      ///< the request was sent, the answer is missing or cut off by an error
    /// The request was sent. The answer is not HTTP, or the receiver closed within it: the next
    /// request is likely to get the same.
    unreadable,
  };
  Kind kind = Kind::not_sent;
  std::string what;
  std::string received{};  ///< `unreadable`: the first bytes that came, as they came
};

using HttpResult = std::variant<HttpAnswer, HttpFailure>;

/// POSTs over HTTP/1.1 and keeps the connection if `keep_alive` says so.
///
/// Threads: one user at a time; everything runs on the calling thread (names: see Resolver).
/// Never: a redirect followed, a certificate unchecked, a body decompressed, a request sent twice
/// after one byte of it may have left.
/// Not reused is a connection whose answer was odd in any way.
class HttpClient {
 public:
  explicit HttpClient(HttpClientConfig config);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Returns by `deadline`. Throws Error for a `ca_file` that cannot be read.
  [[nodiscard]] HttpResult post(const HttpRequest& request,
                                std::chrono::steady_clock::time_point deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers
