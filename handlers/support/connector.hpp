#pragma once

#include "support/connection.hpp"
#include "support/resolver.hpp"

namespace seriatim::handlers {

/// From a URL to an open connection: which addresses the name has, which of them may be reached.
///
/// Threads: one user at a time. Lifetime: outlives its connections.
class Connector {
 public:
  explicit Connector(const HttpClientConfig& config);  ///< keeps a reference

  [[nodiscard]] Opened<HttpConnection> connect(const Url& url,
                                               std::chrono::steady_clock::time_point deadline);
  /// The same, for clients that speak a protocol of their own.
  [[nodiscard]] Opened<ByteStream> open(const Url& url,
                                        std::chrono::steady_clock::time_point deadline);

 private:
  using Addresses = std::vector<std::string>;

  [[nodiscard]] std::variant<Addresses, HttpFailure> addresses_of(
      const Url& url, std::chrono::steady_clock::time_point deadline);

  const HttpClientConfig& config_;
  Resolver resolver_;
  Dialer dialer_;
};

}  // namespace seriatim::handlers
