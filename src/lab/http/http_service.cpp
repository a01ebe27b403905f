#include "lab/http/http_service.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "lab/http/wire.hpp"

namespace seriatim::lab {

namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view blank_line = "\r\n\r\n";

bool same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return &value;
  }
  return nullptr;
}

std::string_view take_until(std::string_view& text, std::string_view end) {
  const auto at = std::min(text.find(end), text.size());
  const auto taken = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return taken;
}

/// The next line of a head, as name and value.
std::pair<std::string_view, std::string_view> take_field(std::string_view& head) {
  auto value = take_until(head, "\r\n");
  const auto name = take_until(value, ":");
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return {name, value};
}

ReceivedRequest parse_head(std::string_view head) {
  ReceivedRequest request;
  auto line = take_until(head, "\r\n");
  request.method = take_until(line, " ");
  request.target = take_until(line, " ");
  request.version = line;
  while (!head.empty()) request.headers.emplace_back(take_field(head));
  return request;
}

/// Where a request ends, and whether its connection ends with it.
struct Frame {
  std::size_t body_bytes = 0;
  bool is_last = false;
};

Frame frame_of(std::string_view head) {
  Frame frame;
  take_until(head, "\r\n");
  while (!head.empty()) {
    const auto [name, value] = take_field(head);
    if (same_name(name, "content-length")) {
      std::from_chars(value.data(), value.data() + value.size(), frame.body_bytes);
    } else if (same_name(name, "connection")) {
      frame.is_last = value == "close";
    }
  }
  return frame;
}

std::string chunked(std::string_view body) {
  std::string out;
  while (!body.empty()) {
    const auto piece = body.substr(0, 7);
    out += std::to_string(piece.size());
    out += "\r\n";
    out += piece;
    out += "\r\n";
    body.remove_prefix(piece.size());
  }
  return out + "0\r\n\r\n";
}

std::string answer_text(const Reply& reply) {
  if (!reply.raw.empty()) return reply.raw;
  std::string out = "HTTP/1.1 " + std::to_string(reply.status) + " Said\r\n";
  for (const auto& [name, value] : reply.headers) out += name + ": " + value + "\r\n";
  if (reply.chunked) return out + "Transfer-Encoding: chunked\r\n\r\n" + chunked(reply.body);
  const bool framed = find_header(reply.headers, "content-length") != nullptr ||
                      find_header(reply.headers, "transfer-encoding") != nullptr;
  if (!framed && reply.status != 204 && reply.status != 304) {
    out += "Content-Length: " + std::to_string(reply.body.size() + reply.filler_bytes) + "\r\n";
  }
  return out + "\r\n" + reply.body;
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

Fd listen_on_loopback(bool ipv6, unsigned short port) {
  Fd fd(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  v6.sin6_port = htons(port);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  v4.sin_port = htons(port);
  const auto* address =
      ipv6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  const auto size = static_cast<socklen_t>(ipv6 ? sizeof v6 : sizeof v4);
  if (::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), 512) != 0) {
    throw std::runtime_error("the HTTP service cannot listen on loopback");
  }
  return fd;
}

unsigned short port_of(const Fd& listener) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin6_port);  // sin_port stands at the same place
}

// SSL_write cannot ask for MSG_NOSIGNAL.
void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

std::optional<std::string> ReceivedRequest::header(std::string_view name) const {
  const auto* value = find_header(headers, name);
  return value ? std::optional(*value) : std::nullopt;
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
        tls_(config_.certificate.empty()
                 ? TlsContext(nullptr, SSL_CTX_free)
                 : make_tls_context(config_.certificate, config_.key, config_.tls_version_max)),
        listener_(listen_on_loopback(config_.ipv6, config_.port)),
        port_(port_of(listener_)),
        acceptor_([this] { accept_all(); }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
    close_connections();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_.empty(); });
  }

  // The receiver's own members forward to these; `mutex_` guards all of it.
  void close_connections() {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }

  bool wait_until(const std::function<bool()>& fact, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, fact);
  }

  const HttpServiceConfig config_;
  const TlsContext tls_;
  const Fd listener_;
  const unsigned short port_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Reply> queue_;
  Responder responder_ = [](const ReceivedRequest&) { return Reply{}; };
  std::vector<ReceivedRequest> requests_;
  std::set<int> open_;
  std::size_t accepted_ = 0;
  bool stopping_ = false;
  std::atomic<bool> scripted_ = false;  ///< no: all requests get the same answer, unread

 private:
  void accept_all();
  void serve(Fd socket, std::size_t number);
  void talk(Wire& wire, std::size_t number);
  bool serve_request(Wire& wire, std::string& buffer, std::size_t number);
  bool read_more(Wire& wire, std::string& buffer) const;
  bool carry_out(Wire& wire, const Reply& reply);
  void record(const ReceivedRequest& request);
  std::optional<Reply> next_queued();
  Reply ask_responder(const ReceivedRequest& request);
  bool refuse_next_unread();

  std::thread acceptor_;
};

void HttpService::Impl::accept_all() {
  block_sigpipe();
  for (;;) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (socket.get() < 0 || open_.size() >= config_.connections_max) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    open_.insert(socket.get());
    const auto number = ++accepted_;
    std::thread([this, number, s = std::move(socket)]() mutable {
      serve(std::move(s), number);
    }).detach();
    changed_.notify_all();
  }
}

void HttpService::Impl::serve(Fd socket, std::size_t number) {
  Wire wire(std::move(socket), tls_.get());
  talk(wire, number);
  // Nothing of the receiver is touched after this: its destructor waits for it only.
  const std::lock_guard lock(mutex_);
  open_.erase(wire.fd());
  changed_.notify_all();
}

void HttpService::Impl::talk(Wire& wire, std::size_t number) {
  if (refuse_next_unread()) return wire.reset_on_close();
  if (!wire.accept()) return;
  std::string buffer;
  while (serve_request(wire, buffer, number)) {
  }
}

bool HttpService::Impl::read_more(Wire& wire, std::string& buffer) const {
  return buffer.size() < config_.request_bytes_max && wire.read_more(buffer);
}

bool HttpService::Impl::serve_request(Wire& wire, std::string& buffer, std::size_t number) {
  auto head_end = buffer.find(blank_line);
  for (; head_end == std::string::npos; head_end = buffer.find(blank_line)) {
    if (!read_more(wire, buffer)) return false;
  }
  const auto frame = frame_of({buffer.data(), head_end});
  const auto body_begin = head_end + blank_line.size();
  const auto queued = next_queued();
  if (!queued || queued->act != Reply::Act::answer_before_body) {
    if (frame.body_bytes > config_.request_bytes_max) return false;
    while (buffer.size() < body_begin + frame.body_bytes) {
      if (!read_more(wire, buffer)) return false;
    }
  }
  if (!config_.record && !scripted_) {
    buffer.erase(0, body_begin + frame.body_bytes);
    return wire.write("HTTP/1.1 200 Said\r\nContent-Length: 0\r\n\r\n") && !frame.is_last;
  }
  auto request = parse_head({buffer.data(), head_end});
  request.connection = number;
  request.body = buffer.substr(body_begin, frame.body_bytes);
  buffer.erase(0, body_begin + request.body.size());
  if (config_.record) record(request);
  return carry_out(wire, queued ? *queued : ask_responder(request)) && !frame.is_last;
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
  for (const int fd : impl_->open_) (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

void HttpService::close_connections() {
  impl_->close_connections();
}

}  // namespace seriatim::lab
