#include "console/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <future>
#include <list>
#include <thread>

#include "console/host_rule.hpp"
#include "console/http_connection.hpp"
#include "console/http_exchange.hpp"
#include "console/http_listener.hpp"
#include "seriatim/error.hpp"

namespace seriatim::console {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;
using ConnectionPtr = std::shared_ptr<Connection>;

constexpr int readers_count = 2;
constexpr int actors_count = 4;  ///< an act may wait for a call, and must not hold up others
constexpr auto nothrow = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::seconds farewell_max{1};

/// Threads that give slow answers.
struct Workers {
  explicit Workers(std::size_t count) : threads(count) {}
  asio::thread_pool threads;
  std::atomic<std::size_t> waiting = 0;
};

}  // namespace

struct HttpServer::Impl {
  Impl(Settings given, std::vector<HttpRoute> all)
      : settings(std::move(given)), routes(std::move(all)), listener(io) {
    if (settings.tls) tls.emplace(*settings.tls, settings.warn);
  }

  void listen();
  asio::awaitable<void> accept();
  asio::awaitable<void> accept_one();
  asio::awaitable<void> serve(std::list<ConnectionPtr>::iterator place);
  asio::awaitable<bool> shake_hands(Connection& connection);
  asio::awaitable<void> converse(ConnectionPtr connection);
  asio::awaitable<bool> serve_one(ConnectionPtr connection);
  asio::awaitable<ErrorCode> read(Connection& connection, RequestParser& parser,
                                  HttpRequest& request, std::optional<HttpResponse>& refused);
  asio::awaitable<ErrorCode> read_head(Connection& connection, RequestParser& parser);
  asio::awaitable<void> write(Connection& connection, HttpAnswer answer);
  asio::awaitable<void> stream(ConnectionPtr connection, std::shared_ptr<EventStream> events);
  asio::awaitable<void> send(Connection& connection, EventStream& events,
                             asio::steady_timer& clock);
  asio::awaitable<HttpResponse> respond(const HttpRequest& request);
  asio::awaitable<HttpResponse> respond_slowly(const HttpRoute& route, const HttpRequest& request);
  void note(const std::string& route, const HttpResponse& response) const {
    if (settings.answered) settings.answered(route, response.status);
  }
  bool make_room();

  Settings settings;
  std::vector<HttpRoute> routes;
  std::optional<TlsContext> tls;
  asio::io_context io;
  HttpListener listener;
  std::list<ConnectionPtr> connections;  ///< the thread of `io` only
  std::size_t streams = 0;               ///< the thread of `io` only
  Workers readers{readers_count};
  Workers actors{actors_count};
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
    impl_->listener.acceptor.close(ignored);
    for (auto& connection : impl_->connections) connection->wire.plain().close();
    closed.set_value();
  });
  closed.get_future().wait();
  impl_->readers.threads.join();
  impl_->actors.threads.join();
  impl_->thread.join();
}

unsigned short HttpServer::port() const {
  return impl_->listener.local.port();
}

std::string HttpServer::url() const {
  if (!impl_->settings.unix_path.empty()) return "unix:" + impl_->settings.unix_path;
  const auto address = impl_->listener.local.address();
  const auto text = address.to_string();
  return (impl_->tls ? "https://" : "http://") + (address.is_v6() ? '[' + text + ']' : text) + ':' +
         std::to_string(port());
}

void HttpServer::Impl::listen() {
  if (settings.unix_path.empty()) return listener.listen(settings.address, settings.port);
  listener.listen(settings.unix_path);
}

asio::awaitable<void> HttpServer::Impl::accept() {
  bool failed = false;
  while (listener.acceptor.is_open() && !closing) {
    try {
      if (failed) {
        asio::steady_timer pause(io, std::chrono::milliseconds(100));
        co_await pause.async_wait(nothrow);
      }
      failed = false;
      co_await accept_one();
    } catch (const std::exception&) {  // out of descriptors or memory: others may give some back
      failed = true;
    }
  }
}

asio::awaitable<void> HttpServer::Impl::accept_one() {
  StreamSocket socket(io);
  co_await listener.acceptor.async_accept(socket, asio::use_awaitable);
  if (closing || !make_room()) co_return;
  const auto place =
      connections.insert(connections.end(), std::make_shared<Connection>(std::move(socket)));
  try {
    asio::co_spawn(io, serve(place), asio::detached);
  } catch (...) {
    connections.erase(place);
    throw;
  }
}

/// Closes a connection that waits for its client. False: all are being answered.
bool HttpServer::Impl::make_room() {
  if (connections.size() < settings.limits.connections) return true;
  Connection* first = nullptr;
  const auto order = [](const Connection& one) { return std::pair(one.known, one.waits_since); };
  for (const auto& connection : connections) {
    if (connection->answering || !connection->wire.is_open()) continue;
    if (!first || order(*connection) < order(*first)) first = connection.get();
  }
  if (first) first->wire.plain().close();
  return first != nullptr;
}

asio::awaitable<void> HttpServer::Impl::serve(std::list<ConnectionPtr>::iterator place) {
  const auto connection = *place;
  try {
    if (co_await shake_hands(*connection)) co_await converse(connection);
  } catch (const std::exception&) {  // out of memory: this client goes, the others stay
  }
  connections.erase(place);
}

asio::awaitable<bool> HttpServer::Impl::shake_hands(Connection& connection) {
  if (!tls) co_return true;
  connection.wire.encrypt(tls->current());
  connection.read_within(settings.limits.request);
  const auto [error] = co_await connection.wire.async_handshake(nothrow);
  connection.clock.cancel();
  co_return !error;
}

asio::awaitable<void> HttpServer::Impl::converse(ConnectionPtr connection) {
  while (!closing && co_await serve_one(connection)) {
  }
  if (connection->wire.is_encrypted() && connection->wire.is_open()) {
    connection->answering = false;  // who does not say farewell makes room for others
    connection->wire.plain().expires_after(farewell_max);
    co_await connection->wire.async_shutdown(nothrow);
  }
  ErrorCode ignored;
  connection->wire.plain().socket().shutdown(StreamSocket::shutdown_send, ignored);
}

/// False: the connection is over.
asio::awaitable<bool> HttpServer::Impl::serve_one(ConnectionPtr connection) {
  RequestParser parser;
  HttpRequest request;
  std::optional<HttpResponse> refused;
  const auto error = co_await read(*connection, parser, request, refused);
  connection->answers();
  if (error && !refused) refused = refusal_of(error, connection->late, request.path);
  if (error && !refused) co_return false;  // it just ended
  if (error || refused) {
    note("", *refused);
    co_await write(*connection, answer_of(*refused, false, false));
    co_return false;
  }
  const auto response = co_await respond(request);
  if (response.stream && request.method != "HEAD") {
    co_await stream(connection, response.stream);
    co_return false;
  }
  const bool keeps = parser.get().keep_alive() && response.status < 400;
  co_await write(*connection, answer_of(response, request.method == "HEAD", keeps));
  co_return keeps && connection->wire.is_open();
}

/// `refused`: what to answer although the request may be sound; its body was not read.
asio::awaitable<ErrorCode> HttpServer::Impl::read(Connection& connection, RequestParser& parser,
                                                  HttpRequest& request,
                                                  std::optional<HttpResponse>& refused) {
  parser.header_limit(static_cast<std::uint32_t>(settings.limits.header_bytes));
  parser.body_limit(settings.limits.body_bytes);
  auto error = co_await read_head(connection, parser);
  request = request_of(parser, connection);
  if (error) co_return error;
  refused = refuse_host(parser, connection.local, settings.hosts);
  if (refused) co_return error;
  if (settings.identify) request.caller = settings.identify(request);
  connection.known = request.caller.role > Role::reader;
  const auto body_max =
      connection.known ? settings.limits.body_bytes : settings.limits.stranger_body_bytes;
  parser.body_limit(body_max);
  if (parser.content_length().value_or(0) > body_max) co_return http::error::body_limit;
  if (!parser.is_done() && parser.get()[http::field::expect] == "100-continue") {
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(connection.wire, asio::buffer(go_on), nothrow);
  }
  std::size_t bytes = 0;
  std::tie(error, bytes) =
      co_await http::async_read(connection.wire, connection.buffer, parser, nothrow);
  request.body = std::move(parser.get().body());
  if (!error && request.body.size() > body_max) error = http::error::body_limit;
  co_return error;
}

asio::awaitable<ErrorCode> HttpServer::Impl::read_head(Connection& connection,
                                                       RequestParser& parser) {
  if (connection.answering) {  // its second request may take a while to come
    connection.answering = false;
    connection.read_within(settings.limits.idle);
    const auto [error, bytes] =
        co_await http::async_read_some(connection.wire, connection.buffer, parser, nothrow);
    if (error) co_return connection.late ? http::error::end_of_stream : error;
  }
  connection.read_within(settings.limits.request);
  if (parser.is_header_done()) co_return ErrorCode();
  const auto [error, bytes] =
      co_await http::async_read_header(connection.wire, connection.buffer, parser, nothrow);
  co_return error;
}

asio::awaitable<void> HttpServer::Impl::write(Connection& connection, HttpAnswer answer) {
  connection.wire.plain().expires_after(settings.limits.request);
  const auto [error, bytes] = co_await http::async_write(connection.wire, answer, nothrow);
  if (error) connection.wire.plain().close();
}

asio::awaitable<HttpResponse> HttpServer::Impl::respond(const HttpRequest& request) {
  if (settings.gate) {
    auto refused = settings.gate(request);
    if (refused) {
      note(route_of(routes, request).pattern, *refused);
      co_return std::move(*refused);
    }
  }
  const auto found = route_of(routes, request);
  HttpResponse response;
  if (!found.route) {
    response = refuse_route(request, found);
  } else {
    auto filled = request;
    filled.values = found.values;
    if (found.route->slow) {
      response = co_await respond_slowly(*found.route, filled);
    } else {
      response = call(*found.route, filled);
    }
    if (response.stream && streams >= settings.limits.streams) {
      response.stream->close();
      response = refusal(request.path, 503, "so many listen already that no more are let in",
                         "close other windows of the console, and try again");
    }
  }
  note(found.pattern, response);
  co_return response;
}

/// The coroutine waits on a timer that the worker cancels.
asio::awaitable<HttpResponse> HttpServer::Impl::respond_slowly(const HttpRoute& route,
                                                               const HttpRequest& request) {
  if (closing) co_return refusal(request.path, 503, "this relay ends");
  auto& workers = route.method == "GET" ? readers : actors;
  if (workers.waiting >= settings.limits.queue) {
    co_return refusal(request.path, 503, "too many requests wait already");
  }
  ++workers.waiting;
  auto done = std::make_shared<asio::steady_timer>(io, Clock::time_point::max());
  auto response = std::make_shared<HttpResponse>();
  asio::post(workers.threads, [this, &workers, done, response, &route, request] {
    *response = call(route, request);
    --workers.waiting;
    asio::post(io, [done] { done->cancel(); });
  });
  co_await done->async_wait(nothrow);
  co_return *response;
}

// --- event streams -------------------------------------------------------------------------------

/// Until the client goes, reads too slowly, or the stream is closed.
asio::awaitable<void> HttpServer::Impl::stream(ConnectionPtr connection,
                                               std::shared_ptr<EventStream> events) {
  ++streams;
  const auto clock = std::make_shared<asio::steady_timer>(io);
  events->on_news([this, clock] { asio::post(io, [clock] { clock->cancel(); }); });
  connection->wire.plain().expires_never();
  const auto watch = [](ConnectionPtr watched, std::shared_ptr<EventStream> watched_events)
      -> asio::awaitable<void> {  // the client has nothing more to say: it goes, or it errs
    char byte = 0;
    co_await watched->wire.async_read_some(asio::buffer(&byte, 1), nothrow);
    watched_events->close();
  };
  asio::co_spawn(io, watch(connection, events), asio::detached);
  co_await send(*connection, *events, *clock);
  events->on_news({});
  events->close();
  connection->wire.plain().close();
  --streams;
}

asio::awaitable<void> HttpServer::Impl::send(Connection& connection, EventStream& events,
                                             asio::steady_timer& clock) {
  static constexpr std::string_view comment = ":\n\n";
  auto text = std::make_shared<const std::string>(head_of_stream());
  std::vector<EventStream::Text> news{std::move(text)};
  while (!closing) {
    connection.wire.plain().expires_after(settings.limits.request);
    for (const auto& event : news) {
      const auto [error, bytes] =
          co_await asio::async_write(connection.wire, asio::buffer(*event), nothrow);
      if (error) co_return;
    }
    clock.expires_after(settings.limits.comment);
    news = events.take();
    if (!news.empty()) continue;
    if (events.is_closed() || !connection.wire.is_open()) co_return;
    const auto [woken] = co_await clock.async_wait(nothrow);
    news = events.take();
    if (!woken) news.push_back(std::make_shared<const std::string>(comment));
  }
}

}  // namespace seriatim::console
