#pragma once

#include <sys/uio.h>

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/detail/throw_error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <span>
#include <string>

#include "support/fd.hpp"

namespace seriatim::handlers {

/// A connected socket whose reads and writes end at a deadline: a SyncStream as Beast and OpenSSL
/// (asio::ssl::stream) want it. It waits by `wait_for_events`, because a timer of Asio costs 8 µs
/// of processor for each POST (docs/performance.md).
///
/// A receiver may answer before it has read the whole request, and may then read no more. So a
/// write that has to wait listens too, if `listen` was asked: if bytes arrive instead of room, it
/// keeps what it was given (it counts as written), and `peer_spoke` says so once. Read what is
/// there, then go on writing.
///
/// Threads: one. Signals do not end a wait.
class DeadlineStream {
 public:
  using Clock = std::chrono::steady_clock;
  using Error = boost::system::error_code;
  using executor_type = boost::asio::io_context::executor_type;
  using lowest_layer_type = DeadlineStream;

  DeadlineStream(boost::asio::io_context& io, Fd socket) : io_(&io), socket_(std::move(socket)) {}

  /// Of every operation from now on; they fail with timed_out.
  void expires_at(Clock::time_point deadline) { deadline_ = deadline; }
  void listen(bool listens) { listens_ = listens; }
  /// Whether bytes arrived while a write waited; asked once.
  [[nodiscard]] bool peer_spoke() { return std::exchange(spoke_, false); }
  /// False: an operation that would wait fails with would_block. What is written is kept then.
  void wait(bool waits) { waits_ = waits; }

  /// Sends what is kept. False, without an error: the peer spoke first.
  bool flush(Error& error);
  /// Everything that was written has gone to the socket.
  [[nodiscard]] bool is_flushed() const { return kept_.empty(); }

  /// False if the peer closed the connection, or sent what nobody has read yet.
  [[nodiscard]] bool is_quiet() const;

  executor_type get_executor() { return io_->get_executor(); }
  lowest_layer_type& lowest_layer() { return *this; }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, Error& error) {
    for (auto part = boost::asio::buffer_sequence_begin(buffers);
         part != boost::asio::buffer_sequence_end(buffers); ++part) {
      const boost::asio::mutable_buffer room(*part);
      if (room.size() > 0) return receive({static_cast<char*>(room.data()), room.size()}, error);
    }
    error = {};
    return 0;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, Error& error) {
    Parts parts{};
    std::size_t count = 0;
    for (auto part = boost::asio::buffer_sequence_begin(buffers);
         part != boost::asio::buffer_sequence_end(buffers) && count < parts.size(); ++part) {
      const boost::asio::const_buffer bytes(*part);
      if (bytes.size() > 0) parts[count++] = {const_cast<void*>(bytes.data()), bytes.size()};
    }
    return send({parts.data(), count}, error);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    return or_throw([&](Error& error) { return read_some(buffers, error); });
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    return or_throw([&](Error& error) { return write_some(buffers, error); });
  }

 private:
  using Parts = std::array<iovec, 64>;  ///< a request has some twenty header fields

  template <class Operation>
  static std::size_t or_throw(Operation operation) {
    Error error;
    const auto bytes = operation(error);
    boost::asio::detail::throw_error(error);
    return bytes;
  }
  std::size_t receive(std::span<char> room, Error& error);
  std::size_t send(std::span<iovec> parts, Error& error);
  std::size_t send_now(std::span<iovec> parts, Error& error);
  std::size_t keep(std::span<const iovec> parts);
  short wait_for(short events, Error& error);
  bool wait_for_room(Error& error);

  boost::asio::io_context* io_;
  Fd socket_;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool waits_ = true;
  bool listens_ = false;
  bool spoke_ = false;
  std::string kept_;  ///< written, and not yet sent
};

}  // namespace seriatim::handlers
