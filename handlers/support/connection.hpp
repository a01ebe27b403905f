#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include "support/http_client.hpp"

// Inner header of the HTTP client: the only one that shows Asio.
namespace seriatim::handlers {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Clock = std::chrono::steady_clock;

using PlainStream = beast::tcp_stream;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

inline PlainStream& tcp_of(PlainStream& stream) {
  return stream;
}
inline PlainStream& tcp_of(TlsStream& stream) {
  return stream.next_layer();
}

/// An open connection to one origin.
struct Connection {
  Url url;
  std::variant<PlainStream, TlsStream> stream;
  Clock::time_point usable_until{};

  [[nodiscard]] PlainStream& tcp() {
    return std::visit([](auto& s) -> PlainStream& { return tcp_of(s); }, stream);
  }
};

using ConnectionPtr = std::unique_ptr<Connection>;

/// Starts one asynchronous operation and runs it to its end on this thread.
template <class Start>
beast::error_code run_step(asio::io_context& io, Start start) {
  beast::error_code result = asio::error::operation_aborted;
  start([&result](beast::error_code error, auto&&...) { result = error; });
  io.restart();
  io.run();
  return result;
}

/// Opens connections: name, addresses in turn, TLS.
class Connector {
 public:
  Connector(asio::io_context& io, const HttpClientConfig& config);

  [[nodiscard]] std::variant<ConnectionPtr, HttpFailure> connect(const Url& url,
                                                                 Clock::time_point deadline);

 private:
  using Addresses = std::vector<std::string>;

  [[nodiscard]] std::variant<Addresses, HttpFailure> addresses_of(const Url& url,
                                                                  Clock::time_point deadline);
  [[nodiscard]] std::variant<ConnectionPtr, HttpFailure> connect_any(const Url& url,
                                                                     const Addresses& addresses,
                                                                     Clock::time_point deadline);
  [[nodiscard]] std::variant<ConnectionPtr, HttpFailure> shake_hands(const Url& url,
                                                                     PlainStream tcp,
                                                                     Clock::time_point deadline);
  asio::ssl::context& tls();

  asio::io_context& io_;
  const HttpClientConfig& config_;
  Resolver resolver_;
  std::unique_ptr<asio::ssl::context> tls_;
};

struct Exchange {
  HttpResult result;
  bool reusable = false;   ///< nothing odd was seen: the connection may carry the next request
  bool untouched = false;  ///< not one byte left and none came: safe to send elsewhere
  std::chrono::seconds keep_alive{0};  ///< the receiver's own Keep-Alive: timeout; 0: not said
};

/// Sends the request and reads the answer, both at once, since some receivers answer early.
[[nodiscard]] Exchange exchange(asio::io_context& io, Connection& connection, std::string_view head,
                                std::string_view body, Clock::time_point deadline);

}  // namespace seriatim::handlers
