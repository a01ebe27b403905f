#include "lab/torture/receiver.hpp"

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <unordered_set>

namespace seriatim::torture {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Parser = http::request_parser<http::string_body>;
using Response = http::response<http::string_body>;
using std::chrono::microseconds;

namespace {

constexpr std::size_t body_bytes_max = 1 << 20;
constexpr std::size_t connections_max = 512;

enum class Answer { accept, refuse, ignore, accept_and_lose };

/// What to do about a call, and how long it takes.
struct Plan {
  Answer answer = Answer::accept;
  microseconds takes{0};
};

template <class Number>
Number number_in(const http::fields& fields, const char* name, Number absent) {
  const auto text = fields[name];
  Number value = absent;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Call call_from(const http::request<http::string_body>& request) {
  Call call;
  const auto key = request["Idempotency-Key"];
  const auto colon = key.rfind(':');
  if (colon != beast::string_view::npos) {
    std::from_chars(key.data() + colon + 1, key.data() + key.size(), call.id);
  }
  call.lane = number_in<unsigned>(request, "Seriatim-Lane", 0);
  call.previous_id = number_in<std::int64_t>(request, "Seriatim-Previous-Id", -1);
  call.sequence = number_in<std::uint64_t>(request, "Seriatim-Sequence", 0);
  call.epoch = number_in<std::uint64_t>(request, "Seriatim-Epoch", 0);
  call.attempt = number_in<unsigned>(request, "Seriatim-Attempt", 0);
  call.body = hash_of(request.body());
  return call;
}

/// What one stream's calls did. Guarded by Impl::mutex.
struct Log {
  std::vector<Call> calls;
  std::unordered_set<std::int64_t> delivered;
  std::map<unsigned, std::size_t> answers_lost;
};

}  // namespace

struct Receiver::Impl {
  explicit Impl(const Options& o) : options(o), random(o.seed), logs(o.streams) {}

  Plan draw();
  std::size_t begin(unsigned stream, const Call& call, const Plan& plan);
  void end(unsigned stream, std::size_t number);
  void accept();

  const Options options;
  std::mt19937_64 random;  ///< of the receiver's thread
  mutable std::mutex mutex;
  std::vector<Log> logs;
  std::size_t connections = 0;
  std::size_t held = 0;
  std::atomic<std::size_t> answered = 0;
  bool holding = false;
  bool refusing = false;

  asio::io_context context;
  asio::steady_timer release{context, asio::steady_timer::time_point::max()};
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::jthread thread;

  class Connection;
};

Plan Receiver::Impl::draw() {
  const auto one_in = [&](unsigned n) {
    return std::uniform_int_distribution(0U, n - 1)(random) == 0;
  };
  const auto up_to = [&](int most) {
    return microseconds(std::uniform_int_distribution(0, most)(random));
  };
  Plan plan;
  if (one_in(10)) plan.takes = up_to(3'000);
  if (one_in(150)) plan.takes = up_to(40'000);
  if (one_in(60)) plan.answer = Answer::refuse;
  if (one_in(5'000)) plan.answer = Answer::ignore;
  if (options.loses_answers && one_in(1'500)) plan.answer = Answer::accept_and_lose;
  return plan;
}

std::size_t Receiver::Impl::begin(unsigned stream, const Call& call, const Plan& plan) {
  const std::scoped_lock guard(mutex);
  auto& log = logs[stream];
  log.calls.push_back(call);
  auto& noted = log.calls.back();
  noted.begun = noted.ended = monotonic_now();
  noted.accepted = plan.answer == Answer::accept || plan.answer == Answer::accept_and_lose;
  if (noted.accepted) log.delivered.insert(noted.id);
  if (plan.answer == Answer::accept_and_lose) log.answers_lost[noted.lane] += 1;
  if (holding) held += 1;
  return log.calls.size() - 1;
}

void Receiver::Impl::end(unsigned stream, std::size_t number) {
  const std::scoped_lock guard(mutex);
  logs[stream].calls[number].ended = monotonic_now();
  answered += 1;
}

/// One connection: read, note, take the time drawn, answer, again.
class Receiver::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Impl& owner)
      : stream_(std::move(socket)), timer_(owner.context), owner_(owner) {
    beast::error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
    owner_.connections += 1;
  }
  ~Connection() { owner_.connections -= 1; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->body_limit(body_bytes_max);
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](beast::error_code error, std::size_t) {
                       if (!error) self->begin();
                     });
  }

 private:
  void begin() {
    const auto& request = parser_->get();
    const auto path = request.target();
    unsigned stream = 0;
    std::from_chars(path.data() + 1, path.data() + path.size(), stream);
    if (stream >= owner_.logs.size()) return;
    stream_number_ = stream;
    plan_ = owner_.draw();
    bool waits = false;
    {
      const std::scoped_lock guard(owner_.mutex);
      waits = owner_.holding;
      if (owner_.refusing) plan_.answer = Answer::refuse;
    }
    if (waits) plan_ = {};
    number_ = owner_.begin(stream, call_from(request), plan_);
    if (waits) {
      owner_.release.async_wait([self = shared_from_this()](beast::error_code) { self->end(); });
    } else if (plan_.takes.count() > 0) {
      timer_.expires_after(plan_.takes);
      timer_.async_wait([self = shared_from_this()](beast::error_code) { self->end(); });
    } else {
      end();
    }
  }

  void end() {
    owner_.end(stream_number_, number_);
    if (plan_.answer == Answer::ignore || plan_.answer == Answer::accept_and_lose) {
      timer_.expires_after(owner_.options.silence);
      timer_.async_wait([self = shared_from_this()](beast::error_code) {});
      return;  // and the connection ends
    }
    response_ = {
        plan_.answer == Answer::refuse ? http::status::internal_server_error : http::status::ok,
        parser_->get().version()};
    response_.keep_alive(parser_->get().keep_alive());
    response_.prepare_payload();
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->read();
                      });
  }

  beast::tcp_stream stream_;
  asio::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Response response_;
  Plan plan_;
  unsigned stream_number_ = 0;
  std::size_t number_ = 0;
  Impl& owner_;
};

void Receiver::Impl::accept() {
  acceptor.async_accept([this](beast::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error && connections < connections_max) {
      std::make_shared<Connection>(std::move(socket), *this)->read();
    }
    accept();
  });
}

Receiver::Receiver(const Options& options) : impl_(std::make_unique<Impl>(options)) {
  impl_->accept();
  impl_->thread = std::jthread([this] { impl_->context.run(); });
}

Receiver::~Receiver() {
  impl_->context.stop();
  impl_->thread.join();
}

std::uint16_t Receiver::port() const {
  return impl_->acceptor.local_endpoint().port();
}

void Receiver::hold(bool held) {
  const std::scoped_lock guard(impl_->mutex);
  impl_->holding = held;
  impl_->held = 0;
  if (!held) asio::post(impl_->context, [this] { impl_->release.cancel(); });
}

std::size_t Receiver::held_calls() const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->held;
}

void Receiver::refuse_all(bool refusing) {
  const std::scoped_lock guard(impl_->mutex);
  impl_->refusing = refusing;
}

std::vector<Call> Receiver::calls(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].calls;
}

std::size_t Receiver::delivered(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].delivered.size();
}

std::size_t Receiver::call_count() const {
  const std::scoped_lock guard(impl_->mutex);
  std::size_t count = 0;
  for (const auto& log : impl_->logs) count += log.calls.size();
  return count;
}

std::size_t Receiver::answered() const {
  return impl_->answered;
}

std::map<unsigned, std::size_t> Receiver::answers_lost(unsigned stream) const {
  const std::scoped_lock guard(impl_->mutex);
  return impl_->logs[stream].answers_lost;
}

std::int64_t monotonic_now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace seriatim::torture
