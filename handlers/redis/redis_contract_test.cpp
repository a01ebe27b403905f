// The redis handler under the suite of all brokers, tests/contract.
#include <doctest/doctest.h>

#include <string_view>

#include "contract/broker_under_test.hpp"
#include "seriatim/handlers.hpp"
#include "support/redis_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

constexpr const char* stream = "p:0";

BrokerMessage message_of(const RedisEntry& entry) {
  constexpr std::string_view header = "header:";
  BrokerMessage message{entry.field("id").value(),
                        entry.field("key"),
                        entry.field("event-type"),
                        entry.field("payload"),
                        {},
                        entry.field("seriatim-process").value()};
  message.sequence = std::stoull(entry.field("seriatim-sequence").value());
  message.epoch = std::stoull(entry.field("seriatim-epoch").value());
  for (const auto& [name, value] : entry.fields) {
    if (name.starts_with(header)) message.headers.emplace_back(name.substr(header.size()), value);
  }
  return message;
}

class RedisUnderTest final : public BrokerUnderTest {
 public:
  const char* kind() const override { return "redis"; }
  HandlerOptions options() const override { return {{"url", server_.url()}}; }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void kill() override { server_.kill(); }
  void freeze() override { server_.freeze(); }
  void thaw() override { server_.thaw(); }
  std::string refused_payload() const override { return std::string((1 << 20) + 1, 'x'); }
  std::vector<BrokerMessage> messages() override {
    std::vector<BrokerMessage> messages;
    for (const auto& entry : entries_of(server_, stream)) messages.push_back(message_of(entry));
    return messages;
  }
  std::size_t count() override {
    return std::stoull(RedisClient(server_).run({"XLEN", stream}).str());
  }
  bool drops_repeats() const override { return true; }

 private:
  RedisServer server_{{.settings = {"--proto-max-bulk-len", "1mb"}}};
};

}  // namespace

TEST_CASE("redis keeps the handler contract") {
  keep_handler_contract(handlers::register_redis,
                        [] { return std::make_unique<RedisUnderTest>(); });
}
