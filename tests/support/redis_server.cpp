#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>
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

const Need need([] { return why_missing("/usr/bin/redis-server", "redis-server"); });

constexpr milliseconds patience{60'000};

using Context = std::unique_ptr<redisContext, decltype(&redisFree)>;

Context connect_to(int port) {
  Context context(redisConnectWithTimeout("127.0.0.1", port, {5, 0}), redisFree);
  if (context && context->err == 0) redisSetTimeout(context.get(), {20, 0});
  return context;
}

RedisClient::Value value_of(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) throw std::runtime_error({reply.str, reply.len});
  RedisClient::Value value;
  if (reply.type == REDIS_REPLY_INTEGER) value.text = std::to_string(reply.integer);
  if (reply.str != nullptr) value.text = std::string(reply.str, reply.len);
  for (std::size_t i = 0; i < reply.elements; ++i) {
    value.items.push_back(value_of(*reply.element[i]));
  }
  return value;
}

void write_file(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

}  // namespace

struct RedisServer::Impl {
  Options options;
  TemporaryFolder folder;
  int port = free_port();
  pid_t pid = 0;

  fs::path file(const std::string& name) const { return folder.path() / name; }

  void prepare() const {
    fs::create_directory(file("data"));
    if (options.tls) {
      const CertificateAuthority authority;
      const auto own = authority.issue({{}, {"127.0.0.1"}});
      write_file(file("ca.pem"), authority.certificate());
      write_file(file("own.pem"), own.certificate);
      write_file(file("own.key"), own.key);
    }
    const auto account = embedded::server_account();  // no server runs as root
    if (account && ::chown(file("data").c_str(), account->uid, account->gid) != 0) {
      throw std::runtime_error("cannot give away " + file("data").string());
    }
  }

  std::vector<std::string> command() const {
    const auto number = std::to_string(port);
    std::vector<std::string> words{"/usr/bin/redis-server",
                                   "--bind",
                                   "127.0.0.1",
                                   "--dir",
                                   file("data").string(),
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   "always",
                                   "--save",
                                   "",
                                   "--port",
                                   options.tls ? "0" : number};
    if (options.tls) {
      words.insert(words.end(),
                   {"--tls-port", number, "--tls-auth-clients", "no", "--tls-ca-cert-file",
                    file("ca.pem").string(), "--tls-cert-file", file("own.pem").string(),
                    "--tls-key-file", file("own.key").string()});
    }
    words.insert(words.end(), options.settings.begin(), options.settings.end());
    return words;
  }

  /// Whatever it says: a server that wants a password answers too.
  bool answers() const {
    const auto context = connect_to(port);
    if (!context || context->err != 0) return false;
    if (options.tls) return true;
    const std::unique_ptr<void, decltype(&freeReplyObject)> reply(
        redisCommand(context.get(), "PING"), freeReplyObject);
    if (!reply) return false;
    const auto* said = static_cast<const redisReply*>(reply.get());
    return said->type != REDIS_REPLY_ERROR || std::string(said->str).find("LOADING") != 0;
  }

  void start() {
    pid = embedded::spawn(command(), embedded::server_account(), file("log"));
    wait_until(
        "redis-server answers", [this] { return answers() || ended(); }, patience);
    if (pid == 0) throw std::runtime_error("redis-server ended at once: " + log());
  }

  bool ended() {
    if (!embedded::wait_for(pid, milliseconds{0})) return false;
    pid = 0;
    return true;
  }

  std::string log() const {
    std::ifstream in(file("log"));
    return {std::istreambuf_iterator<char>(in), {}};
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

RedisServer::RedisServer() : RedisServer(Options{}) {}

RedisServer::RedisServer(Options options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->prepare();
  if (impl_->options.started) impl_->start();
}

RedisServer::~RedisServer() {
  impl_->end(SIGKILL);
}

void RedisServer::start() {
  impl_->start();
}
void RedisServer::stop() {
  impl_->end(SIGTERM);
}
void RedisServer::kill() {
  impl_->end(SIGKILL);
}
void RedisServer::freeze() {
  testing::freeze(impl_->pid);
}
void RedisServer::thaw() {
  ::kill(impl_->pid, SIGCONT);
}

int RedisServer::port() const {
  return impl_->port;
}

std::string RedisServer::url() const {
  return (impl_->options.tls ? "rediss" : "redis") + ("://127.0.0.1:" + std::to_string(port()));
}

std::string RedisServer::ca_file() const {
  return impl_->file("ca.pem").string();
}

struct RedisClient::Impl {
  Context context;
};

RedisClient::RedisClient(const RedisServer& server)
    : impl_(std::make_unique<Impl>(Impl{connect_to(server.port())})) {
  if (!impl_->context || impl_->context->err != 0) throw std::runtime_error("no Redis answers");
}
RedisClient::~RedisClient() = default;

RedisClient::Value RedisClient::run(const std::vector<std::string>& command) {
  std::vector<const char*> words;
  std::vector<std::size_t> sizes;
  for (const auto& word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  const std::unique_ptr<void, decltype(&freeReplyObject)> reply(
      redisCommandArgv(impl_->context.get(), static_cast<int>(words.size()), words.data(),
                       sizes.data()),
      freeReplyObject);
  if (!reply) throw std::runtime_error(std::string("Redis: ") + impl_->context->errstr);
  return value_of(*static_cast<const redisReply*>(reply.get()));
}

std::optional<std::string> RedisEntry::field(const std::string& name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<RedisEntry> entries_of(const RedisServer& server, const std::string& stream) {
  std::vector<RedisEntry> entries;
  for (const auto& found : RedisClient(server).run({"XRANGE", stream, "-", "+"}).items) {
    RedisEntry entry{found.items[0].str(), {}};
    const auto& words = found.items[1].items;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
      entry.fields.emplace_back(words[i].str(), words[i + 1].str());
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace seriatim::testing
