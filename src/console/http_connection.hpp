#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace seriatim::console {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

/// Bytes to and from a client, over TCP, TLS or a unix socket: Beast reads and writes it as a
/// stream.
class Wire {
 public:
  using Plain = boost::beast::basic_stream<boost::asio::generic::stream_protocol>;
  using executor_type = Plain::executor_type;

  explicit Wire(StreamSocket socket) : plain_(std::move(socket)) {}

  void encrypt(std::shared_ptr<boost::asio::ssl::context> context) {
    context_ = std::move(context);
    tls_.emplace(plain_, *context_);
  }
  [[nodiscard]] bool is_encrypted() const { return tls_.has_value(); }
  Plain& plain() { return plain_; }
  [[nodiscard]] bool is_open() { return plain_.socket().is_open(); }
  executor_type get_executor() { return plain_.get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Token>(token));
    return plain_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Token>(token));
    return plain_.async_write_some(buffers, std::forward<Token>(token));
  }
  template <class Token>
  auto async_handshake(Token&& token) {
    return tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Token>(token));
  }
  template <class Token>
  auto async_shutdown(Token&& token) {
    return tls_->async_shutdown(std::forward<Token>(token));
  }

 private:
  Plain plain_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

/// One connection, as long as it is open. Used by the thread that serves all connections only.
struct Connection : std::enable_shared_from_this<Connection> {
  using Clock = std::chrono::steady_clock;

  explicit Connection(StreamSocket socket);

  /// The read that begins now ends in time. The deadline of the stream itself would close it, and
  /// then the client could not be answered that it was too slow.
  void read_within(std::chrono::milliseconds limit);
  /// The read is over.
  void answers() {
    clock.cancel();
    answering = true;
  }

  Wire wire;
  boost::asio::steady_timer clock;
  Clock::time_point waits_since = Clock::now();
  bool late = false;  ///< the last read was ended by the clock
  boost::beast::flat_buffer buffer;
  bool answering = false;  ///< it has sent its request
  bool known = false;      ///< it has shown who it is
  std::string peer;        ///< address; empty: a unix socket
  std::string local;       ///< address it came in at
  std::optional<unsigned> peer_uid;
};

}  // namespace seriatim::console
