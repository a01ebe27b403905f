#include <algorithm>

#include "fuzz/fuzz_target.hpp"
#include "nats/nats_message.hpp"
#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"

SERIATIM_FUZZ_TARGET(nats_subject) {
  using namespace seriatim::handlers;
  using seriatim::fuzz::require;
  auto record = seriatim::testing::make_record("{}");
  record.key = std::string(seriatim::fuzz::take_line(input));
  const std::string name(seriatim::fuzz::take_line(input));
  record.headers = {{name, std::string(input)}};
  NatsHandlerConfig config;
  config.subject = "orders.{{key}}";
  try {
    const auto message = NatsMessageMaker(config).make(record);
    const auto& subject = '.' + message.subject + '.';
    for (const auto* part : {"..", ".*.", ".>.", " ", "\r", "\n", "\t"}) {
      require(subject.find(part) == subject.npos, "a record gives no wildcard and no second word");
    }
    for (const auto& [key, value] : message.headers) {
      require(key.find_first_of(": \r\n") == key.npos && value.find_first_of("\r\n") == value.npos,
              "a header stays on its line");
    }
    const auto ids = std::count_if(message.headers.begin(), message.headers.end(),
                                   [](const auto& h) { return h.first == "Nats-Msg-Id"; });
    require(ids == 1, "a record does not give an id of its own");
  } catch (const CannotRender&) {
  }
}
