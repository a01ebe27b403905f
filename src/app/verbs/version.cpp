#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

Exit perform(const VersionVerb&, Context& context) {
  print(context.json() ? version_json(SERIATIM_VERSION) : "seriatim " SERIATIM_VERSION "\n");
  return Exit::done;
}

}  // namespace seriatim::app
