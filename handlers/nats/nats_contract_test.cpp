// The nats handler under the suite of all brokers, tests/contract.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "contract/broker_under_test.hpp"
#include "seriatim/handlers.hpp"
#include "support/nats_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

constexpr const char* stream = "ROWS";

const std::set<std::string> names_of_ours{"Nats-Msg-Id",
                                          "Nats-Expected-Last-Msg-Id",
                                          "id",
                                          "key",
                                          "event-type",
                                          "content-type",
                                          "seriatim-lane",
                                          "seriatim-process",
                                          "seriatim-sequence",
                                          "seriatim-epoch",
                                          "seriatim-payload"};

std::optional<std::string> if_there(const NatsStored& message, const std::string& name) {
  for (const auto& [key, value] : message.headers) {
    if (key == name) return value;
  }
  return std::nullopt;
}

BrokerMessage message_of(const NatsStored& read) {
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
  // The library keeps them in a table of its own order.
  std::sort(message.headers.begin(), message.headers.end());
  return message;
}

class NatsUnderTest final : public BrokerUnderTest {
 public:
  NatsUnderTest() { NatsClient(server_).add_stream(stream, "p.>", {.message_bytes_max = 2 << 20}); }
  const char* kind() const override { return "nats"; }
  HandlerOptions options() const override { return {{"url", server_.url()}}; }
  void start() override { server_.start(); }
  void stop() override { server_.stop(); }
  void kill() override { server_.kill(); }
  void freeze() override { server_.freeze(); }
  void thaw() override { server_.thaw(); }
  std::string refused_payload() const override { return std::string((2 << 20) + 1, 'x'); }
  std::vector<BrokerMessage> messages() override {
    std::vector<BrokerMessage> messages;
    for (const auto& read : NatsClient(server_).messages(stream)) {
      messages.push_back(message_of(read));
    }
    return messages;
  }
  std::size_t count() override { return NatsClient(server_).count(stream); }
  bool drops_repeats() const override { return true; }

 private:
  NatsServer server_;
};

}  // namespace

TEST_CASE("nats keeps the handler contract") {
  keep_handler_contract(handlers::register_nats, [] { return std::make_unique<NatsUnderTest>(); });
}
