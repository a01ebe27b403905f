// A consumer of a RabbitMQ queue that a relay writes to: each event is booked once, whatever
// becomes of relays, of the broker, and of itself. docs/receivers.md.
//   consumer AMQP_URL QUEUE DATABASE_URL
#if __has_include(<rabbitmq-c/amqp.h>)  // from librabbitmq 0.12 on
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_tcp_socket.h>
#endif

#include <iostream>
#include <memory>
#include <seriatim/inbox.hpp>
#include <stdexcept>

namespace {

constexpr amqp_channel_t channel = 1;
constexpr int prefetch = 50;  // messages on their way to us; so many come again when we die

std::string text_of(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

void demand(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(std::string("RabbitMQ: ") + what);
}

class Queue {
 public:
  Queue(std::string url, const std::string& name) : connection_(amqp_new_connection()) {
    amqp_connection_info at{};
    demand(amqp_parse_url(url.data(), &at) == AMQP_STATUS_OK, "not an amqp:// URL");
    auto* socket = amqp_tcp_socket_new(connection_.get());
    demand(amqp_socket_open(socket, at.host, at.port) == AMQP_STATUS_OK, "cannot connect");
    const auto login = amqp_login(connection_.get(), at.vhost, 0, 131072, 0, AMQP_SASL_METHOD_PLAIN,
                                  at.user, at.password);
    demand(login.reply_type == AMQP_RESPONSE_NORMAL, "login refused");
    amqp_channel_open(connection_.get(), channel);
    amqp_basic_qos(connection_.get(), channel, 0, prefetch, false);
    amqp_basic_consume(connection_.get(), channel, amqp_cstring_bytes(name.c_str()),
                       amqp_empty_bytes, false, false, false, amqp_empty_table);
    demand(amqp_get_rpc_reply(connection_.get()).reply_type == AMQP_RESPONSE_NORMAL,
           "cannot consume");
  }

  struct Message {
    std::string event_id;
    std::string body;
    std::uint64_t delivery = 0;
  };
  Message next() {
    amqp_envelope_t envelope;
    amqp_maybe_release_buffers(connection_.get());
    const auto reply = amqp_consume_message(connection_.get(), &envelope, nullptr, 0);
    demand(reply.reply_type == AMQP_RESPONSE_NORMAL, "connection lost");
    const auto& properties = envelope.message.properties;
    // app-id is the relay's process, message-id the row's id: the same whenever the event comes.
    Message message{text_of(properties.app_id) + ':' + text_of(properties.message_id),
                    text_of(envelope.message.body), envelope.delivery_tag};
    amqp_destroy_envelope(&envelope);
    return message;
  }
  void acknowledge(const Message& message) {
    amqp_basic_ack(connection_.get(), channel, message.delivery, false);
  }

 private:
  struct Close {
    void operator()(amqp_connection_state_t connection) const {
      amqp_destroy_connection(connection);
    }
  };
  std::unique_ptr<amqp_connection_state_t_, Close> connection_;
};

/// The effect: whatever it writes is committed with the note that the event was taken.
void book(seriatim::Transaction& transaction, const Queue::Message& message) {
  transaction.run(
      "INSERT INTO charge (event_id, customer, cents)"
      " SELECT $1, event->>'customer', (event->>'cents')::integer FROM (SELECT $2::json) AS "
      "e(event)",
      {message.event_id, message.body});
}

}  // namespace

// An exception ends the program before the message is acknowledged. Whoever starts it anew gets
// that message again first, so nothing is overtaken.
int main(int, char** arguments) try {
  seriatim::Inbox inbox(arguments[3], "billing");
  Queue queue(arguments[1], arguments[2]);
  for (;;) {
    const auto message = queue.next();
    const bool first = inbox.once(message.event_id, [&](auto& t) { book(t, message); });
    if (!first) std::cout << "taken before: " << message.event_id << std::endl;
    queue.acknowledge(message);
  }
} catch (const std::exception& trouble) {
  std::cerr << "consumer: " << trouble.what() << std::endl;
  return 1;
}
