#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

Exit perform(const WhyVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  const auto row = postgres::Admin(context.database_url()).why(target, verb.id);
  print(context.secrets().redact(context.json() ? row_json(row) : row_text(row)));
  if (row.lane && row.lane->lane.state == LaneState::halted) return Exit::halted;
  return row.state == postgres::RowReport::State::absent ? Exit::failure : Exit::done;
}

}  // namespace seriatim::app
