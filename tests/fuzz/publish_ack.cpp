#include "nats/publish_ack.hpp"

#include "fuzz/fuzz_target.hpp"
#include "support/encoding.hpp"

SERIATIM_FUZZ_TARGET(publish_ack) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  const auto ack = parse_publish_ack(input);
  if (ack.is_stored())
    require(!ack.stream.empty() && ack.sequence > 0, "a stored row is somewhere");
  require(!ack.stream_ends_at() || ack.is_wrong_sequence(), "only a refusal names another end");
  require(!(ack.is_stored() && ack.is_against_the_row()), "a stored row was not refused");
  std::string text =
      R"({"stream":")" + json_escape(ack.stream) + R"(","seq":)" + std::to_string(ack.sequence);
  if (ack.duplicate) text += R"(,"duplicate":true)";
  if (!ack.is_stored()) {
    text += R"(,"error":{"err_code":)" + std::to_string(ack.error) + R"(,"description":")" +
            json_escape(ack.description) + "\"}";
  }
  const auto again = parse_publish_ack(text + '}');
  require(again.stream == ack.stream && again.sequence == ack.sequence && again.error == ack.error,
          "an answer is the same after printing");
  require(again.duplicate == ack.duplicate && again.description == ack.description &&
              again.stream_ends_at() == ack.stream_ends_at(),
          "its description is the same after printing");
}
