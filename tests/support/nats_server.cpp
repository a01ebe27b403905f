#include "support/nats_server.hpp"

#include <nats/nats.h>

#include <stdexcept>

#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

const Need need([] { return why_missing("/usr/sbin/nats-server", "nats-server"); });

constexpr std::int64_t answer_ms = 60'000;

void check(const char* what, natsStatus status, int error = 0) {
  if (status == NATS_OK) return;
  throw std::runtime_error(std::string("NATS, ") + what + ": " + natsStatus_GetText(status) +
                           (error != 0 ? " " + std::to_string(error) : ""));
}

}  // namespace

NatsServer::NatsServer(Options options)
    : BrokerServer({.name = "nats-server"}), wanted_(std::move(options)) {
  if (wanted_.tls) certify({{"localhost"}, {}});
  set(wanted_.settings);
  if (wanted_.started) start();
}

void NatsServer::set(const std::string& settings) {
  std::string text = "listen: 127.0.0.1:" + std::to_string(port()) + "\njetstream { store_dir: \"" +
                     file("data").string() + "\", max_mem: 64M, max_file: 2G }\nmax_payload: 4M\n";
  if (wanted_.tls) {
    text += "tls { cert_file: \"" + file("own.pem").string() + "\", key_file: \"" +
            file("own.key").string() + "\" }\n";
  }
  write("server.conf", text + settings);
}

std::vector<std::string> NatsServer::command() const {
  return {"/usr/sbin/nats-server", "-c", file("server.conf").string()};
}

bool NatsServer::answers() {
  return says("Server is ready");
}

std::string NatsServer::url() const {
  return (wanted_.tls ? "tls://localhost:" : "nats://127.0.0.1:") + std::to_string(port());
}

std::string NatsStored::header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

struct NatsClient::Impl {
  std::string url;
  natsConnection* connection = nullptr;
  jsCtx* jetstream = nullptr;
  natsSubscription* subscription = nullptr;

  explicit Impl(std::string to) : url(std::move(to)) {
    check("connect", natsConnection_ConnectTo(&connection, url.c_str()));
    jsOptions options;
    jsOptions_Init(&options);
    options.Wait = answer_ms;
    check("jetstream", natsConnection_JetStream(&jetstream, connection, &options));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// The subscription outlives what is delivered to it: before libnats 3.6 a message that comes
  /// while it is destroyed is written into freed memory (nats.c issue 637).
  ~Impl() {
    natsConnection_Close(connection);
    natsSubscription_Destroy(subscription);
    jsCtx_Destroy(jetstream);
    natsConnection_Destroy(connection);
  }

  std::uint64_t last(const std::string& stream, std::uint64_t& count) const {
    jsStreamInfo* info = nullptr;
    jsErrCode error = static_cast<jsErrCode>(0);
    check("stream info", js_GetStreamInfo(&info, jetstream, stream.c_str(), nullptr, &error),
          error);
    count = info->State.Msgs;
    const auto last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    return last;
  }
};

NatsClient::NatsClient(const NatsServer& server) : impl_(std::make_unique<Impl>(server.url())) {}
NatsClient::~NatsClient() = default;

void NatsClient::add_stream(const std::string& stream, const std::string& subjects) {
  add_stream(stream, subjects, StreamOptions{});
}

void NatsClient::add_stream(const std::string& stream, const std::string& subjects,
                            const StreamOptions& options) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const char* subject = subjects.c_str();
  config.Name = stream.c_str();
  config.Subjects = &subject;
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  config.MaxMsgs = options.messages_max;
  config.MaxMsgSize = options.message_bytes_max;
  if (options.discard_new) config.Discard = js_DiscardNew;
  jsErrCode error = static_cast<jsErrCode>(0);
  check("add stream", js_AddStream(nullptr, impl_->jetstream, &config, nullptr, &error), error);
}

void NatsClient::purge(const std::string& stream) {
  jsErrCode error = static_cast<jsErrCode>(0);
  check("purge", js_PurgeStream(impl_->jetstream, stream.c_str(), nullptr, &error), error);
}

void NatsClient::delete_stream(const std::string& stream) {
  jsErrCode error = static_cast<jsErrCode>(0);
  check("delete", js_DeleteStream(impl_->jetstream, stream.c_str(), nullptr, &error), error);
}

void NatsClient::publish(const std::string& subject, const std::string& body) {
  jsErrCode error = static_cast<jsErrCode>(0);
  check("publish",
        js_Publish(nullptr, impl_->jetstream, subject.c_str(), body.data(),
                   static_cast<int>(body.size()), nullptr, &error),
        error);
}

std::size_t NatsClient::count(const std::string& stream) {
  std::uint64_t count = 0;
  (void)impl_->last(stream, count);
  return count;
}

void NatsClient::listen(const std::string& subjects) {
  check("listen",
        natsConnection_SubscribeSync(&impl_->subscription, impl_->connection, subjects.c_str()));
  check("listen", natsSubscription_SetPendingLimits(impl_->subscription, -1, -1));
  check("listen", natsConnection_FlushTimeout(impl_->connection, answer_ms));
}

std::size_t NatsClient::heard() {
  check("heard", natsConnection_FlushTimeout(impl_->connection, answer_ms));
  int heard = 0;
  check("heard", natsSubscription_GetPending(impl_->subscription, &heard, nullptr));
  return static_cast<std::size_t>(heard);
}

namespace {

NatsStored stored_of(natsMsg* message) {
  NatsStored stored{
      0,
      natsMsg_GetSubject(message),
      {natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message))},
      {}};
  const char** names = nullptr;
  int count = 0;
  if (natsMsgHeader_Keys(message, &names, &count) == NATS_OK) {
    for (int i = 0; i < count; ++i) {
      const char* value = nullptr;
      check("header", natsMsgHeader_Get(message, names[i], &value));
      stored.headers.emplace_back(names[i], value);
    }
    free(names);
  }
  jsMsgMetaData* about = nullptr;
  check("metadata", natsMsg_GetMetaData(&about, message));
  stored.sequence = about->Sequence.Stream;
  jsMsgMetaData_Destroy(about);
  return stored;
}

}  // namespace

std::vector<NatsStored> NatsClient::messages(const std::string& stream) {
  std::uint64_t expected = 0;
  (void)impl_->last(stream, expected);
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream.c_str();
  options.Config.AckPolicy = js_AckNone;
  options.Config.DeliverPolicy = js_DeliverAll;
  Impl reader(impl_->url);
  auto*& rows = reader.subscription;
  jsErrCode error = static_cast<jsErrCode>(0);
  check("read", js_SubscribeSync(&rows, reader.jetstream, ">", nullptr, &options, &error), error);
  check("read", natsSubscription_SetPendingLimits(rows, -1, -1));
  std::vector<NatsStored> messages;
  while (messages.size() < expected) {
    natsMsg* message = nullptr;
    check("read", natsSubscription_NextMsg(&message, rows, answer_ms));
    messages.push_back(stored_of(message));
    natsMsg_Destroy(message);
  }
  return messages;
}

}  // namespace seriatim::testing
