#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"
#include "postgres/admin/migrate.hpp"

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

}  // namespace seriatim::app
