// The rabbitmq handler under the suite of all brokers, tests/contract.
#include <doctest/doctest.h>

#include <set>

#include "contract/broker_under_test.hpp"
#include "seriatim/handlers.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/rabbitmq_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

const std::set<std::string> names_of_ours{"id",
                                          "key",
                                          "event-type",
                                          "seriatim-process",
                                          "seriatim-lane",
                                          "seriatim-sequence",
                                          "seriatim-epoch",
                                          "seriatim-payload"};

std::optional<std::string> if_there(const RabbitmqMessage& message, const std::string& name) {
  for (const auto& [key, value] : message.headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

BrokerMessage message_of(const RabbitmqMessage& read) {
  BrokerMessage message{read.header("id"),
                        if_there(read, "key"),
                        if_there(read, "event-type"),
                        read.body,
                        {},
                        read.header("seriatim-process")};
  if (if_there(read, "seriatim-payload") == "null") message.payload.reset();
  message.sequence = std::stoull(read.header("seriatim-sequence"));
  message.epoch = std::stoull(read.header("seriatim-epoch"));
  for (const auto& header : read.headers) {
    if (names_of_ours.count(header.first) == 0) message.headers.push_back(header);
  }
  return message;
}

/// One server for all cases, for it takes seconds to start; a queue each.
class RabbitmqUnderTest final : public BrokerUnderTest {
 public:
  explicit RabbitmqUnderTest(RabbitmqServer& server) : server_(server) {
    static int number = 0;
    queue_ = "rows-" + std::to_string(++number);
    server_.thaw();
    server_.start();
    RabbitmqClient(server_).declare_queue(queue_);
    // What is declared lies in a buffer of the server at first, which kill -9 takes along.
    server_.control({"eval", "mnesia:sync_log()."});
  }

  const char* kind() const override { return "rabbitmq"; }
  HandlerOptions options() const override {
    return {{"url", server_.url()}, {"routing_key", queue_}};
  }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void kill() override { server_.kill(); }
  void freeze() override { server_.freeze(); }
  void thaw() override { server_.thaw(); }
  std::string refused_payload() const override { return std::string((1 << 20) + 1, 'x'); }
  std::vector<BrokerMessage> messages() override {
    std::vector<BrokerMessage> messages;
    for (const auto& read : RabbitmqClient(server_).messages(queue_)) {
      messages.push_back(message_of(read));
    }
    return messages;
  }
  std::size_t count() override { return RabbitmqClient(server_).count(queue_); }
  bool drops_repeats() const override { return false; }

 private:
  RabbitmqServer& server_;
  std::string queue_;
};

}  // namespace

TEST_CASE("rabbitmq keeps the handler contract") {
  static RabbitmqServer server({.settings = "max_message_size = 1048576\n"});
  keep_handler_contract(handlers::register_rabbitmq,
                        [] { return std::make_unique<RabbitmqUnderTest>(server); });
}
