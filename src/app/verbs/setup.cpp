// Verbs that deliver nothing and act on no lane.
#include <algorithm>
#include <iostream>
#include <iterator>

#include "app/checks.hpp"
#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/verbs/verbs.hpp"
#include "lab/demo/demo.hpp"
#include "postgres/admin/check/check.hpp"
#include "postgres/admin/check/plan.hpp"
#include "postgres/admin/migrate.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

Exit perform(const InitVerb& verb, Context& context) {
  if (verb.print) {
    print(postgres::schema_script());
    if (verb.partitioned) print(postgres::partition_script(*verb.partitioned));
    return Exit::done;
  }
  const auto& url = context.database_url();
  const auto applied = postgres::migrate(url);
  const int version = postgres::schema_version(url);
  std::vector<std::string> partitions;
  if (verb.partitioned) partitions = postgres::partition_outbox(url, *verb.partitioned);
  if (context.json()) {
    print(init_json(applied, version, partitions));
    return Exit::done;
  }
  for (const auto& name : applied) print("applied " + name + '\n');
  print("schema seriatim is at version " + std::to_string(version) + '\n');
  if (!partitions.empty()) {
    print("created " + std::to_string(partitions.size()) + " partitions of seriatim.outbox, " +
          partitions.front() + " to " + partitions.back() + '\n');
  }
  return Exit::done;
}

Exit perform(const CheckVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  const auto all = findings_of(context.database_url(), processes, context.config().names());
  if (context.json()) {
    print(findings_json(all));
  } else {
    for (const auto& [name, findings] : all) print(findings_text(name, findings));
  }
  const bool refused = std::any_of(all.begin(), all.end(), [](const auto& one) {
    return !postgres::refusals(one.second).empty();
  });
  return refused ? Exit::failure : Exit::done;
}

Exit perform(const PlanVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  const auto& url = context.database_url();
  const auto configured = context.config().names();
  std::vector<postgres::PlannedChange> plan;
  for (const auto* process : processes) {
    for (auto& change : postgres::plan_process(url, process->target, configured)) {
      plan.push_back(std::move(change));
    }
  }
  if (verb.processes.empty()) {
    for (auto& change : postgres::plan_unconfigured(url, configured)) {
      plan.push_back(std::move(change));
    }
  }
  print(context.json() ? plan_json(plan) : plan_text(plan));
  return Exit::done;
}

namespace {

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

}  // namespace

Exit perform(const AppendVerb& verb, Context& context) {
  const auto& url = context.database_url();
  const auto payload = verb.payload ? *verb.payload : read_stdin();
  const auto id = postgres::Admin(url).append(
      {verb.aggregate_type, verb.aggregate_id, verb.type, payload, verb.headers});
  print(context.json() ? append_json(id) : id + '\n');
  return Exit::done;
}

Exit perform(const VersionVerb&, Context& context) {
  const std::string text(version());
  print(context.json() ? version_json(text) : "seriatim " + text + '\n');
  return Exit::done;
}

Exit perform(const DemoVerb& verb, Context&) {
  // Whoever is impatient waits for a second: a program that ends at once leaves the folder.
  const Signals signals(lab::demo_stop_max, {}, Signals::Second::is_ignored);
  return static_cast<Exit>(lab::run_demo({std::chrono::seconds(verb.seconds), verb.keep},
                                         signals.token(),
                                         [](const std::string& line) { print(line + '\n'); }));
}

}  // namespace seriatim::app
