#include "fuzz/fuzz_target.hpp"
#include "rabbitmq/amqp_frames.hpp"
#include "support/cannot_render.hpp"

SERIATIM_FUZZ_TARGET(amqp_message) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto next = [&] { return seriatim::fuzz::take_line(input); };
  AmqpMessage message{next(), next(), true, next(), next(), next(), next(), 1'700'000'000, {}, {}};
  const auto name = next();
  message.headers = {{name, next()}, {"seriatim-sequence", std::int64_t{42}}};
  message.body = input;
  AmqpWriter writer;
  try {
    writer.publish(message, amqp_frame_bytes_min);
  } catch (const CannotRender&) {
    require(writer.bytes().empty(), "nothing is written of a message that is refused");
    return;
  }
  std::string body;
  for (auto rest = writer.bytes(); !rest.empty();) {
    require(rest.size() >= 8, "a frame has a head and an end");
    std::size_t size = 0;
    for (std::size_t i = 3; i < 7; ++i) size = size << 8 | static_cast<unsigned char>(rest[i]);
    require(size + 8 <= rest.size() && size + 8 <= amqp_frame_bytes_min && rest[size + 7] == '\xCE',
            "a frame is whole and fits");
    if (rest[0] == 3) body += rest.substr(7, size);
    rest.remove_prefix(size + 8);
  }
  require(body == input, "the body is sent as it was stored");
  AmqpReader reader;
  std::vector<AmqpEvent> events;
  require(reader.take(writer.bytes(), events).empty(), "what is written can be read");
}
