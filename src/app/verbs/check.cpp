#include "postgres/admin/check/check.hpp"

#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

Exit perform(const CheckVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  const auto& url = context.database_url();
  std::vector<std::pair<std::string, Findings>> all;
  const postgres::CheckOptions options{context.config().names(), false};
  bool refused = false;
  for (const auto* process : processes) {
    all.emplace_back(process->target.process.name, postgres::check(url, process->target, options));
    refused = refused || !postgres::refusals(all.back().second).empty();
  }
  if (context.json()) {
    print(findings_json(all));
  } else {
    for (const auto& [name, findings] : all) print(findings_text(name, findings));
  }
  return refused ? Exit::failure : Exit::done;
}

}  // namespace seriatim::app
