#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace seriatim::console {

struct HttpRequest {
  std::string method;
  std::string path;   ///< without the query
  std::string query;  ///< after the first '?', else empty
  std::string accept;
  std::string authorization;
  std::string peer;  ///< its address
};

struct HttpResponse {
  unsigned status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// A path and who answers it. Requests of other paths are answered 404, other methods than GET and
/// HEAD 405.
struct HttpRoute {
  std::string path;
  std::function<HttpResponse(const HttpRequest&)> respond;
  /// Its answer may take long (it asks the database): given by a worker. Others are given by the
  /// thread that serves all connections, and must not wait.
  bool slow = false;
};

/// Serves a few routes over HTTP/1.1 from threads of its own: one for all connections and two that
/// give slow answers. A client that is slow, silent or numerous costs it a bounded amount of memory
/// and never makes another wait.
///
/// Threads: any. Routes are called on the threads of the server; what they throw is answered 500,
/// with the text of the error.
/// Lifetime: the destructor closes all connections and waits for the answers being given.
class HttpServer {
 public:
  struct Limits {
    std::size_t header_bytes = 16 * 1024;
    std::size_t body_bytes = 4 * 1024;
    std::chrono::milliseconds request{5'000};  ///< from the first wait for it to its last byte
    std::chrono::milliseconds idle{60'000};    ///< between two requests of one connection
    std::size_t connections = 64;  ///< one more, and that which has waited longest is closed
    std::size_t queue = 64;        ///< slow answers that wait; one more is answered 503
  };
  struct Settings {
    std::string address = "127.0.0.1";
    unsigned short port = 0;         ///< 0: a free one
    std::vector<std::string> hosts;  ///< names a Host header may have, in addition to our addresses
    Limits limits{};
  };

  /// Throws Error if the address cannot be listened on.
  HttpServer(Settings settings, std::vector<HttpRoute> routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] unsigned short port() const;
  /// "http://127.0.0.1:8642"
  [[nodiscard]] std::string url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::console
