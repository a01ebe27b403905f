#include "nats/nats_connection.hpp"

#include <nats/nats.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

using std::chrono::milliseconds;

// A server that reads nothing more must not hold a call for long.
constexpr milliseconds write_limit{2'000};
// How soon a refusal that comes without an answer is noticed.
constexpr milliseconds glance{100};

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* object) const { destroy(object); }
};
using NatsOptions = std::unique_ptr<natsOptions, Destroy<natsOptions, natsOptions_Destroy>>;
using Message = std::unique_ptr<natsMsg, Destroy<natsMsg, natsMsg_Destroy>>;
using Subscription =
    std::unique_ptr<natsSubscription, Destroy<natsSubscription, natsSubscription_Destroy>>;
using Inbox = std::unique_ptr<natsInbox, Destroy<natsInbox, natsInbox_Destroy>>;
using Handle = std::unique_ptr<natsConnection, Destroy<natsConnection, natsConnection_Destroy>>;

/// A call of the library that failed.
struct Failed {
  natsStatus status;
  std::string what;
};

void check(natsStatus status) {
  if (status == NATS_OK) return;
  const char* details = nats_GetLastError(nullptr);
  std::string what = natsStatus_GetText(status);
  if (details != nullptr && *details != '\0' && what != details) {
    what += std::string(": ") + details;
  }
  throw Failed{status, std::move(what)};
}

void say_nothing(natsConnection*, natsSubscription*, natsStatus, void*) {
}  // else it prints on stderr

std::int64_t left_ms(NatsConnection::Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - NatsConnection::Clock::now());
  return std::max<std::int64_t>(left.count(), 1);
}

NatsOptions options_of(const NatsHandlerConfig& config) {
  natsOptions* made = nullptr;
  check(natsOptions_Create(&made));
  NatsOptions options(made);
  auto* o = options.get();
  check(natsOptions_SetName(o, "seriatim"));
  check(natsOptions_SetAllowReconnect(o, false));
  check(natsOptions_SetNoRandomize(o, true));
  check(natsOptions_SetErrorHandler(o, say_nothing, nullptr));
  check(natsOptions_SetWriteDeadline(o, write_limit.count()));
  if (!config.username.empty()) {
    check(natsOptions_SetUserInfo(o, config.username.c_str(), config.password.c_str()));
  }
  if (!config.token.empty()) check(natsOptions_SetToken(o, config.token.c_str()));
  if (!config.credentials_file.empty()) {
    check(natsOptions_SetUserCredentialsFromFiles(o, config.credentials_file.c_str(), nullptr));
  }
  if (!config.place.tls) return options;
  check(natsOptions_SetSecure(o, true));
  check(natsOptions_SetExpectedHostname(o, config.place.name().c_str()));
  if (!config.ca_file.empty()) {
    check(natsOptions_LoadCATrustedCertificates(o, config.ca_file.c_str()));
  }
  return options;
}

void set_places(natsOptions* options, const Url& place, const std::vector<std::string>& addresses) {
  std::vector<std::string> urls;
  std::vector<const char*> pointers;
  for (const auto& address : addresses) {
    const bool six = address.find(':') != std::string::npos;
    urls.push_back("nats://" + (six ? '[' + address + ']' : address) + ':' + place.port);
  }
  for (const auto& url : urls) pointers.push_back(url.c_str());
  check(natsOptions_SetServers(options, pointers.data(), static_cast<int>(pointers.size())));
}

}  // namespace

class NatsConnection::Impl {
 public:
  explicit Impl(natsOptions* options) {
    natsConnection* connection = nullptr;
    check(natsConnection_Connect(&connection, options));
    connection_.reset(connection);
    natsInbox* inbox = nullptr;
    check(natsInbox_Create(&inbox));
    inbox_ = std::string(Inbox(inbox).get()) + '.';
    natsSubscription* answers = nullptr;
    check(natsConnection_SubscribeSync(&answers, connection, (inbox_ + '*').c_str()));
    answers_.reset(answers);
  }
  ~Impl() {
    natsConnection_Close(connection_.get());  // before the subscription: nothing more is delivered
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] bool is_open() const {
    return natsConnection_Status(connection_.get()) == NATS_CONN_STATUS_CONNECTED;
  }

  void publish(const NatsMessage& message) {
    const auto body = message.body.bytes().value_or("");
    const auto reply = inbox_ + std::to_string(first_ + published_);
    natsMsg* made = nullptr;
    check(natsMsg_Create(&made, message.subject.c_str(), reply.c_str(), body.data(),
                         static_cast<int>(body.size())));
    used_.emplace_back(made);
    for (const auto& [name, value] : message.headers) {
      check(natsMsgHeader_Add(made, name.c_str(), value.c_str()));
    }
    const auto status = natsConnection_PublishMsg(connection_.get(), made);
    if (status == NATS_MAX_PAYLOAD) {
      throw CannotRender("larger than the server's max_payload, " +
                         std::to_string(natsConnection_GetMaxPayload(connection_.get())) +
                         " bytes with headers");
    }
    published_ += 1;
    if (status != NATS_OK && failure_.empty()) failure_ = natsStatus_GetText(status);
  }

  NatsReport collect(Clock::time_point deadline) {
    NatsReport report;
    report.acks.resize(published_);
    if (failure_.empty()) {
      try {
        check(natsConnection_FlushTimeout(connection_.get(), left_ms(deadline)));
        take_answers(report, deadline);
      } catch (const Failed& failed) {
        failure_ = failed.status == NATS_TIMEOUT ? "no answer in time" : failed.what;
      }
    }
    report.failure = failure_;
    first_ += published_;
    published_ = 0;
    used_.clear();
    return report;
  }

 private:
  void take_answers(NatsReport& report, Clock::time_point deadline) {
    std::size_t answered = 0;
    while (answered < report.acks.size()) {
      natsMsg* found = nullptr;
      const auto wait = std::min(left_ms(deadline), std::int64_t{glance.count()});
      const auto status = natsSubscription_NextMsg(&found, answers_.get(), wait);
      if (status == NATS_OK) {
        used_.emplace_back(found);
        answered += take(found, report) ? 1 : 0;
      } else if (status == NATS_NO_RESPONDERS) {
        report.without_stream += 1;
        answered += 1;
      } else if (status != NATS_TIMEOUT) {
        check(status);
      } else if (is_denied(report)) {
        return;
      } else if (Clock::now() >= deadline) {
        failure_ = "no acknowledgement in time (does a stream take this subject?)";
        return;
      }
    }
  }

  /// By the number at the end of the subject.
  bool take(const natsMsg* message, NatsReport& report) const {
    const std::string_view subject = natsMsg_GetSubject(message);
    std::uint64_t number = 0;
    const auto digits = subject.substr(std::min(inbox_.size(), subject.size()));
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number < first_ || number - first_ >= report.acks.size()) return false;
    auto& ack = report.acks[number - first_];
    if (ack) return false;
    ack = parse_publish_ack(
        {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))});
    return true;
  }

  bool is_denied(NatsReport& report) {
    const char* text = nullptr;
    if (natsConnection_GetLastError(connection_.get(), &text) != NATS_NOT_PERMITTED) return false;
    report.denied = true;
    failure_ = text != nullptr ? text : "not permitted";
    return true;
  }

  Handle connection_;
  Subscription answers_;
  std::string inbox_;
  std::uint64_t first_ = 0;    ///< number of the first message since the last `collect`
  std::size_t published_ = 0;  ///< since then
  /// Freed together: libnats 3.4 hands each to a thread that frees, and wakes it where it sleeps.
  /// One by one that was 28 % of a publishing thread's CPU, and twice the context switches.
  std::vector<Message> used_;
  std::string failure_;  ///< then nothing more is expected of this connection
};

NatsConnection::NatsConnection(const NatsHandlerConfig& config) : config_(config) {}
NatsConnection::~NatsConnection() = default;

bool NatsConnection::is_open() const {
  return impl_ != nullptr && impl_->is_open();
}

void NatsConnection::close() {
  impl_.reset();
}

std::string NatsConnection::open(Clock::time_point deadline) {
  close();
  const auto origin = config_.place.origin() + ": ";
  deadline = std::min(deadline, Clock::now() + config_.connect_timeout);
  std::vector<std::string> addresses{config_.place.host};
  if (config_.place.host_kind == Url::HostKind::name) {
    auto found = resolver_.resolve(config_.place.name(), deadline);
    if (const auto* failure = std::get_if<Resolver::Failure>(&found)) return origin + failure->what;
    addresses = std::get<std::vector<std::string>>(std::move(found));
  }
  try {
    const auto options = options_of(config_);
    set_places(options.get(), config_.place, addresses);
    const auto share = left_ms(deadline) / static_cast<std::int64_t>(addresses.size());
    check(natsOptions_SetTimeout(options.get(), std::max<std::int64_t>(share, 1)));
    impl_ = std::make_unique<Impl>(options.get());
  } catch (const Failed& failed) {
    return origin + failed.what;
  }
  return {};
}

void NatsConnection::publish(const NatsMessage& message) {
  try {
    impl_->publish(message);
  } catch (const Failed& failed) {
    throw CannotRender("the message cannot be made: " + failed.what);
  }
}

NatsReport NatsConnection::collect(Clock::time_point deadline) {
  auto report = impl_->collect(deadline);
  if (report.failure.empty()) return report;
  report.failure.insert(0, config_.place.origin() + ": ");
  close();
  return report;
}

}  // namespace seriatim::handlers
