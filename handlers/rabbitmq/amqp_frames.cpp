#include "rabbitmq/amqp_frames.hpp"

#if __has_include(<rabbitmq-c/amqp.h>)  // from librabbitmq 0.12 on
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#endif

#include <algorithm>
#include <array>
#include <new>

#include "seriatim/error.hpp"
#include "support/cannot_render.hpp"

namespace seriatim::handlers {

namespace {

constexpr std::uint16_t our_channel = 1;
constexpr std::size_t frame_head_bytes = 7;
constexpr std::size_t method_bytes_max = 8 << 10;
constexpr std::uint8_t persistent = 2;
constexpr std::uint8_t protocol_header_frame = 'A';  // as librabbitmq reports one

amqp_bytes_t bytes_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};  // read only, but the field takes both ways
}

std::string text_of(const amqp_bytes_t& bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

amqp_table_entry_t entry(std::string_view name, amqp_field_value_t value) {
  return {bytes_of(name), value};
}

amqp_field_value_t text_value(std::string_view text) {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_UTF8;
  value.value.bytes = bytes_of(text);
  return value;
}

amqp_field_value_t yes() {
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_BOOLEAN;
  value.value.boolean = 1;
  return value;
}

amqp_field_value_t value_of(const AmqpMessage::Value& given) {
  if (const auto* text = std::get_if<std::string_view>(&given)) return text_value(*text);
  amqp_field_value_t value{};
  value.kind = AMQP_FIELD_KIND_I64;
  value.value.i64 = std::get<std::int64_t>(given);
  return value;
}

template <class Entries>
amqp_table_t table_of(Entries& entries) {
  return {static_cast<int>(entries.size()), entries.data()};
}

void put(std::string& bytes, std::size_t at, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes[at + i] = static_cast<char>(number >> (8 * (width - 1 - i)) & 0xff);
  }
}

void check_name(std::string_view what, std::string_view text) {
  if (text.size() <= amqp_name_bytes_max) return;
  throw CannotRender(std::string(what) + " is over 255 bytes, which AMQP does not carry");
}

/// A bound on what the content header of this message takes.
std::size_t header_bytes_bound(const AmqpMessage& message) {
  constexpr std::size_t properties = 14 + 5 * (amqp_name_bytes_max + 1) + 32;
  constexpr std::size_t around_a_value = 16;
  std::size_t bytes = properties;
  for (const auto& [name, value] : message.headers) {
    const auto* text = std::get_if<std::string_view>(&value);
    bytes += name.size() + around_a_value + (text != nullptr ? text->size() : 0);
  }
  return bytes;
}

void check_message(const AmqpMessage& message, std::uint32_t frame_max) {
  check_name("the name of the exchange", message.exchange);
  check_name("the routing key", message.routing_key);
  check_name("the content type", message.content_type);
  check_name("the id", message.id);
  check_name("the event type", message.type);
  check_name("the name of the process", message.app_id);
  for (const auto& [name, value] : message.headers) check_name("the name of a header", name);
  if (header_bytes_bound(message) + frame_head_bytes + 1 > frame_max) {
    throw CannotRender("the headers do not fit into one frame of " + std::to_string(frame_max) +
                       " bytes (frame_max of the server)");
  }
}

amqp_basic_properties_t properties_of(const AmqpMessage& message) {
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                      AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG;
  properties.content_type = bytes_of(message.content_type);
  properties.delivery_mode = persistent;
  properties.message_id = bytes_of(message.id);
  properties.timestamp = message.timestamp;
  properties.type = bytes_of(message.type);
  properties.app_id = bytes_of(message.app_id);
  if (message.timestamp != 0) properties._flags |= AMQP_BASIC_TIMESTAMP_FLAG;
  if (!message.type.empty()) properties._flags |= AMQP_BASIC_TYPE_FLAG;
  if (!message.app_id.empty()) properties._flags |= AMQP_BASIC_APP_ID_FLAG;
  return properties;
}

// 0, then AMQP's own way of saying 0-9-1.
constexpr std::string_view protocol{"AMQP\0\0\x09\x01", 8};

}  // namespace

// --- writing ------------------------------------------------------------------------------------

std::size_t AmqpWriter::begin_frame(std::uint8_t type, std::uint16_t channel,
                                    std::size_t payload_bytes_max) {
  const auto at = bytes_.size();
  bytes_.resize(at + frame_head_bytes + payload_bytes_max);
  put(bytes_, at, type, 1);
  put(bytes_, at + 1, channel, 2);
  return at + frame_head_bytes;
}

void AmqpWriter::end_frame(std::size_t payload_at, std::size_t payload_bytes) {
  bytes_.resize(payload_at + payload_bytes);
  put(bytes_, payload_at - 4, payload_bytes, 4);
  bytes_ += static_cast<char>(AMQP_FRAME_END);
}

void AmqpWriter::method(std::uint16_t channel, std::uint32_t id, void* fields) {
  const auto at = begin_frame(AMQP_FRAME_METHOD, channel, method_bytes_max);
  put(bytes_, at, id, 4);
  const auto size = amqp_encode_method(id, fields, {method_bytes_max - 4, bytes_.data() + at + 4});
  if (size < 0) {
    bytes_.resize(at - frame_head_bytes);
    throw Error(std::string("cannot encode ") + amqp_method_name(id) + ": " +
                amqp_error_string2(size));
  }
  end_frame(at, static_cast<std::size_t>(size) + 4);
}

void AmqpWriter::protocol_header() {
  bytes_ += protocol;
}

void AmqpWriter::start_ok(std::string_view user, std::string_view password) {
  std::array<amqp_table_entry_t, 4> can{
      entry("publisher_confirms", yes()), entry("basic.nack", yes()),
      entry("connection.blocked", yes()), entry("authentication_failure_close", yes())};
  amqp_field_value_t capabilities{};
  capabilities.kind = AMQP_FIELD_KIND_TABLE;
  capabilities.value.table = table_of(can);
  std::array<amqp_table_entry_t, 3> about{entry("product", text_value("seriatim")),
                                          entry("connection_name", text_value("seriatim")),
                                          entry("capabilities", capabilities)};
  const auto response = std::string(1, '\0').append(user) + std::string(1, '\0').append(password);
  amqp_connection_start_ok_t fields{table_of(about), bytes_of("PLAIN"), bytes_of(response),
                                    bytes_of("en_US")};
  method(0, AMQP_CONNECTION_START_OK_METHOD, &fields);
}

void AmqpWriter::open(std::string_view vhost, std::uint32_t frame_max) {
  // No heartbeats: every call has a deadline, and between calls nobody is here to send them.
  amqp_connection_tune_ok_t tune{our_channel, frame_max, 0};
  method(0, AMQP_CONNECTION_TUNE_OK_METHOD, &tune);
  amqp_connection_open_t open{bytes_of(vhost), {}, 0};
  method(0, AMQP_CONNECTION_OPEN_METHOD, &open);
  amqp_channel_open_t channel{};
  method(our_channel, AMQP_CHANNEL_OPEN_METHOD, &channel);
  amqp_confirm_select_t confirms{};
  method(our_channel, AMQP_CONFIRM_SELECT_METHOD, &confirms);
}

void AmqpWriter::content_header(const AmqpMessage& message, std::uint32_t frame_max) {
  constexpr std::size_t before_properties = 12;
  const auto room = std::min<std::size_t>(header_bytes_bound(message), frame_max);
  const auto at = begin_frame(AMQP_FRAME_HEADER, our_channel, before_properties + room);
  put(bytes_, at, AMQP_BASIC_CLASS, 2);
  put(bytes_, at + 4, message.body.size(), 8);
  std::vector<amqp_table_entry_t> headers;
  headers.reserve(message.headers.size());
  for (const auto& [name, value] : message.headers) headers.push_back(entry(name, value_of(value)));
  auto properties = properties_of(message);
  properties.headers = table_of(headers);
  const auto size = amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                           {room, bytes_.data() + at + before_properties});
  if (size < 0) throw CannotRender(std::string("headers: ") + amqp_error_string2(size));
  end_frame(at, before_properties + static_cast<std::size_t>(size));
}

void AmqpWriter::publish(const AmqpMessage& message, std::uint32_t frame_max) {
  check_message(message, frame_max);
  const auto began = bytes_.size();
  amqp_basic_publish_t fields{0, bytes_of(message.exchange), bytes_of(message.routing_key),
                              message.mandatory ? 1 : 0, 0};
  try {
    method(our_channel, AMQP_BASIC_PUBLISH_METHOD, &fields);
    content_header(message, frame_max);
  } catch (...) {
    bytes_.resize(began);
    throw;
  }
  const auto part_max = frame_max - frame_head_bytes - 1;
  for (auto body = message.body; !body.empty();) {
    const auto part = body.substr(0, part_max);
    const auto at = begin_frame(AMQP_FRAME_BODY, our_channel, 0);
    bytes_ += part;
    end_frame(at, part.size());
    body.remove_prefix(part.size());
  }
}

void AmqpWriter::close() {
  amqp_connection_close_t fields{AMQP_REPLY_SUCCESS, bytes_of("done"), 0, 0};
  method(0, AMQP_CONNECTION_CLOSE_METHOD, &fields);
}

// --- reading ------------------------------------------------------------------------------------

class AmqpReader::Impl {
 public:
  Impl() : state_(amqp_new_connection(), amqp_destroy_connection) {
    if (!state_) throw std::bad_alloc();
  }

  std::string take(std::string_view bytes, std::vector<AmqpEvent>& events) {
    while (!bytes.empty()) {
      amqp_frame_t frame{};
      const auto taken = amqp_handle_input(state_.get(), bytes_of(bytes), &frame);
      if (taken < 0) return std::string("not AMQP: ") + amqp_error_string2(taken);
      bytes.remove_prefix(static_cast<std::size_t>(taken));
      if (frame.frame_type == protocol_header_frame) return "speaks no AMQP 0-9-1";
      if (frame.frame_type == AMQP_FRAME_METHOD) take_method(frame.payload.method, events);
      if (frame.frame_type == AMQP_FRAME_HEADER) take_header(frame, events);
      amqp_maybe_release_buffers(state_.get());
    }
    return {};
  }

 private:
  using State = std::unique_ptr<amqp_connection_state_t_, decltype(&amqp_destroy_connection)>;
  using Kind = AmqpEvent::Kind;

  /// A returned message is reported when its id is known; its body passes unread.
  void take_header(const amqp_frame_t& frame, std::vector<AmqpEvent>& events) {
    const bool is_message = frame.payload.properties.class_id == AMQP_BASIC_CLASS;
    if (returned_.kind != Kind::returned || !is_message) return;
    const auto* properties =
        static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
    if ((properties->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) {
      returned_.message_id = text_of(properties->message_id);
    }
    events.push_back(std::exchange(returned_, {}));
  }

  template <class Close>
  static AmqpEvent closed(Kind kind, const Close& fields) {
    AmqpEvent event{kind};
    event.code = fields.reply_code;
    event.text = text_of(fields.reply_text);
    return event;
  }

  template <class Confirm>
  static AmqpEvent confirm(Kind kind, const Confirm& fields) {
    AmqpEvent event{kind};
    event.tag = fields.delivery_tag;
    event.multiple = fields.multiple != 0;
    return event;
  }

  void take_method(const amqp_method_t& method, std::vector<AmqpEvent>& events) {
    const auto* fields = method.decoded;
    switch (method.id) {
      case AMQP_BASIC_ACK_METHOD:
        events.push_back(confirm(Kind::ack, *static_cast<const amqp_basic_ack_t*>(fields)));
        return;
      case AMQP_BASIC_NACK_METHOD:
        events.push_back(confirm(Kind::nack, *static_cast<const amqp_basic_nack_t*>(fields)));
        return;
      case AMQP_BASIC_RETURN_METHOD:
        returned_ = closed(Kind::returned, *static_cast<const amqp_basic_return_t*>(fields));
        return;
      case AMQP_CHANNEL_CLOSE_METHOD:
        events.push_back(
            closed(Kind::channel_closed, *static_cast<const amqp_channel_close_t*>(fields)));
        return;
      case AMQP_CONNECTION_CLOSE_METHOD:
        events.push_back(
            closed(Kind::connection_closed, *static_cast<const amqp_connection_close_t*>(fields)));
        return;
      default: events.push_back(of_the_connection(method));
    }
  }

  static AmqpEvent of_the_connection(const amqp_method_t& method) {
    AmqpEvent event;
    switch (method.id) {
      case AMQP_CONNECTION_START_METHOD:
        event.kind = Kind::start;
        event.text =
            text_of(static_cast<const amqp_connection_start_t*>(method.decoded)->mechanisms);
        break;
      case AMQP_CONNECTION_TUNE_METHOD:
        event.kind = Kind::tune;
        event.frame_max = static_cast<const amqp_connection_tune_t*>(method.decoded)->frame_max;
        break;
      case AMQP_CONFIRM_SELECT_OK_METHOD: event.kind = Kind::confirms_selected; break;
      case AMQP_CONNECTION_BLOCKED_METHOD:
        event.kind = Kind::blocked;
        event.text = text_of(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason);
        break;
      case AMQP_CONNECTION_UNBLOCKED_METHOD: event.kind = Kind::unblocked; break;
      default: break;
    }
    return event;
  }

  State state_;
  AmqpEvent returned_;  ///< its content header is still to come
};

AmqpReader::AmqpReader() : impl_(std::make_unique<Impl>()) {}
AmqpReader::~AmqpReader() = default;

std::string AmqpReader::take(std::string_view bytes, std::vector<AmqpEvent>& events) {
  return impl_->take(bytes, events);
}

}  // namespace seriatim::handlers
