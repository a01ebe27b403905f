#include "support/nats_server.hpp"

#include <nats/nats.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "embedded/child_process.hpp"
#include "support/certificates.hpp"
#include "support/free_port.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace seriatim::testing {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

const Need need([] { return why_missing("/usr/sbin/nats-server", "nats-server"); });

constexpr milliseconds patience{60'000};
constexpr std::int64_t answer_ms = 60'000;

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void check(const char* what, natsStatus status, int error = 0) {
  if (status == NATS_OK) return;
  throw std::runtime_error(std::string("NATS, ") + what + ": " + natsStatus_GetText(status) +
                           (error != 0 ? " " + std::to_string(error) : ""));
}

}  // namespace

struct NatsServer::Impl {
  Options options;
  TemporaryFolder folder;
  int port = free_port();
  pid_t pid = 0;

  fs::path file(const std::string& name) const { return folder.path() / name; }

  void prepare() const {
    fs::create_directory(file("data"));
    if (options.tls) {
      const CertificateAuthority authority;
      const auto own = authority.issue({{"localhost"}, {}});
      write_file(file("ca.pem"), authority.certificate());
      write_file(file("own.pem"), own.certificate);
      write_file(file("own.key"), own.key);
    }
    configure();
    const auto account = embedded::server_account();  // no server runs as root
    if (account && ::chown(file("data").c_str(), account->uid, account->gid) != 0) {
      throw std::runtime_error("cannot give away " + file("data").string());
    }
  }

  void configure() const {
    std::string text = "listen: 127.0.0.1:" + std::to_string(port) + "\njetstream { store_dir: \"" +
                       file("data").string() +
                       "\", max_mem: 64M, max_file: 2G }\nmax_payload: 4M\n";
    if (options.tls) {
      text += "tls { cert_file: \"" + file("own.pem").string() + "\", key_file: \"" +
              file("own.key").string() + "\" }\n";
    }
    write_file(file("server.conf"), text + options.settings);
  }

  void start() {
    const auto said = fs::exists(file("log")) ? fs::file_size(file("log")) : 0;
    pid = embedded::spawn({"/usr/sbin/nats-server", "-c", file("server.conf").string()},
                          embedded::server_account(), file("log"));
    wait_until(
        "nats-server is ready; its log: " + file("log").string(),
        [&] {
          return ended() || text_of(file("log")).find("Server is ready", said) != std::string::npos;
        },
        patience);
    if (pid == 0) throw std::runtime_error("nats-server ended at once: " + text_of(file("log")));
  }

  bool ended() {
    if (!embedded::wait_for(pid, milliseconds{0})) return false;
    pid = 0;
    return true;
  }

  void end(int signal) {
    if (pid == 0) return;
    ::kill(pid, SIGCONT);
    ::kill(pid, signal);
    if (!embedded::wait_for(pid, patience)) {
      ::kill(pid, SIGKILL);
      (void)embedded::wait_for(pid, patience);
    }
    pid = 0;
  }
};

NatsServer::NatsServer() : NatsServer(Options{}) {}

NatsServer::NatsServer(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->prepare();
  if (impl_->options.started) impl_->start();
}

NatsServer::~NatsServer() {
  impl_->end(SIGKILL);
}

void NatsServer::start() {
  impl_->start();
}
void NatsServer::stop() {
  impl_->end(SIGTERM);
}
void NatsServer::kill() {
  impl_->end(SIGKILL);
}
void NatsServer::freeze() {
  testing::freeze(impl_->pid);
}
void NatsServer::thaw() {
  ::kill(impl_->pid, SIGCONT);
}
void NatsServer::set(const std::string& settings) {
  impl_->options.settings = settings;
  impl_->configure();
}

int NatsServer::port() const {
  return impl_->port;
}

std::string NatsServer::url() const {
  return (impl_->options.tls ? "tls://localhost:" : "nats://127.0.0.1:") + std::to_string(port());
}

std::string NatsServer::ca_file() const {
  return impl_->file("ca.pem").string();
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
