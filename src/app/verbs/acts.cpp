// What an operator does to a process; each act stands in the journal.
#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/text.hpp"
#include "app/verbs/verbs.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

/// Says what an act did.
Exit tell_act(const Context& context, const std::string& process, const postgres::ActResult& done) {
  if (context.json()) {
    print(act_json(process, done));
    return Exit::done;
  }
  for (const auto& line : done) print(process + ' ' + printable(line) + '\n');
  return Exit::done;
}

}  // namespace

Exit perform(const PauseVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const auto done = admin.pause(target, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

Exit perform(const ResumeVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const auto done = admin.resume(target, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

Exit perform(const RetryVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const auto done = admin.retry(target, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

Exit perform(const SkipVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  postgres::Admin admin(context.database_url());
  const auto done = admin.skip(target, verb.id, context.actor(verb.act.who, verb.act.reason));
  return tell_act(context, verb.act.process, done);
}

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
