#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

/// Without --yes only what would happen: rows delivered again may be payments made again.
Exit perform(const RewindVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  const auto place = postgres::place_from(verb.to);
  postgres::Admin admin(context.database_url());
  const auto steps = verb.yes
                         ? admin.rewind(target, place, context.actor(verb.act.who, verb.act.reason))
                         : admin.plan_rewind(target, place);
  print(context.json() ? rewind_json(verb.act.process, steps, verb.yes)
                       : rewind_text(verb.act.process, steps, verb.yes));
  return Exit::done;
}

}  // namespace seriatim::app
