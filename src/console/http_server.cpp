#include "console/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <future>
#include <list>
#include <optional>
#include <thread>

#include "console/host_rule.hpp"
#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;
using Parser = http::request_parser<http::string_body>;
using Answer = http::response<http::string_body>;

constexpr int workers = 2;
constexpr auto nothrow = asio::as_tuple(asio::use_awaitable);

/// One connection, as long as it is open.
struct Connection : std::enable_shared_from_this<Connection> {
  explicit Connection(tcp::socket socket)
      : stream(std::move(socket)), clock(stream.get_executor()) {}

  /// The read that begins now ends in time. The deadline of the stream itself would close it, and
  /// then the client could not be answered that it was too slow.
  void read_within(std::chrono::milliseconds limit) {
    late = false;
    waits_since = Clock::now();
    stream.expires_never();
    clock.expires_after(limit);
    clock.async_wait([self = weak_from_this()](const ErrorCode& stopped) {
      const auto connection = self.lock();
      if (stopped || !connection || connection->answering) return;
      connection->late = true;
      connection->stream.cancel();
    });
  }

  beast::tcp_stream stream;
  asio::steady_timer clock;
  Clock::time_point waits_since = Clock::now();
  bool late = false;  ///< the last read was ended by the clock
  beast::flat_buffer buffer;
  bool answering = false;  ///< it has sent its request
};

HttpRequest request_of(const Parser& parser, const tcp::socket& socket) {
  const auto& message = parser.get();
  const std::string_view target(message.target().data(), message.target().size());
  const auto mark = target.find('?');
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = std::string(target.substr(0, mark));
  if (mark != std::string_view::npos) request.query = std::string(target.substr(mark + 1));
  request.accept = std::string(message[http::field::accept]);
  request.authorization = std::string(message[http::field::authorization]);
  ErrorCode gone;
  request.peer = socket.remote_endpoint(gone).address().to_string();
  return request;
}

HttpResponse refusal(unsigned status, const std::string& why) {
  return {status, why + '\n'};
}

/// What is wrong with a request that could not be read; nothing if the connection just ended.
std::optional<HttpResponse> refusal_of(const ErrorCode& error) {
  if (error == http::error::end_of_stream || error == asio::error::connection_reset ||
      error == asio::error::operation_aborted || error == http::error::partial_message) {
    return std::nullopt;
  }
  if (error == http::error::header_limit) return refusal(431, "the header is too long");
  if (error == http::error::body_limit) return refusal(413, "the body is too long");
  return refusal(400, "this is no HTTP request: " + error.message());
}

Answer answer_of(const HttpResponse& response, bool head, bool keeps) {
  Answer answer(static_cast<http::status>(response.status), 11);
  answer.set(http::field::content_type, response.content_type);
  answer.set(http::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  for (const auto& [name, value] : response.headers) answer.set(name, value);
  answer.keep_alive(keeps);
  answer.content_length(response.body.size());
  if (!head) answer.body() = response.body;
  return answer;
}

}  // namespace

struct HttpServer::Impl {
  Impl(Settings given, std::vector<HttpRoute> all)
      : settings(std::move(given)), routes(std::move(all)), acceptor(io) {}

  void listen();
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(std::list<std::shared_ptr<Connection>>::iterator place);
  asio::awaitable<bool> serve_one(Connection& connection);
  asio::awaitable<void> write(Connection& connection, Answer answer);
  asio::awaitable<HttpResponse> respond(const HttpRequest& request);
  asio::awaitable<HttpResponse> respond_slowly(const HttpRoute& route, const HttpRequest& request);
  [[nodiscard]] std::optional<HttpResponse> refuse(const Parser& parser,
                                                   const Connection& connection) const;
  bool make_room();
  static HttpResponse call(const HttpRoute& route, const HttpRequest& request);

  Settings settings;
  std::vector<HttpRoute> routes;
  asio::io_context io;
  tcp::acceptor acceptor;
  tcp::endpoint local;
  std::list<std::shared_ptr<Connection>> connections;  ///< the thread of `io` only
  asio::thread_pool slow{workers};
  std::atomic<std::size_t> waiting = 0;
  bool closing = false;  ///< the thread of `io` only
  std::jthread thread;
};

HttpServer::HttpServer(Settings settings, std::vector<HttpRoute> routes)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(routes))) {
  impl_->listen();
  asio::co_spawn(impl_->io, impl_->accept(), asio::detached);
  impl_->thread = std::jthread([this] { impl_->io.run(); });
}

HttpServer::~HttpServer() {
  std::promise<void> closed;  // from then on nothing is given to the workers
  asio::post(impl_->io, [&] {
    impl_->closing = true;
    ErrorCode ignored;
    impl_->acceptor.close(ignored);
    for (auto& connection : impl_->connections) connection->stream.close();
    closed.set_value();
  });
  closed.get_future().wait();
  impl_->slow.join();
  impl_->thread.join();
}

unsigned short HttpServer::port() const {
  return impl_->local.port();
}

std::string HttpServer::url() const {
  const auto address = impl_->local.address();
  const auto text = address.to_string();
  return "http://" + (address.is_v6() ? '[' + text + ']' : text) + ':' + std::to_string(port());
}

void HttpServer::Impl::listen() {
  const auto place = settings.address + ':' + std::to_string(settings.port);
  try {
    const tcp::endpoint wanted(asio::ip::make_address(settings.address), settings.port);
    acceptor.open(wanted.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(wanted);
    acceptor.listen();
    local = acceptor.local_endpoint();
  } catch (const boost::system::system_error& error) {
    throw Error("cannot listen on " + place + ": " + error.code().message() +
                "; name another address or port in [console]");
  }
}

asio::awaitable<void> HttpServer::Impl::accept() {
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(nothrow);
    if (closing) co_return;
    if (error) {  // out of descriptors, for example: give others time to close some
      asio::steady_timer pause(io, std::chrono::milliseconds(100));
      co_await pause.async_wait(nothrow);
      continue;
    }
    if (!make_room()) continue;
    const auto place =
        connections.insert(connections.end(), std::make_shared<Connection>(std::move(socket)));
    asio::co_spawn(io, serve(place), asio::detached);
  }
}

/// Closes the connection that has waited longest for its client. False: all are being answered.
bool HttpServer::Impl::make_room() {
  if (connections.size() < settings.limits.connections) return true;
  Connection* longest = nullptr;
  for (const auto& connection : connections) {
    if (connection->answering || !connection->stream.socket().is_open()) continue;
    if (!longest || connection->waits_since < longest->waits_since) longest = connection.get();
  }
  if (longest) longest->stream.close();
  return longest != nullptr;
}

asio::awaitable<void> HttpServer::Impl::serve(
    std::list<std::shared_ptr<Connection>>::iterator place) {
  const auto connection = *place;
  try {
    while (!closing && co_await serve_one(*connection)) {
    }
    ErrorCode ignored;
    connection->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  } catch (const std::exception&) {  // out of memory: this client goes, the others stay
  }
  connections.erase(place);
}

/// False: the connection is over.
asio::awaitable<bool> HttpServer::Impl::serve_one(Connection& connection) {
  auto& stream = connection.stream;
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(settings.limits.header_bytes));
  parser.body_limit(settings.limits.body_bytes);
  if (connection.answering) {  // its second request may take a while to come
    connection.answering = false;
    connection.read_within(settings.limits.idle);
    auto [error, bytes] =
        co_await http::async_read_some(stream, connection.buffer, parser, nothrow);
    if (error) co_return false;
  }
  connection.read_within(settings.limits.request);
  const auto [error, bytes] = co_await http::async_read(stream, connection.buffer, parser, nothrow);
  connection.clock.cancel();
  connection.answering = true;
  if (error) {
    const std::optional<HttpResponse> refused =
        connection.late ? refusal(408, "the request took too long") : refusal_of(error);
    if (refused) {
      co_await write(connection, answer_of(*refused, false, false));
    }
    co_return false;
  }
  const auto request = request_of(parser, stream.socket());
  auto response = refuse(parser, connection);
  if (!response) response = co_await respond(request);
  const bool keeps = parser.get().keep_alive() && response->status < 400;
  co_await write(connection, answer_of(*response, request.method == "HEAD", keeps));
  co_return keeps&& stream.socket().is_open();
}

asio::awaitable<void> HttpServer::Impl::write(Connection& connection, Answer answer) {
  connection.stream.expires_after(settings.limits.request);
  const auto [error, bytes] = co_await http::async_write(connection.stream, answer, nothrow);
  if (error) connection.stream.close();
}

std::optional<HttpResponse> HttpServer::Impl::refuse(const Parser& parser,
                                                     const Connection& connection) const {
  const auto& message = parser.get();
  const auto hosts = message.equal_range(http::field::host);
  if (std::distance(hosts.first, hosts.second) != 1) return refusal(400, "one Host header is due");
  const auto host = hosts.first->value();
  ErrorCode gone;
  const auto at = connection.stream.socket().local_endpoint(gone).address().to_string();
  switch (judge_host({host.data(), host.size()}, at, settings.hosts)) {
    case HostVerdict::malformed: return refusal(400, "the Host header is malformed");
    case HostVerdict::foreign:
      return refusal(403, "this Host is not ours; name it in console.hosts if it is");
    case HostVerdict::ours: break;
  }
  if (message.method() == http::verb::get || message.method() == http::verb::head) {
    return std::nullopt;
  }
  return HttpResponse{
      405, "only GET and HEAD\n", "text/plain; charset=utf-8", {{"Allow", "GET, HEAD"}}};
}

asio::awaitable<HttpResponse> HttpServer::Impl::respond(const HttpRequest& request) {
  for (const auto& route : routes) {
    if (route.path != request.path) continue;
    if (route.slow) co_return co_await respond_slowly(route, request);
    co_return call(route, request);
  }
  co_return refusal(404, "there is nothing here");
}

HttpResponse HttpServer::Impl::call(const HttpRoute& route, const HttpRequest& request) {
  try {
    return route.respond(request);
  } catch (const std::exception& error) {
    return refusal(500, error.what());
  }
}

/// The coroutine waits on a timer that the worker cancels.
asio::awaitable<HttpResponse> HttpServer::Impl::respond_slowly(const HttpRoute& route,
                                                               const HttpRequest& request) {
  if (closing) co_return refusal(503, "this relay ends");
  if (waiting >= settings.limits.queue) co_return refusal(503, "too many requests wait already");
  ++waiting;
  auto done = std::make_shared<asio::steady_timer>(io, Clock::time_point::max());
  auto response = std::make_shared<HttpResponse>();
  asio::post(slow, [this, done, response, &route, request] {
    *response = call(route, request);
    --waiting;
    asio::post(io, [done] { done->cancel(); });
  });
  co_await done->async_wait(nothrow);
  co_return *response;
}

}  // namespace seriatim::console
