#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/verbs/acts.hpp"

namespace seriatim::app {

namespace {

Exit list(const ParkedVerb& verb, const postgres::Target& target, postgres::Admin& admin,
          const Context& context) {
  std::vector<postgres::ParkedRow> rows;
  admin.parked(target, verb.key, verb.rows, [&](const auto& row) { rows.push_back(row); });
  const auto count = admin.parked_count(target);
  print(context.json() ? parked_json(verb.act.process, rows, count)
                       : parked_text(verb.act.process, rows, count, stdout_is_terminal()));
  return Exit::done;
}

}  // namespace

Exit perform(const ParkedVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  if (verb.what == ParkedVerb::What::list) return list(verb, target, admin, context);
  const postgres::ParkedChoice choice{verb.id, verb.key};
  const auto actor = context.actor(verb.act.who, verb.act.reason);
  const auto done = verb.what == ParkedVerb::What::redrive ? admin.redrive(target, choice, actor)
                                                           : admin.discard(target, choice, actor);
  return tell_act(context, verb.act.process, done);
}

}  // namespace seriatim::app
