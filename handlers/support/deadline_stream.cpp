#include "support/deadline_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>

#include "support/readiness.hpp"

namespace seriatim::handlers {

namespace {

namespace asio = boost::asio;

/// Of a write that is kept: a TLS record is no longer.
constexpr std::size_t keep_max = 18 << 10;
/// With more than that kept, a write waits for room alone.
constexpr std::size_t kept_max = 64 << 10;

DeadlineStream::Error error_from(int code) {
  return {code, asio::error::get_system_category()};
}

bool is_again(int code) {
  return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

/// An error or a hang-up is for the next send to find.
bool only_speaks(short ready) {
  return (ready & POLLIN) != 0 && (ready & (POLLOUT | POLLERR | POLLHUP)) == 0;
}

}  // namespace

bool DeadlineStream::is_quiet() const {
  char byte = 0;
  const auto n = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && is_again(errno);
}

/// What of `events` has come; 0: an error says why not.
short DeadlineStream::wait_for(short events, Error& error) {
  if (!waits_) {
    error = asio::error::would_block;
    return 0;
  }
  const auto came = wait_for_events(socket_.get(), events, deadline_);
  if (Clock::now() < deadline_) return came;
  error = asio::error::timed_out;  // also while bytes still come
  return 0;
}

std::size_t DeadlineStream::receive(std::span<char> room, Error& error) {
  error = {};
  for (;;) {
    if (waits_ && wait_for(POLLIN, error) == 0) return 0;
    const auto size = ::recv(socket_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (size > 0) return static_cast<std::size_t>(size);
    if (size == 0) {
      error = asio::error::eof;
      return 0;
    }
    if (!is_again(errno)) {
      error = error_from(errno);
      return 0;
    }
    if (!waits_) {
      error = asio::error::would_block;
      return 0;
    }
  }
}

/// 0 without an error: the socket has no room.
std::size_t DeadlineStream::send_now(std::span<iovec> parts, Error& error) {
  error = {};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const auto size = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (size >= 0) return static_cast<std::size_t>(size);
  if (!is_again(errno)) error = error_from(errno);
  return 0;
}

std::size_t DeadlineStream::keep(std::span<const iovec> parts) {
  std::size_t size = 0;
  for (const auto& part : parts) {
    const auto taken = std::min(part.iov_len, keep_max - size);
    kept_.append(static_cast<const char*>(part.iov_base), taken);
    size += taken;
  }
  return size;
}

/// False: an error says why not, or the peer spoke first.
bool DeadlineStream::wait_for_room(Error& error) {
  const bool listens = listens_ && kept_.size() < kept_max;
  const auto ready = wait_for(listens ? POLLOUT | POLLIN : POLLOUT, error);
  if (error) return false;
  if (only_speaks(ready)) spoke_ = true;
  return !only_speaks(ready);
}

bool DeadlineStream::flush(Error& error) {
  error = {};
  while (!kept_.empty()) {
    iovec part{kept_.data(), kept_.size()};
    const auto sent = send_now({&part, 1}, error);
    if (error) return false;
    kept_.erase(0, sent);
    if (sent == 0 && !wait_for_room(error)) return false;
  }
  return true;
}

std::size_t DeadlineStream::send(std::span<iovec> parts, Error& error) {
  if (flush(error)) {
    do {
      const auto sent = send_now(parts, error);
      if (sent > 0 || error || parts.empty()) return sent;
    } while (wait_for_room(error));
  }
  if (error && error != asio::error::would_block) return 0;
  error = {};
  return keep(parts);
}

}  // namespace seriatim::handlers
