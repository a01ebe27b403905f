#include "lab/bench/http_receiver.hpp"

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <mutex>
#include <thread>
#include <vector>

namespace seriatim::bench {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

std::size_t body_size(std::string_view head) {
  constexpr std::string_view name = "\r\nContent-Length: ";
  const auto at = head.find(name);
  std::size_t size = 0;
  if (at != std::string_view::npos) {
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), size);
  }
  return size;
}

/// The size of the request `heard` begins with; 0 while it is not whole.
std::size_t request_size(std::string_view heard) {
  const auto end = heard.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  const auto size = end + 4 + body_size(heard.substr(0, end + 2));
  return heard.size() < size ? 0 : size;
}

void serve(tcp::socket& socket) {
  boost::system::error_code error;
  socket.set_option(tcp::no_delay(true), error);
  std::string heard;
  std::array<char, 65'536> chunk{};
  while (!error) {
    const auto count = socket.read_some(asio::buffer(chunk), error);
    heard.append(chunk.data(), count);
    for (auto size = request_size(heard); size > 0 && !error; size = request_size(heard)) {
      heard.erase(0, size);
      asio::write(socket, asio::buffer(answer), error);
    }
  }
}

}  // namespace

struct HttpReceiver::Impl {
  asio::io_context context;
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::mutex mutex;
  bool ending = false;
  std::vector<std::shared_ptr<tcp::socket>> sockets;
  std::vector<std::thread> threads;
  std::thread accepting;

  void accept() {
    for (;;) {
      auto socket = std::make_shared<tcp::socket>(context);
      boost::system::error_code error;
      acceptor.accept(*socket, error);
      const std::scoped_lock guard(mutex);
      if (error || ending) return;
      sockets.push_back(socket);
      threads.emplace_back([socket] { serve(*socket); });
    }
  }
};

HttpReceiver::HttpReceiver() : impl_(std::make_unique<Impl>()) {
  impl_->accepting = std::thread([this] { impl_->accept(); });
}

HttpReceiver::~HttpReceiver() {
  {
    const std::scoped_lock guard(impl_->mutex);
    impl_->ending = true;
    for (const auto& socket : impl_->sockets) ::shutdown(socket->native_handle(), SHUT_RDWR);
  }
  ::shutdown(impl_->acceptor.native_handle(), SHUT_RDWR);  // accept returns
  impl_->accepting.join();
  for (auto& thread : impl_->threads) thread.join();
}

unsigned short HttpReceiver::port() const {
  return impl_->acceptor.local_endpoint().port();
}

std::string HttpReceiver::url() const {
  return "http://127.0.0.1:" + std::to_string(port()) + "/";
}

}  // namespace seriatim::bench
