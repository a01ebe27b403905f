#include "rabbitmq/amqp_frames.hpp"

#include <tuple>

#include "fuzz/fuzz_target.hpp"

namespace {

using namespace seriatim::handlers;

/// The events of these bytes, and at the end whether they stopped being AMQP.
std::vector<AmqpEvent> amqp_events_of(std::string_view bytes, std::size_t piece) {
  AmqpReader reader;
  std::vector<AmqpEvent> events;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (const auto problem = reader.take(bytes.substr(0, piece), events); !problem.empty()) {
      AmqpEvent last;
      last.text = problem;
      events.push_back(last);
      break;
    }
  }
  return events;
}

auto amqp_parts_of(const AmqpEvent& event) {
  return std::tie(event.kind, event.tag, event.multiple, event.code, event.text, event.message_id,
                  event.frame_max);
}

}  // namespace

SERIATIM_FUZZ_TARGET(amqp_frames) {
  const auto whole = amqp_events_of(input, std::max<std::size_t>(input.size(), 1));
  const auto by_byte = amqp_events_of(input, 1);
  const bool same =
      std::equal(whole.begin(), whole.end(), by_byte.begin(), by_byte.end(),
                 [](const auto& a, const auto& b) { return amqp_parts_of(a) == amqp_parts_of(b); });
  seriatim::fuzz::require(same, "frames are the same however they arrive");
}
