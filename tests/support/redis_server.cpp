#include "support/redis_server.hpp"

#include <hiredis/hiredis.h>

#include <stdexcept>

#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

const Need need([] { return why_missing("/usr/bin/redis-server", "redis-server"); });

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

}  // namespace

RedisServer::RedisServer(Options options)
    : BrokerServer({.name = "redis-server"}), wanted_(std::move(options)) {
  if (wanted_.tls) certify({{}, {"127.0.0.1"}});
  if (wanted_.started) start();
}

std::vector<std::string> RedisServer::command() const {
  const auto number = std::to_string(port());
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
                                 wanted_.tls ? "0" : number};
  if (wanted_.tls) {
    words.insert(
        words.end(),
        {"--tls-port", number, "--tls-auth-clients", "no", "--tls-ca-cert-file", ca_file(),
         "--tls-cert-file", file("own.pem").string(), "--tls-key-file", file("own.key").string()});
  }
  words.insert(words.end(), wanted_.settings.begin(), wanted_.settings.end());
  return words;
}

/// Whatever it says: a server that wants a password answers too.
bool RedisServer::answers() {
  const auto context = connect_to(port());
  if (!context || context->err != 0) return false;
  if (wanted_.tls) return true;
  const std::unique_ptr<void, decltype(&freeReplyObject)> reply(redisCommand(context.get(), "PING"),
                                                                freeReplyObject);
  if (!reply) return false;
  const auto* said = static_cast<const redisReply*>(reply.get());
  return said->type != REDIS_REPLY_ERROR || std::string(said->str).find("LOADING") != 0;
}

std::string RedisServer::url() const {
  return (wanted_.tls ? "rediss" : "redis") + ("://127.0.0.1:" + std::to_string(port()));
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
