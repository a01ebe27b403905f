#include "support/commit_thief.hpp"

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <string_view>
#include <thread>

namespace seriatim::testing {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

namespace {

struct Orders {
  std::atomic<bool> steal = false;
  std::atomic<unsigned> stolen = 0;
};

/// One client and its connection to the server.
class Pair : public std::enable_shared_from_this<Pair> {
 public:
  Pair(tcp::socket client, tcp::socket server, Orders& orders)
      : client_(std::move(client)), server_(std::move(server)), orders_(orders) {}

  void start() {
    forward(client_, server_, from_client_, true);
    forward(server_, client_, from_server_, false);
  }

 private:
  using Buffer = std::array<char, 16'384>;

  void forward(tcp::socket& from, tcp::socket& to, Buffer& buffer, bool to_server) {
    from.async_read_some(
        asio::buffer(buffer),
        [=, this, &from, &to, &buffer, self = shared_from_this()](Error error, std::size_t n) {
          if (error) return close();
          const std::string_view bytes(buffer.data(), n);
          if (to_server && bytes.find("COMMIT") != std::string_view::npos &&
              orders_.steal.exchange(false)) {
            stealing_ = true;
          }
          // The server has answered, so the commit has happened: nobody hears of it.
          if (!to_server && stealing_) {
            orders_.stolen += 1;
            return close();
          }
          asio::async_write(to, asio::buffer(buffer, n),
                            [=, this, &from, &to, &buffer, self = self](Error failed, std::size_t) {
                              if (failed) return close();
                              forward(from, to, buffer, to_server);
                            });
        });
  }

  void close() {
    Error ignored;
    client_.close(ignored);
    server_.close(ignored);
  }

  tcp::socket client_;
  tcp::socket server_;
  Buffer from_client_{};
  Buffer from_server_{};
  bool stealing_ = false;
  Orders& orders_;
};

}  // namespace

struct CommitThief::Impl {
  tcp::endpoint server;
  Orders orders;
  asio::io_context context;
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::jthread thread;

  void accept() {
    acceptor.async_accept([this](Error error, tcp::socket client) {
      if (error) return;
      tcp::socket upstream(context);
      Error refused;
      if (!upstream.connect(server, refused)) {
        std::make_shared<Pair>(std::move(client), std::move(upstream), orders)->start();
      }
      accept();
    });
  }
};

CommitThief::CommitThief(const std::string& server_host, int server_port)
    : impl_(std::make_unique<Impl>()) {
  impl_->server = {asio::ip::make_address(server_host), static_cast<unsigned short>(server_port)};
  impl_->accept();
  impl_->thread = std::jthread([this] { impl_->context.run(); });
}

CommitThief::~CommitThief() {
  impl_->context.stop();
}

int CommitThief::port() const {
  return impl_->acceptor.local_endpoint().port();
}

void CommitThief::steal_next() {
  impl_->orders.steal = true;
}

unsigned CommitThief::stolen() const {
  return impl_->orders.stolen;
}

}  // namespace seriatim::testing
