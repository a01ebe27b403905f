#include <regex>

#include "app/output.hpp"
#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

using postgres::RewindPlace;

/// "start", "end", a time that begins with a date, or a row's id; "id:" and "time:" before it say
/// which where it could be either.
RewindPlace place_from(const std::string& text) {
  static const std::regex date(R"(\d{4}-\d{2}-\d{2}([T ].*)?)");
  if (text == "start") return {RewindPlace::Kind::start, {}};
  if (text == "end") return {RewindPlace::Kind::end, {}};
  if (text.rfind("id:", 0) == 0) return {RewindPlace::Kind::row, text.substr(3)};
  if (text.rfind("time:", 0) == 0) return {RewindPlace::Kind::time, text.substr(5)};
  const bool is_time = std::regex_match(text, date);
  return {is_time ? RewindPlace::Kind::time : RewindPlace::Kind::row, text};
}

}  // namespace

/// Without --yes only what would happen: rows delivered again may be payments made again.
Exit perform(const RewindVerb& verb, Context& context) {
  const auto& target = context.process(verb.act.process).target;
  const auto place = place_from(verb.to);
  postgres::Admin admin(context.database_url());
  const auto steps = verb.yes
                         ? admin.rewind(target, place, context.actor(verb.act.who, verb.act.reason))
                         : admin.plan_rewind(target, place);
  print(context.json() ? rewind_json(verb.act.process, steps, verb.yes)
                       : rewind_text(verb.act.process, steps, verb.yes));
  return Exit::done;
}

}  // namespace seriatim::app
