#include "lab/http/http_service.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "lab/http/answer.hpp"

namespace seriatim::lab {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;

std::optional<asio::ssl::context> tls_context(const HttpServiceConfig& config) {
  if (config.certificate.empty()) return std::nullopt;
  asio::ssl::context context(asio::ssl::context::tls_server);
  if (config.tls_version_max != 0) {
    // Old versions are signed with SHA-1, which level 1 and above refuse.
    SSL_CTX_set_security_level(context.native_handle(), 0);
    SSL_CTX_set_min_proto_version(context.native_handle(), config.tls_version_max);
    SSL_CTX_set_max_proto_version(context.native_handle(), config.tls_version_max);
  }
  context.use_certificate(asio::buffer(config.certificate), asio::ssl::context::pem);
  context.use_private_key(asio::buffer(config.key), asio::ssl::context::pem);
  return context;
}

/// The service's end of one connection, plain or TLS, blocking. A stream for Asio and Beast.
class Wire {
 public:
  /// Takes over the connected socket `fd`.
  Wire(asio::io_context& context, const tcp& protocol, int fd, asio::ssl::context* tls)
      : socket_(context, protocol, fd) {
    if (tls != nullptr) tls_.emplace(socket_, *tls);
  }

  /// False if the TLS handshake failed.
  [[nodiscard]] bool accept() {
    error_code error;
    if (tls_) tls_->handshake(asio::ssl::stream_base::server, error);
    return !error;
  }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, error_code& error) {
    return tls_ ? tls_->read_some(buffers, error) : socket_.read_some(buffers, error);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    return tls_ ? tls_->read_some(buffers) : socket_.read_some(buffers);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, error_code& error) {
    return tls_ ? tls_->write_some(buffers, error) : socket_.write_some(buffers, error);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    return tls_ ? tls_->write_some(buffers) : socket_.write_some(buffers);
  }

  [[nodiscard]] bool write(std::string_view bytes) {
    error_code error;
    asio::write(*this, asio::buffer(bytes), error);
    return !error;
  }
  /// Two writes (over TLS: two records) in one segment.
  [[nodiscard]] bool write_together(std::string_view first, std::string_view second) {
    cork(1);
    const bool written = write(first) && write(second);
    cork(0);
    return written;
  }

  /// FIN, our side only; over TLS after the peer has heard so.
  void finish() {
    error_code ignored;
    if (tls_) tls_->shutdown(ignored);
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  /// The next close sends RST.
  void reset_on_close() {
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  }

  /// True when the time went by; false when the peer (or `shutdown` by another thread) ended first.
  [[nodiscard]] bool wait(std::chrono::milliseconds time) {
    pollfd end{socket_.native_handle(), POLLRDHUP, 0};
    return ::poll(&end, 1, static_cast<int>(time.count())) == 0;
  }
  /// Until the peer is gone.
  void wait_for_end() { (void)wait(std::chrono::milliseconds(-1)); }

 private:
  void cork(int on) {
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_CORK, &on, sizeof on);
  }

  tcp::socket socket_;
  std::optional<asio::ssl::stream<tcp::socket&>> tls_;
};

ReceivedRequest request_from(Parser& parser) {
  auto& heard = parser.get();
  ReceivedRequest request;
  request.method = heard.method_string();
  request.target = heard.target();
  request.version = heard.version() == 10 ? "HTTP/1.0" : "HTTP/1.1";
  for (const auto& field : heard) request.headers.emplace_back(field.name_string(), field.value());
  request.body = std::move(heard.body());
  return request;
}

bool trickle(Wire& wire, std::string_view text, std::chrono::milliseconds interval) {
  for (const char& byte : text) {
    if (!wire.write({&byte, 1}) || !wire.wait(interval)) return false;
  }
  return true;
}

bool write_filler(Wire& wire, const Reply& reply) {
  std::string block;
  const auto block_bytes = std::min<std::size_t>(reply.filler_bytes, 65536);
  while (block.size() < block_bytes && !reply.filler.empty()) block += reply.filler;
  for (auto left = reply.filler_bytes; left > 0;) {
    const auto n = std::min(left, block.size());
    if (!wire.write({block.data(), n})) return false;
    left -= n;
  }
  return true;
}

bool write_answer(Wire& wire, const Reply& reply) {
  const auto text = answer_text(reply);
  if (!reply.unasked.empty()) return wire.write_together(text, reply.unasked);
  const bool written =
      reply.byte_interval.count() > 0 ? trickle(wire, text, reply.byte_interval) : wire.write(text);
  return written && write_filler(wire, reply);
}

}  // namespace

std::optional<std::string> ReceivedRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (boost::beast::iequals(key, name)) return value;
  }
  return std::nullopt;
}

Reply Reply::with_status(int status, std::string body) {
  Reply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

Reply Reply::doing(Act act) {
  Reply reply;
  reply.act = act;
  return reply;
}

class HttpService::Impl {
 public:
  explicit Impl(HttpServiceConfig config)
      : config_(std::move(config)),
        tls_(tls_context(config_)),
        listener_(context_, loopback(config_)),
        port_(listener_.local_endpoint().port()),
        acceptor_([this] { accept_all(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ::shutdown(listener_.native_handle(), SHUT_RDWR);
    acceptor_.join();
    close_connections();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_.empty(); });
  }

  // The service's own members forward to these; `mutex_` guards all of it.
  void close_connections() {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, socket] : open_) ::shutdown(socket, SHUT_RDWR);
  }

  bool wait_until(const std::function<bool()>& fact, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, fact);
  }

  const HttpServiceConfig config_;
  std::optional<asio::ssl::context> tls_;
  asio::io_context context_;  ///< never run: every call blocks its own thread
  tcp::acceptor listener_;
  const unsigned short port_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Reply> queue_;
  Responder responder_ = [](const ReceivedRequest&) { return Reply{}; };
  std::vector<ReceivedRequest> requests_;
  std::map<std::size_t, int> open_;  ///< number of a connection → its socket
  std::size_t accepted_ = 0;
  bool stopping_ = false;
  std::atomic<bool> scripted_ = false;  ///< no: all requests get the same answer, unread

 private:
  static tcp::endpoint loopback(const HttpServiceConfig& config);
  void accept_all();
  void serve(int socket, std::size_t number);
  void talk(Wire& wire, std::size_t number);
  bool serve_request(Wire& wire, boost::beast::flat_buffer& buffer, std::size_t number);
  bool carry_out(Wire& wire, const Reply& reply);
  void record(const ReceivedRequest& request);
  std::optional<Reply> next_queued();
  Reply ask_responder(const ReceivedRequest& request);
  bool refuse_next_unread();

  std::thread acceptor_;
};

tcp::endpoint HttpService::Impl::loopback(const HttpServiceConfig& config) {
  if (config.ipv6) return {asio::ip::address_v6::loopback(), config.port};
  return {asio::ip::address_v4::loopback(), config.port};
}

void HttpService::Impl::accept_all() {
  for (;;) {
    error_code error;
    auto socket = listener_.accept(error);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (error) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // no descriptors left
    if (error || open_.size() >= config_.connections_max) continue;
    socket.set_option(tcp::no_delay(true), error);
    const auto number = ++accepted_;
    const int fd = open_.emplace(number, socket.release()).first->second;
    std::thread([this, number, fd] { serve(fd, number); }).detach();
    changed_.notify_all();
  }
}

void HttpService::Impl::serve(int socket, std::size_t number) {
  std::optional<Wire> wire(std::in_place, context_, config_.ipv6 ? tcp::v6() : tcp::v4(), socket,
                           tls_ ? &*tls_ : nullptr);
  talk(*wire, number);
  // The destructor of the service waits until `open_` is empty. Nothing of the service is touched
  // after that.
  const std::lock_guard lock(mutex_);
  wire.reset();
  open_.erase(number);
  changed_.notify_all();
}

void HttpService::Impl::talk(Wire& wire, std::size_t number) {
  if (refuse_next_unread()) return wire.reset_on_close();
  if (!wire.accept()) return;
  boost::beast::flat_buffer buffer;
  while (serve_request(wire, buffer, number)) {
  }
}

bool HttpService::Impl::serve_request(Wire& wire, boost::beast::flat_buffer& buffer,
                                      std::size_t number) {
  Parser parser;
  parser.header_limit(1048576);
  parser.body_limit(config_.request_bytes_max);
  error_code error;
  http::read_header(wire, buffer, parser, error);
  if (error) return false;
  const auto queued = next_queued();
  if (!queued || queued->act != Reply::Act::answer_before_body) {
    http::read(wire, buffer, parser, error);
    if (error) return false;
  }
  const bool goes_on = parser.get().keep_alive();
  if (!config_.record && !scripted_) {
    return wire.write("HTTP/1.1 200 Said\r\nContent-Length: 0\r\n\r\n") && goes_on;
  }
  auto request = request_from(parser);
  request.connection = number;
  if (config_.record) record(request);
  return carry_out(wire, queued ? *queued : ask_responder(request)) && goes_on;
}

bool HttpService::Impl::carry_out(Wire& wire, const Reply& reply) {
  if (reply.delay.count() > 0 && !wire.wait(reply.delay)) return false;
  switch (reply.act) {
    case Reply::Act::answer: return write_answer(wire, reply) && !reply.close_after;
    case Reply::Act::hang: wire.wait_for_end(); return false;
    case Reply::Act::answer_before_body:
      if (write_answer(wire, reply)) wire.wait_for_end();
      return false;
    case Reply::Act::close_before_reading:
    case Reply::Act::reset_before_answer: wire.reset_on_close(); return false;
    case Reply::Act::close_before_answer: wire.finish(); return false;
  }
  return false;
}

void HttpService::Impl::record(const ReceivedRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  requests_.back().at = std::chrono::steady_clock::now();
  changed_.notify_all();
}

std::optional<Reply> HttpService::Impl::next_queued() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  auto reply = std::move(queue_.front());
  queue_.pop_front();
  return reply;
}

Reply HttpService::Impl::ask_responder(const ReceivedRequest& request) {
  std::unique_lock lock(mutex_);
  const auto responder = responder_;
  lock.unlock();
  return responder(request);
}

bool HttpService::Impl::refuse_next_unread() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() || queue_.front().act != Reply::Act::close_before_reading) return false;
  queue_.pop_front();
  return true;
}

HttpService::HttpService(HttpServiceConfig config)
    : impl_(std::make_unique<Impl>(std::move(config))) {}

HttpService::~HttpService() = default;

unsigned short HttpService::port() const {
  return impl_->port_;
}

std::string HttpService::url(std::string_view path) const {
  return std::string(impl_->tls_ ? "https://" : "http://") +
         (impl_->config_.ipv6 ? "[::1]:" : "127.0.0.1:") + std::to_string(port()) +
         std::string(path);
}

void HttpService::push(Reply reply) {
  const std::lock_guard lock(impl_->mutex_);
  impl_->queue_.push_back(std::move(reply));
  impl_->scripted_ = true;
}

void HttpService::push(std::vector<Reply> replies) {
  for (auto& reply : replies) push(std::move(reply));
}

void HttpService::reply_with(Responder responder) {
  const std::lock_guard lock(impl_->mutex_);
  impl_->responder_ = std::move(responder);
  impl_->scripted_ = true;
}

void HttpService::reply_with(Reply reply) {
  reply_with([reply = std::move(reply)](const ReceivedRequest&) { return reply; });
}

std::vector<ReceivedRequest> HttpService::requests() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->requests_;
}

std::size_t HttpService::request_count() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->requests_.size();
}

ReceivedRequest HttpService::last_request() const {
  const std::lock_guard lock(impl_->mutex_);
  if (impl_->requests_.empty()) throw std::runtime_error("the HTTP service got no request");
  return impl_->requests_.back();
}

bool HttpService::wait_for_requests(std::size_t count, std::chrono::milliseconds timeout) const {
  return impl_->wait_until([&] { return impl_->requests_.size() >= count; }, timeout);
}

void HttpService::forget_requests() {
  const std::lock_guard lock(impl_->mutex_);
  impl_->requests_.clear();
}

std::size_t HttpService::connections_accepted() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->accepted_;
}

std::size_t HttpService::connections_open() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->open_.size();
}

bool HttpService::wait_for_open(std::size_t count, std::chrono::milliseconds timeout) const {
  return impl_->wait_until([&] { return impl_->open_.size() <= count; }, timeout);
}

void HttpService::say_unasked(std::string_view bytes) {
  const std::lock_guard lock(impl_->mutex_);
  for (const auto& [number, socket] : impl_->open_) {
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
}

void HttpService::close_connections() {
  impl_->close_connections();
}

}  // namespace seriatim::lab
