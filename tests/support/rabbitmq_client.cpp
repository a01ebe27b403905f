#include "support/rabbitmq_client.hpp"

#if __has_include(<rabbitmq-c/amqp.h>)  // from librabbitmq 0.12 on
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#endif

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "support/rabbitmq_server.hpp"

namespace seriatim::testing {

namespace {

constexpr amqp_channel_t channel = 1;

using State = std::unique_ptr<amqp_connection_state_t_, decltype(&amqp_destroy_connection)>;

std::string text_of(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_bytes_t bytes_of(const std::string& text) {
  return {text.size(), const_cast<char*>(text.data())};
}

void check(const char* what, const amqp_rpc_reply_t& reply) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
  std::string why = "?";
  if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION) {
    why = amqp_error_string2(reply.library_error);
  } else if (reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD) {
    why = text_of(static_cast<amqp_channel_close_t*>(reply.reply.decoded)->reply_text);
  } else if (reply.reply.id == AMQP_CONNECTION_CLOSE_METHOD) {
    why = text_of(static_cast<amqp_connection_close_t*>(reply.reply.decoded)->reply_text);
  }
  throw std::runtime_error(std::string("RabbitMQ, ") + what + ": " + why);
}

State log_in(int port) {
  State state(amqp_new_connection(), amqp_destroy_connection);
  auto* socket = amqp_tcp_socket_new(state.get());
  timeval patience{60, 0};
  if (socket == nullptr ||
      amqp_socket_open_noblock(socket, "127.0.0.1", port, &patience) != AMQP_STATUS_OK) {
    throw std::runtime_error("no RabbitMQ answers");
  }
  amqp_set_rpc_timeout(state.get(), &patience);
  amqp_set_handshake_timeout(state.get(), &patience);
  check("login", amqp_login(state.get(), "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                            "guest", "guest"));
  amqp_channel_open(state.get(), channel);
  check("channel", amqp_get_rpc_reply(state.get()));
  return state;
}

std::string value_text(const amqp_field_value_t& value) {
  switch (value.kind) {
    case AMQP_FIELD_KIND_UTF8: return text_of(value.value.bytes);
    case AMQP_FIELD_KIND_I64: return std::to_string(value.value.i64);
    default: return std::string("a value of kind ") + static_cast<char>(value.kind);
  }
}

RabbitmqMessage message_of(const amqp_envelope_t& envelope) {
  const auto& given = envelope.message.properties;
  RabbitmqMessage message{text_of(envelope.message.body), text_of(envelope.exchange),
                          text_of(envelope.routing_key)};
  const auto add = [&](amqp_flags_t flag, const char* name, const std::string& value) {
    if ((given._flags & flag) != 0) message.properties[name] = value;
  };
  add(AMQP_BASIC_CONTENT_TYPE_FLAG, "content-type", text_of(given.content_type));
  add(AMQP_BASIC_DELIVERY_MODE_FLAG, "delivery-mode", std::to_string(given.delivery_mode));
  add(AMQP_BASIC_MESSAGE_ID_FLAG, "message-id", text_of(given.message_id));
  add(AMQP_BASIC_TIMESTAMP_FLAG, "timestamp", std::to_string(given.timestamp));
  add(AMQP_BASIC_TYPE_FLAG, "type", text_of(given.type));
  add(AMQP_BASIC_APP_ID_FLAG, "app-id", text_of(given.app_id));
  for (int i = 0; i < given.headers.num_entries; ++i) {
    const auto& entry = given.headers.entries[i];
    message.headers.emplace_back(text_of(entry.key), value_text(entry.value));
  }
  return message;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

amqp_table_entry_t argument(const std::string& name, const std::string& value) {
  amqp_table_entry_t entry{bytes_of(name), {}};
  entry.value.kind = is_number(value) ? AMQP_FIELD_KIND_I64 : AMQP_FIELD_KIND_UTF8;
  if (is_number(value)) {
    entry.value.value.i64 = std::stoll(value);
  } else {
    entry.value.value.bytes = bytes_of(value);
  }
  return entry;
}

}  // namespace

struct RabbitmqClient::Impl {
  State state;
  int port;

  void done(const char* what) const { check(what, amqp_get_rpc_reply(state.get())); }
};

std::string RabbitmqMessage::header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

RabbitmqClient::RabbitmqClient(const RabbitmqServer& server)
    : impl_(std::make_unique<Impl>(Impl{log_in(server.port()), server.port()})) {}

RabbitmqClient::~RabbitmqClient() {
  amqp_connection_close(impl_->state.get(), AMQP_REPLY_SUCCESS);
}

bool RabbitmqClient::can_log_in(int port) {
  try {
    const auto state = log_in(port);
    amqp_connection_close(state.get(), AMQP_REPLY_SUCCESS);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

void RabbitmqClient::declare_queue(const std::string& queue, const Arguments& arguments) {
  std::vector<amqp_table_entry_t> entries;
  for (const auto& [name, value] : arguments) entries.push_back(argument(name, value));
  amqp_queue_declare(impl_->state.get(), channel, bytes_of(queue), 0, 1, 0, 0,
                     {static_cast<int>(entries.size()), entries.data()});
  impl_->done("queue.declare");
}

void RabbitmqClient::declare_exchange(const std::string& exchange, const std::string& type) {
  amqp_exchange_declare(impl_->state.get(), channel, bytes_of(exchange), bytes_of(type), 0, 1, 0, 0,
                        amqp_empty_table);
  impl_->done("exchange.declare");
}

void RabbitmqClient::bind(const std::string& queue, const std::string& exchange,
                          const std::string& routing_key) {
  amqp_queue_bind(impl_->state.get(), channel, bytes_of(queue), bytes_of(exchange),
                  bytes_of(routing_key), amqp_empty_table);
  impl_->done("queue.bind");
}

void RabbitmqClient::delete_queue(const std::string& queue) {
  amqp_queue_delete(impl_->state.get(), channel, bytes_of(queue), 0, 0);
  impl_->done("queue.delete");
}

std::size_t RabbitmqClient::count(const std::string& queue) {
  const auto* declared = amqp_queue_declare(impl_->state.get(), channel, bytes_of(queue), 1, 0, 0,
                                            0, amqp_empty_table);
  impl_->done("queue.declare");
  return declared->message_count;
}

/// On a connection of its own, with whose end they go back to where they were.
std::vector<RabbitmqMessage> RabbitmqClient::messages(const std::string& queue) {
  const auto expected = count(queue);
  const auto reader = log_in(impl_->port);
  amqp_basic_consume(reader.get(), channel, bytes_of(queue), amqp_empty_bytes, 0, 0, 0,
                     amqp_empty_table);
  check("basic.consume", amqp_get_rpc_reply(reader.get()));
  std::vector<RabbitmqMessage> messages;
  while (messages.size() < expected) {
    amqp_maybe_release_buffers(reader.get());
    amqp_envelope_t envelope;
    timeval patience{60, 0};
    check("basic.deliver", amqp_consume_message(reader.get(), &envelope, &patience, 0));
    messages.push_back(message_of(envelope));
    amqp_destroy_envelope(&envelope);
  }
  amqp_connection_close(reader.get(), AMQP_REPLY_SUCCESS);
  return messages;
}

void RabbitmqClient::take_one(const std::string& queue) {
  amqp_maybe_release_buffers(impl_->state.get());
  check("basic.get", amqp_basic_get(impl_->state.get(), channel, bytes_of(queue), 1));
  amqp_message_t message;
  check("basic.get", amqp_read_message(impl_->state.get(), channel, &message, 0));
  amqp_destroy_message(&message);
}

}  // namespace seriatim::testing
