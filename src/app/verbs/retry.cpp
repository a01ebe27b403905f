#include "app/verbs/acts.hpp"

namespace seriatim::app {

Exit perform(const RetryVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const auto done = admin.retry(target, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

}  // namespace seriatim::app
