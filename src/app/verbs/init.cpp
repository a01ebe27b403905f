#include "app/reports.hpp"
#include "app/verbs/verbs.hpp"
#include "postgres/migrate.hpp"

namespace seriatim::app {

Exit perform(const InitVerb& verb, Context& context) {
  if (verb.print) {
    print(postgres::schema_script());
    return Exit::done;
  }
  const auto& url = context.database_url();
  const auto applied = postgres::migrate(url);
  const int version = postgres::schema_version(url);
  if (context.json()) {
    print(init_json(applied, version));
    return Exit::done;
  }
  for (const auto& name : applied) print("applied " + name + '\n');
  print("schema seriatim is at version " + std::to_string(version) + '\n');
  return Exit::done;
}

}  // namespace seriatim::app
