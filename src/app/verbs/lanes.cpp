#include "app/signals.hpp"
#include "app/verbs/acts.hpp"

namespace seriatim::app {

namespace {

constexpr std::chrono::milliseconds look_interval{200};
constexpr std::chrono::seconds give_up_max{30};  ///< to take the barrier away after a signal

}  // namespace

Exit perform(const LanesVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const Signals signals(give_up_max);
  std::string told;
  const auto keep_waiting = [&](const std::string& left) {
    if (told != left) complain("waiting for " + left + '\n');
    told = left;
    return sleep_unless_stopped(look_interval, signals.token());
  };
  const auto done =
      admin.recut(target, verb.lanes, context.actor(verb.act.who, verb.act.reason), keep_waiting);
  const auto exit = tell_act(context, verb.act.process, done);
  return signals.token().stop_requested() ? Exit::failure : exit;
}

}  // namespace seriatim::app
