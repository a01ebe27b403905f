#include "app/verbs/acts.hpp"

#include "app/reports.hpp"
#include "app/text.hpp"

namespace seriatim::app {

Exit tell_act(const Context& context, const std::string& process, const postgres::ActResult& done) {
  if (context.json()) {
    print(act_json(process, done));
    return Exit::done;
  }
  for (const auto& line : done) print(process + ' ' + printable(line) + '\n');
  return Exit::done;
}

}  // namespace seriatim::app
