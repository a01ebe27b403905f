#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <string>

namespace seriatim::console {

/// What an HTTP server listens on: a port, or a socket file, which the destructor removes.
class HttpListener {
 public:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

  explicit HttpListener(boost::asio::io_context& io) : acceptor(io) {}
  ~HttpListener();

  /// Throws Error.
  void listen(const std::string& address, unsigned short port);
  void listen(const std::string& unix_path);

  Acceptor acceptor;
  boost::asio::ip::tcp::endpoint local;  ///< of a port

 private:
  std::string socket_file_;
};

}  // namespace seriatim::console
