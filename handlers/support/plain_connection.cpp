#include "support/plain_connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <utility>

#include "support/answer_reader.hpp"

namespace seriatim::handlers {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* late = "no answer in time";

std::string error_text(int code) {
  return std::generic_category().message(code);
}

bool is_again(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

/// One request on its way, as far as the socket takes it.
class Request {
 public:
  Request(std::string_view head, std::string_view body) : parts_{part(head), part(body)} {}

  [[nodiscard]] bool is_pending() const { return !sending_.whole && !given_up_; }
  [[nodiscard]] const Sending& sending() const { return sending_; }

  void send_some(int socket) {
    msghdr message{};
    message.msg_iov = parts_.data();
    message.msg_iovlen = parts_.size();
    const auto sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !is_again(errno)) return give_up(error_text(errno));
    if (sent > 0) took(static_cast<std::size_t>(sent));
  }

  void give_up(std::string problem = {}) {
    given_up_ = true;
    sending_.problem = std::move(problem);
  }

 private:
  static iovec part(std::string_view bytes) {
    return {const_cast<char*>(bytes.data()), bytes.size()};
  }

  void took(std::size_t bytes) {
    sending_.any = true;
    for (auto& part : parts_) {
      const auto taken = std::min(bytes, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + taken;
      part.iov_len -= taken;
      bytes -= taken;
    }
    sending_.whole = parts_.back().iov_len == 0 && parts_.front().iov_len == 0;
  }

  std::array<iovec, 2> parts_;
  Sending sending_;
  bool given_up_ = false;
};

/// System calls instead of Asio: 8 µs of processor a POST where it took 17 (docs/performance.md).
class PlainConnection final : public Connection {
 public:
  explicit PlainConnection(Fd socket) : socket_(std::move(socket)) {}

  Exchange exchange(std::string_view head, std::string_view body,
                    Clock::time_point deadline) override {
    Request request(head, body);
    answer_.begin();
    request.send_some(socket_.get());
    while (request.is_pending() || !answer_.ended()) {
      const auto ready = wait_for(request, deadline);
      if (ready == 0) {
        answer_.failed(late);
        if (request.is_pending()) request.give_up(late);
        break;
      }
      if (!answer_.ended() && (ready & ~POLLOUT) != 0) receive_some();
      if (request.is_pending() && answer_.says_no()) request.give_up();
      if (request.is_pending() && (ready & ~POLLIN) != 0) request.send_some(socket_.get());
    }
    return answer_.judge(request.sending());
  }

  bool is_quiet() override { return has_nothing_to_read(socket_.get()); }

 private:
  /// What poll said; 0: nothing until the deadline, or it has passed though bytes still come.
  int wait_for(const Request& request, Clock::time_point deadline) {
    pollfd ready{socket_.get(), 0, 0};
    if (!answer_.ended()) ready.events |= POLLIN;
    if (request.is_pending()) ready.events |= POLLOUT;
    for (;;) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      const auto ms = std::clamp<milliseconds::rep>(left.count(), 0, 60'000);
      const bool any = ::poll(&ready, 1, static_cast<int>(ms)) > 0;
      if (Clock::now() >= deadline) return 0;
      if (any) return ready.revents;
    }
  }

  void receive_some() {
    const auto room = answer_.room();
    const auto size = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (size > 0) return answer_.arrived(static_cast<std::size_t>(size));
    if (size == 0) return answer_.closed();
    if (!is_again(errno)) answer_.failed(error_text(errno));
  }

  Fd socket_;
  AnswerReader answer_;
};

}  // namespace

bool has_nothing_to_read(int socket) {
  char byte = 0;
  const auto n = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::unique_ptr<Connection> make_plain_connection(Fd socket) {
  return std::make_unique<PlainConnection>(std::move(socket));
}

}  // namespace seriatim::handlers
