// The rabbitmq handler's batch form next to a loop of basic.publish and confirms through
// librabbitmq, with the same properties and headers, into a durable queue of the same server:
// bench/run --only handlers. Figures: handlers/rabbitmq/README.md.
#if __has_include(<rabbitmq-c/amqp.h>)  // from librabbitmq 0.12 on
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#endif
#include <doctest/doctest.h>

#include <array>

#include "handler_rate.hpp"
#include "seriatim/handlers.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/rabbitmq_server.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

class BrokerOnPort final : public BrokerUnderTest {
 public:
  BrokerOnPort(const RabbitmqServer& server, std::string queue)
      : server_(server), queue_(std::move(queue)) {}
  const char* kind() const override { return "rabbitmq"; }
  HandlerOptions options() const override {
    return {{"url", server_.url()}, {"routing_key", queue_}};
  }
  void start() override {}
  void stop() override {}
  void kill() override {}
  void freeze() override {}
  void thaw() override {}
  std::string refused_payload() const override { return {}; }
  std::vector<BrokerMessage> messages() override { return {}; }
  bool drops_repeats() const override { return false; }

 private:
  const RabbitmqServer& server_;
  std::string queue_;
};

amqp_bytes_t bytes_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

amqp_table_entry_t entry(const char* name, const std::string& text) {
  amqp_table_entry_t made{amqp_cstring_bytes(name), {}};
  made.value.kind = AMQP_FIELD_KIND_UTF8;
  made.value.value.bytes = bytes_of(text);
  return made;
}

amqp_table_entry_t entry(const char* name, std::uint64_t number) {
  amqp_table_entry_t made{amqp_cstring_bytes(name), {}};
  made.value.kind = AMQP_FIELD_KIND_I64;
  made.value.value.i64 = static_cast<std::int64_t>(number);
  return made;
}

class RawPublisher {
 public:
  RawPublisher(const RabbitmqServer& server, std::string queue) : queue_(std::move(queue)) {
    auto* socket = amqp_tcp_socket_new(state_.get());
    REQUIRE(amqp_socket_open(socket, "127.0.0.1", server.port()) == AMQP_STATUS_OK);
    const auto reply = amqp_login(state_.get(), "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                  AMQP_SASL_METHOD_PLAIN, "guest", "guest");
    REQUIRE(reply.reply_type == AMQP_RESPONSE_NORMAL);
    REQUIRE(amqp_channel_open(state_.get(), 1) != nullptr);
    REQUIRE(amqp_confirm_select(state_.get(), 1) != nullptr);
  }

  void send(std::span<const Record> batch) {
    for (const auto& row : batch) publish(row);
    sent_ += batch.size();
    while (confirmed_ < sent_) {
      amqp_frame_t frame;
      amqp_maybe_release_buffers(state_.get());
      REQUIRE(amqp_simple_wait_frame(state_.get(), &frame) == AMQP_STATUS_OK);
      REQUIRE(frame.payload.method.id == AMQP_BASIC_ACK_METHOD);
      const auto& ack = *static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
      confirmed_ = ack.multiple != 0 ? ack.delivery_tag : confirmed_ + 1;
    }
  }

 private:
  void publish(const Record& row) {
    std::array<amqp_table_entry_t, 7> headers{entry("id", row.id()),
                                              entry("event-type", *row.event_type),
                                              entry("key", *row.key),
                                              entry("seriatim-process", row.process),
                                              entry("seriatim-lane", std::uint64_t{row.lane}),
                                              entry("seriatim-sequence", row.sequence),
                                              entry("seriatim-epoch", row.epoch)};
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                        AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                        AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_APP_ID_FLAG;
    properties.content_type = amqp_cstring_bytes("application/json");
    properties.headers = {static_cast<int>(headers.size()), headers.data()};
    properties.delivery_mode = 2;
    properties.message_id = bytes_of(row.id());
    properties.type = bytes_of(*row.event_type);
    properties.app_id = bytes_of(row.process);
    REQUIRE(amqp_basic_publish(state_.get(), 1, amqp_empty_bytes, bytes_of(queue_), 1, 0,
                               &properties, bytes_of(*row.payload)) == AMQP_STATUS_OK);
  }

  std::unique_ptr<amqp_connection_state_t_, decltype(&amqp_destroy_connection)> state_{
      amqp_new_connection(), amqp_destroy_connection};
  std::string queue_;
  std::uint64_t sent_ = 0;
  std::uint64_t confirmed_ = 0;
};

void compare_at(std::size_t payload_bytes) {
  const RabbitmqServer server;
  RabbitmqClient client(server);
  for (const std::size_t batch_rows : {100UL, 1'000UL}) {
    const std::string queue = "bench";
    client.declare_queue(queue);
    const auto handler = make_handler(handlers::register_rabbitmq, BrokerOnPort(server, queue));
    RawPublisher raw(server, queue);
    const auto send = [&](std::span<const Record> batch) {
      const auto deadline = std::chrono::steady_clock::now() + 10s;
      REQUIRE(handler->handle(batch, {deadline, deadline, {}}).done == batch.size());
    };
    compare(
        "rabbitmq", send, [&](auto batch) { raw.send(batch); }, payload_bytes, batch_rows, 3);
    client.delete_queue(queue);
  }
}

}  // namespace

TEST_CASE("rabbitmq, small rows") {
  compare_at(200);
}

TEST_CASE("rabbitmq, large rows") {
  compare_at(2'000);
}
