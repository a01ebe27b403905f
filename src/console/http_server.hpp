#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "console/http_message.hpp"
#include "console/tls_context.hpp"

namespace seriatim::console {

/// Serves a few routes over HTTP/1.1 from threads of its own: one for all connections, two that
/// give slow answers, and four for requests that change something. A client that is slow, silent or
/// numerous costs it a bounded amount of memory and never makes another wait.
///
/// Threads: any. Routes are called on the threads of the server; what they throw is answered 500,
/// with the text of the error.
/// Lifetime: the destructor closes all connections and waits for the answers being given.
class HttpServer {
 public:
  struct Limits {
    std::size_t header_bytes = 16 * 1024;
    std::size_t body_bytes = 64 * 1024;
    std::size_t stranger_body_bytes = 4 * 1024;  ///< of clients that have not shown who they are
    std::chrono::milliseconds request{5'000};    ///< from the first wait for it to its last byte
    std::chrono::milliseconds idle{60'000};      ///< between two requests of one connection
    /// One more, and one that waits for its client is closed: first those that have not shown who
    /// they are, and of these the one that has waited longest.
    std::size_t connections = 64;
    std::size_t queue = 64;    ///< slow answers that wait, and likewise acts; more: 503
    std::size_t streams = 32;  ///< one more is answered 503
    std::chrono::milliseconds comment{15'000};  ///< a stream is silent no longer than this
  };
  struct Settings {
    std::string address = "127.0.0.1";
    unsigned short port = 0;  ///< 0: a free one
    std::string unix_path{};  ///< a socket to listen on (0660), instead of address and port
    std::vector<std::string>
        hosts{};  ///< names a Host header may have, in addition to our addresses
    std::optional<Certificate> tls{};
    /// Who sent a request, of which the body is not read yet. It must not wait.
    std::function<Caller(const HttpRequest&)> identify{};
    /// Refuses requests, before it is known whether their path is one of ours. It must not wait.
    std::function<std::optional<HttpResponse>(const HttpRequest&)> gate{};
    /// Called for each answer: the path of its route ("" if there is none) and the status.
    std::function<void(const std::string& route, unsigned status)> answered{};
    std::function<void(const std::string&)> warn{};
    Limits limits{};
  };

  /// Throws Error if the address cannot be listened on, or the certificate not be used.
  HttpServer(Settings settings, std::vector<HttpRoute> routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] unsigned short port() const;
  /// "http://127.0.0.1:8642", "unix:/run/seriatim.sock"
  [[nodiscard]] std::string url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::console
