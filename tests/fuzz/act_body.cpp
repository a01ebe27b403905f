#include "console/order.hpp"
#include "fuzz/fuzz_target.hpp"

SERIATIM_FUZZ_TARGET(act_body) {
  namespace console = seriatim::console;
  using seriatim::fuzz::require;
  try {
    const auto order = console::order_of("p", input);
    const bool light = order.act == "retry" || order.act == "pause" || order.act == "resume";
    require(light || order.preview || !order.reason.empty(), "what sets rows aside has a reason");
    const bool wide = order.act == "rewind" || (order.act == "discard" && order.all);
    require(!wide || order.preview || order.seen.plan, "what is wide was previewed");
    require(!light || (!order.row && !order.key && !order.all), "what is light names no row");
  } catch (const console::Refused& refused) {
    require(!refused.remedy.empty(), "a refusal says what to do");
  }
}
