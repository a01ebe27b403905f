// The nats handler's batch form next to a loop of js_PublishMsgAsync through libnats, with the same
// headers, into a stream on disk of the same server: bench/run --only handlers. Figures:
// handlers/nats/README.md.
#include <doctest/doctest.h>
#include <nats/nats.h>

#include "handler_rate.hpp"
#include "seriatim/handlers.hpp"
#include "support/nats_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

class BrokerOnPort final : public BrokerUnderTest {
 public:
  explicit BrokerOnPort(const NatsServer& server) : server_(server) {}
  const char* kind() const override { return "nats"; }
  HandlerOptions options() const override { return {{"url", server_.url()}}; }
  void start() override {}
  void stop() override {}
  void kill() override {}
  void freeze() override {}
  void thaw() override {}
  std::string refused_payload() const override { return {}; }
  std::vector<BrokerMessage> messages() override { return {}; }
  bool drops_repeats() const override { return true; }

 private:
  const NatsServer& server_;
};

class RawPublisher {
 public:
  explicit RawPublisher(const NatsServer& server) {
    REQUIRE(natsConnection_ConnectTo(&connection_, server.url().c_str()) == NATS_OK);
    REQUIRE(natsConnection_JetStream(&jetstream_, connection_, nullptr) == NATS_OK);
  }
  ~RawPublisher() {
    jsCtx_Destroy(jetstream_);
    natsConnection_Destroy(connection_);
  }
  RawPublisher(const RawPublisher&) = delete;
  RawPublisher& operator=(const RawPublisher&) = delete;

  void send(std::span<const Record> batch) {
    for (const auto& row : batch) publish(row);
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = 10'000;
    REQUIRE(js_PublishAsyncComplete(jetstream_, &options) == NATS_OK);
  }

 private:
  void publish(const Record& row) {
    natsMsg* message = nullptr;
    REQUIRE(natsMsg_Create(&message, "raw.0", nullptr, row.payload->data(),
                           static_cast<int>(row.payload->size())) == NATS_OK);
    const auto number = std::to_string(row.sequence);
    // Its rows have the ids of the handler's; "raw" keeps them from being taken for repeats.
    const std::vector<Header> headers{{"Nats-Msg-Id", "raw:" + row.id()},
                                      {"id", row.id()},
                                      {"event-type", *row.event_type},
                                      {"key", *row.key},
                                      {"content-type", "application/json"},
                                      {"seriatim-process", row.process},
                                      {"seriatim-lane", std::to_string(row.lane)},
                                      {"seriatim-sequence", number},
                                      {"seriatim-epoch", std::to_string(row.epoch)}};
    for (const auto& [name, value] : headers) {
      REQUIRE(natsMsgHeader_Add(message, name.c_str(), value.c_str()) == NATS_OK);
    }
    REQUIRE(js_PublishMsgAsync(jetstream_, &message, nullptr) == NATS_OK);
    natsMsg_Destroy(message);
  }

  natsConnection* connection_ = nullptr;
  jsCtx* jetstream_ = nullptr;
};

/// No row is a repeat: the ids of each turn are its own.
SendBatch with_own_ids(const SendBatch& send) {
  return [send](std::span<const Record> batch) {
    std::vector<Record> rows(batch.begin(), batch.end());
    for (auto& row : rows) row.position.id = std::to_string(row.sequence);
    send(rows);
  };
}

}  // namespace

TEST_CASE("nats") {
  for (const std::size_t payload_bytes : {200UL, 2'000UL}) {
    for (const std::size_t batch_rows : {100UL, 1'000UL}) {
      const NatsServer server;
      NatsClient(server).add_stream("ROWS", "p.>");
      NatsClient(server).add_stream("RAW", "raw.>");
      const auto handler = make_handler(handlers::register_nats, BrokerOnPort(server));
      RawPublisher raw(server);
      const auto send = [&](std::span<const Record> batch) {
        const auto deadline = std::chrono::steady_clock::now() + 10s;
        REQUIRE(handler->handle(batch, {deadline, deadline, {}}).done == batch.size());
      };
      compare("nats", with_own_ids(send), with_own_ids([&](auto batch) { raw.send(batch); }),
              payload_bytes, batch_rows);
    }
  }
}
