#include "app/verbs/acts.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

/// What is configured is no former name.
void refuse_configured(Context& context, const std::string& from) {
  for (const auto& name : context.config().names()) {
    if (name != from) continue;
    throw ConfigError("--from names process \"" + from +
                      "\", which is still configured: a cursor belongs to one process");
  }
}

}  // namespace

Exit perform(const AdoptVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  if (verb.from) refuse_configured(context, *verb.from);
  postgres::Admin admin(context.database_url());
  const auto done = admin.adopt(target, verb.from, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

}  // namespace seriatim::app
