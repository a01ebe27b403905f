#include "lab/proxy/fault_proxy.hpp"

#include <linux/filter.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <list>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "lab/proxy/commit_watch.hpp"
#include "lab/proxy/flow_queue.hpp"

namespace seriatim::torture {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Endpoint = asio::generic::stream_protocol::endpoint;
using Error = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
template <class T>
using Awaitable = asio::awaitable<T>;

namespace {

constexpr auto as_values = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t chunk_bytes_max = 16 << 10;

/// Drops what comes in before TCP sees it: no ACK, no RST. Needs no rights.
bool set_deaf(int socket, bool deaf) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  const int ignored = 0;
  return deaf ? ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
              : ::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored) == 0;
}

/// Not inherited by programs started meanwhile, who would keep its other end from seeing its end.
template <class AnySocket, class Protocol>
void open_for_us_alone(AnySocket& socket, const Protocol& protocol) {
  const int fd = ::socket(protocol.family(), SOCK_STREAM | SOCK_CLOEXEC, protocol.protocol());
  if (fd < 0) throw boost::system::system_error(errno, boost::system::system_category(), "socket");
  socket.assign(protocol, fd);
}

void close(Socket& socket) {
  Error ignored;
  socket.close(ignored);
}

void reset(Socket& socket) {
  Error ignored;
  socket.set_option(asio::socket_base::linger(true, 0), ignored);
  socket.close(ignored);
}

/// What the connections share; touched on the proxy's thread only, `counts` apart.
struct Orders {
  struct Towards {
    std::size_t bytes_left = 0;  ///< 0: no order
    unsigned commits_left = 0;
    std::atomic<std::size_t> bytes = 0;
  };
  Towards to_server;
  Towards to_client;
  std::mt19937_64 chance;
  bool deaf = false;
  std::atomic<std::size_t> accepted = 0;
  std::atomic<std::size_t> open = 0;
  std::atomic<std::size_t> commits_answered = 0;
  std::atomic<std::size_t> dropped = 0;
};

/// One direction of a connection: takes bytes in as they come, hands them on as the weather says.
class Pipe {
 public:
  Pipe(Socket& from, Socket& to, Orders& orders, Orders::Towards& towards)
      : from_(from),
        to_(to),
        orders_(orders),
        towards_(towards),
        queue_(orders.chance),
        due_(from.get_executor()),
        room_(from.get_executor()) {}

  void set(const Flow& flow) {
    queue_.set(flow);
    wake();
  }
  void stop() {
    stopped_ = true;
    wake();
  }
  /// From now on what comes is taken and forgotten, its end too.
  void forget_all() {
    dead_ = true;
    queue_.clear();
    wake();
  }
  [[nodiscard]] bool dead() const { return dead_; }
  void wake() {
    due_.cancel();
    room_.cancel();
  }

  /// Ends with the error of the socket read from; eof after a FIN.
  /// `cut_in(bytes)` may say behind how many of these the connection is to end.
  template <class CutIn>
  Awaitable<Error> take_in(CutIn cut_in) {
    std::array<char, chunk_bytes_max> buffer{};
    while (!stopped_) {
      if (queue_.full()) {
        co_await nap(room_, Clock::time_point::max());
        continue;
      }
      const auto [error, n] = co_await from_.async_read_some(asio::buffer(buffer), as_values);
      if (error) {
        ended_ = true;
        wake();
        co_return error;
      }
      if (queue_.flow().swallow) dead_ = true;
      if (dead_) continue;
      const std::string_view bytes(buffer.data(), n);
      const std::optional<std::size_t> cut = cut_in(bytes);
      queue_.push(bytes.substr(0, cut.value_or(n)));
      last_ = cut.has_value();
      wake();
      if (last_) break;
    }
    co_return Error();
  }

  /// Ends when all that will come was handed on, with `eof` or, at the end of an order to drop,
  /// with none; or with the error of the socket written to.
  Awaitable<Error> hand_on() {
    while (!stopped_) {
      const auto due = next_due();
      if (due > Clock::now()) {
        co_await nap(due_, due);
        continue;
      }
      if (queue_.empty()) co_return last_ ? Error() : asio::error::eof;
      if (queue_.lost_again()) continue;
      const auto piece = queue_.take_piece();
      const auto [error, n] = co_await asio::async_write(to_, asio::buffer(piece), as_values);
      if (error) co_return error;
      towards_.bytes += n;
      room_.cancel();
    }
    co_return asio::error::operation_aborted;
  }

 private:
  static Awaitable<void> nap(asio::steady_timer& timer, Clock::time_point until) {
    timer.expires_at(until);
    co_await timer.async_wait(as_values);
  }

  [[nodiscard]] Clock::time_point next_due() const {
    const bool more_to_come = (!last_ && !ended_) || dead_;
    if (orders_.deaf || (queue_.empty() && more_to_come)) return Clock::time_point::max();
    return queue_.due();
  }

  Socket& from_;
  Socket& to_;
  Orders& orders_;
  Orders::Towards& towards_;
  FlowQueue queue_;
  asio::steady_timer due_;   ///< hand_on waits for it
  asio::steady_timer room_;  ///< take_in
  bool ended_ = false;       ///< FIN was read, or the socket broke
  bool last_ = false;        ///< an order to drop was met behind what is queued
  bool dead_ = false;
  bool stopped_ = false;
};

/// One client and its connection to the server.
class Link : public std::enable_shared_from_this<Link> {
 public:
  Link(Socket client, Orders& orders, const Weather& weather)
      : client_(std::move(client)), server_(client_.get_executor()), orders_(orders) {
    orders_.open += 1;
    set(weather);
  }
  ~Link() { orders_.open -= 1; }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Coroutines begin later than they are called, so each holds the link from its argument on.
  using Self = std::shared_ptr<Link>;

  Awaitable<void> run(Self self, Endpoint server, bool swallowed) {
    no_delay(client_);
    if (swallowed) {  // nobody behind a black hole
      to_server_.forget_all();
      spawn(feed(self, to_server_, Side::server));
      co_return;
    }
    open_for_us_alone(server_, server.protocol());
    const auto [error] = co_await server_.async_connect(server, as_values);
    if (error) co_return reset_both();
    no_delay(server_);
    connected_ = true;
    if (half_open_) half_open(gone_);  // was ordered meanwhile
    spawn(feed(self, to_server_, Side::server));
    spawn(feed(self, to_client_, Side::client));
    spawn(drain(self, to_server_, server_));
    spawn(drain(self, to_client_, client_));
  }

  void set(const Weather& weather) {
    to_server_.set(weather.to_server);
    to_client_.set(weather.to_client);
  }
  void close_both() { end(close); }
  void reset_both() { end(reset); }
  void half_open(Side gone) {
    half_open_ = true;
    gone_ = gone;
    if (!connected_) return;
    to_server_.forget_all();
    to_client_.forget_all();
    close(gone == Side::server ? server_ : client_);
  }
  bool deaf(bool on) {
    bool heard = true;
    for (auto* socket : {&client_, &server_}) {
      if (socket->is_open()) heard = set_deaf(socket->native_handle(), on) && heard;
    }
    to_server_.wake();
    to_client_.wake();
    return heard;
  }

 private:
  static void no_delay(Socket& socket) {
    Error not_tcp;
    socket.set_option(tcp::no_delay(true), not_tcp);
  }

  void spawn(Awaitable<void> work) {
    asio::co_spawn(client_.get_executor(), std::move(work), asio::detached);
  }

  Awaitable<void> feed(Self /*keeps it*/, Pipe& pipe, Side towards) {
    const auto error = co_await pipe.take_in(
        [this, towards](std::string_view bytes) { return cut_in(bytes, towards); });
    const auto& from = towards == Side::server ? client_ : server_;
    if (!error || !from.is_open()) co_return;                      // ended by ourselves
    if (half_open_ || !server_.is_open()) co_return close_both();  // nobody is left
    if (error != asio::error::eof && !pipe.dead()) reset_both();
  }

  Awaitable<void> drain(Self /*keeps it*/, Pipe& pipe, Socket& to) {
    const auto error = co_await pipe.hand_on();
    if (half_open_) co_return;
    if (!error) co_return close_both();
    if (error != asio::error::eof) co_return reset_both();
    Error ignored;
    to.shutdown(asio::socket_base::shutdown_send, ignored);
    if (std::exchange(one_ended_, true)) close_both();
  }

  /// Where the connection is to end within these bytes on their way towards that side.
  std::optional<std::size_t> cut_in(std::string_view bytes, Side towards) {
    const bool answers = towards == Side::client;
    auto& orders = answers ? orders_.to_client : orders_.to_server;
    const auto commits = answers ? watch_.from_server(bytes) : watch_.from_client(bytes);
    if (answers) orders_.commits_answered += commits.size();
    std::optional<std::size_t> cut;
    for (const auto at : commits) {
      if (orders.commits_left > 0 && --orders.commits_left == 0) cut = at;
    }
    const auto passing = std::min(orders.bytes_left, cut.value_or(bytes.size()));
    if (passing > 0 && (orders.bytes_left -= passing) == 0) cut = passing;
    if (cut) orders_.dropped += 1;
    return cut;
  }

  template <class Close>
  void end(Close how) {
    to_server_.stop();
    to_client_.stop();
    how(client_);
    how(server_);
  }

  Socket client_;
  Socket server_;
  Orders& orders_;
  CommitWatch watch_;
  Pipe to_server_{client_, server_, orders_, orders_.to_server};
  Pipe to_client_{server_, client_, orders_, orders_.to_client};
  bool connected_ = false;
  bool half_open_ = false;
  Side gone_ = Side::server;
  bool one_ended_ = false;  ///< one direction came to its end
};

Endpoint endpoint_of(asio::io_context& context, const std::string& host, unsigned short port) {
  if (host.rfind('/', 0) == 0) {
    return asio::local::stream_protocol::endpoint(host + "/.s.PGSQL." + std::to_string(port));
  }
  Error error;
  const auto found = tcp::resolver(context).resolve(host, std::to_string(port), error);
  if (error) throw std::runtime_error("host " + host + " of the server: " + error.message());
  return found.begin()->endpoint();
}

}  // namespace

// --- the proxy ----------------------------------------------------------------------------------

struct FaultProxy::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  Endpoint server;
  Orders orders;
  Weather coming;
  std::list<std::weak_ptr<Link>> links;
  // Bound, never listening: keeps the port ours while nobody listens on it.
  tcp::socket place{context};
  tcp::endpoint at;
  std::optional<tcp::acceptor> acceptor;
  std::jthread thread;

  Impl(const std::string& host, unsigned short port, std::uint64_t seed)
      : server(endpoint_of(context, host, port)) {
    orders.chance.seed(seed);
    open_for_us_alone(place, tcp::v4());
    place.set_option(tcp::socket::reuse_address(true));
    place.bind({asio::ip::address_v4::loopback(), 0});
    at = place.local_endpoint();
    listen();
    thread = std::jthread([this] { context.run(); });
  }

  void listen() {
    acceptor.emplace(context);
    open_for_us_alone(*acceptor, tcp::v4());
    acceptor->set_option(tcp::acceptor::reuse_address(true));
    acceptor->bind(at);
    acceptor->listen();
    acceptor->non_blocking(true);
    if (orders.deaf) set_deaf(acceptor->native_handle(), true);
    accept();
  }

  void accept() {
    acceptor->async_wait(tcp::acceptor::wait_read, [this](Error error) {
      if (error) return;
      const int fd = ::accept4(acceptor->native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) welcome(tcp::socket(context, tcp::v4(), fd));
      accept();
    });
  }

  void welcome(tcp::socket client) {
    links.remove_if([](const auto& link) { return link.expired(); });
    orders.accepted += 1;
    const auto link = std::make_shared<Link>(std::move(client), orders, coming);
    links.push_back(link);
    asio::co_spawn(context, link->run(link, server, coming.to_server.swallow), asio::detached);
  }

  template <class Act>
  void each_link(Act act) {
    for (const auto& weak : links) {
      if (const auto link = weak.lock()) act(*link);
    }
  }

  bool set_all_deaf(bool deaf) {
    orders.deaf = deaf;
    bool heard = !acceptor || set_deaf(acceptor->native_handle(), deaf);
    each_link([&](Link& link) { heard = link.deaf(deaf) && heard; });
    return heard;
  }

  /// On the proxy's thread; waits for it.
  template <class Act>
  void there(Act act) {
    std::promise<void> done;
    asio::post(context, [&] {
      act();
      done.set_value();
    });
    done.get_future().wait();
  }
};

FaultProxy::FaultProxy(const std::string& host, unsigned short port, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(host, port, seed)) {}

FaultProxy::~FaultProxy() {
  impl_->there([this] {
    impl_->acceptor.reset();
    impl_->each_link([](Link& link) { link.reset_both(); });
    impl_->work.reset();
  });
}

unsigned short FaultProxy::port() const {
  return impl_->at.port();
}

void FaultProxy::set(const Weather& weather, Connections which) {
  impl_->there([&] {
    if (which != Connections::existing) impl_->coming = weather;
    if (which != Connections::coming) impl_->each_link([&](Link& link) { link.set(weather); });
  });
}

void FaultProxy::refuse(bool on) {
  impl_->there([&] {
    if (on) impl_->acceptor.reset();
    if (!on && !impl_->acceptor) impl_->listen();
  });
}

void FaultProxy::close_connections() {
  impl_->there([this] { impl_->each_link([](Link& link) { link.close_both(); }); });
}

void FaultProxy::reset_connections() {
  impl_->there([this] { impl_->each_link([](Link& link) { link.reset_both(); }); });
}

void FaultProxy::half_open(Side gone) {
  impl_->there([&] { impl_->each_link([&](Link& link) { link.half_open(gone); }); });
}

bool FaultProxy::cut() {
  bool done = false;
  impl_->there([&] {
    done = impl_->set_all_deaf(true);
    if (!done) impl_->set_all_deaf(false);
  });
  return done;
}

void FaultProxy::fix() {
  impl_->there([this] { impl_->set_all_deaf(false); });
}

void FaultProxy::drop_at_byte(Side towards, std::size_t bytes) {
  impl_->there([&] {
    auto& orders = towards == Side::server ? impl_->orders.to_server : impl_->orders.to_client;
    orders.bytes_left = bytes;
  });
}

void FaultProxy::drop_commit(Side towards, unsigned n) {
  impl_->there([&] {
    auto& orders = towards == Side::server ? impl_->orders.to_server : impl_->orders.to_client;
    orders.commits_left = n;
  });
}

FaultProxy::Counts FaultProxy::counts() const {
  const auto& orders = impl_->orders;
  return {orders.accepted,         orders.open,   orders.to_server.bytes, orders.to_client.bytes,
          orders.commits_answered, orders.dropped};
}

}  // namespace seriatim::torture
