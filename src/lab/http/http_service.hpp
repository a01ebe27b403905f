#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace seriatim::lab {

/// One request as it came over the wire. `body` holds the bytes; chunks are put together.
struct ReceivedRequest {
  std::string method;
  std::string target;
  std::string version;  ///< "HTTP/1.1"
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::size_t connection = 0;  ///< 1 for the first accepted connection
  std::chrono::steady_clock::time_point at;

  /// Value of the first header of that name (any case).
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
};

/// What the service does about one request.
struct Reply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  /// Written instead of status, headers and body when not empty: garbage, half an answer, …
  std::string raw;
  /// Follows the answer in the same segment, over TLS as a record of its own.
  std::string unasked;
  /// Repeats `filler` after the rest until so many bytes were sent (10 GB bodies without the RAM).
  std::size_t filler_bytes = 0;
  std::string filler = "x";

  std::chrono::milliseconds delay{0};          ///< before the answer or the act
  std::chrono::milliseconds byte_interval{0};  ///< trickle: one byte of the answer each
  bool chunked = false;                        ///< body in chunks of at most 7 bytes
  bool close_after = false;                    ///< after the answer, without saying so in a header

  enum class Act {
    answer,
    hang,                 ///< reads the request, never answers
    close_before_answer,  ///< reads the request, then FIN
    reset_before_answer,  ///< reads the request, then RST
    answer_before_body,  ///< answers after the request's head and reads no more until the peer goes
    close_before_reading,  ///< RST as soon as the connection is accepted; nothing is recorded
  };
  Act act = Act::answer;

  [[nodiscard]] static Reply with_status(int status, std::string body = {});
  [[nodiscard]] static Reply doing(Act act);
};

struct HttpServiceConfig {
  unsigned short port = 0;  ///< 0: a free one
  bool ipv6 = false;        ///< ::1 instead of 127.0.0.1
  bool record = true;       ///< false: `requests` stays empty, and the memory does not grow

  /// PEM texts; empty: plain HTTP. See certificates.hpp.
  std::string certificate;
  std::string key;
  int tls_version_max = 0;  ///< e.g. 0x0302 (TLS 1.1); 0: the library's newest

  std::size_t connections_max = 512;                          ///< one more is closed at once
  std::size_t request_bytes_max = std::size_t{64} * 1048576;  ///< a longer one ends its connection
};

/// A real HTTP/1.1 server on loopback: the one receiver of the tests, torture, bench and the demo.
/// It records what it is sent and answers by a script.
///
/// Replies come from the queue first (one a request, over all connections), then from `reply_with`.
/// Threads: one per connection; every member may be called from any thread.
/// Lifetime: the destructor ends all connections, hanging ones too, and waits for responders.
class HttpService {
 public:
  using Responder = std::function<Reply(const ReceivedRequest&)>;

  explicit HttpService(HttpServiceConfig config = {});
  ~HttpService();
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  [[nodiscard]] unsigned short port() const;
  /// "http://127.0.0.1:PORT/path"
  [[nodiscard]] std::string url(std::string_view path = "/") const;

  /// Queues the answer to the next request not yet spoken for.
  void push(Reply reply);
  void push(std::vector<Reply> replies);
  /// Answers every request the queue does not (default: 200, empty). Each call is made on the
  /// thread of its connection, with a copy of the responder.
  void reply_with(Responder responder);
  void reply_with(Reply reply);

  [[nodiscard]] std::vector<ReceivedRequest> requests() const;
  [[nodiscard]] std::size_t request_count() const;
  [[nodiscard]] ReceivedRequest last_request() const;  ///< throws if there is none
  /// False if they did not come in time.
  [[nodiscard]] bool wait_for_requests(std::size_t count, std::chrono::milliseconds timeout) const;
  void forget_requests();

  [[nodiscard]] std::size_t connections_accepted() const;
  [[nodiscard]] std::size_t connections_open() const;
  /// Waits until at most `count` connections are open.
  [[nodiscard]] bool wait_for_open(std::size_t count, std::chrono::milliseconds timeout) const;
  /// Writes this on every open connection, which must be plain and idle.
  void say_unasked(std::string_view bytes);
  /// Ends every open connection with FIN, as a server does with idle ones.
  void close_connections();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::lab
