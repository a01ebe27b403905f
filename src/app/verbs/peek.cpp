#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

Exit perform(const PeekVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  if (verb.lane >= target.process.lanes) {
    throw ConfigError("process \"" + verb.process + "\" has lanes 0 to " +
                      std::to_string(target.process.lanes - 1) + ", no lane " +
                      std::to_string(verb.lane));
  }
  const auto rows = postgres::Admin(context.database_url()).peek(target, verb.lane, verb.rows);
  print(context.json() ? rows_json(rows, verb.payload)
                       : rows_table(rows, verb.payload, stdout_is_terminal()));
  return rows.unread ? Exit::failure : Exit::done;
}

}  // namespace seriatim::app
