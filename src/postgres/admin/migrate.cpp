#include "postgres/admin/migrate.hpp"

#include <algorithm>

#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "sql/admin.hpp"
#include "sql/migrations.hpp"

namespace seriatim::postgres {

namespace {

constexpr int newest_version() {
  int newest = 0;
  for (const auto& migration : sql::migrations) newest = std::max(newest, migration.version);
  return newest;
}

std::string note(const sql::Migration& migration) {
  return fill(sql::admin::note_migration, {{"version", std::to_string(migration.version)},
                                           {"name", quote_literal(migration.name)}});
}

std::string text_of(const sql::Migration& migration) {
  return std::string(sql::admin::migration_path) + std::string(migration.text);
}

int installed_version(Connection& connection) {
  if (!connection.run(sql::admin::migration_table_exists)[0][0].as<bool>()) return 0;
  return connection.run(sql::admin::schema_version)[0][0].as<int>();
}

void refuse_newer(int version) {
  if (version <= newest_version()) return;
  throw Error("schema seriatim has version " + std::to_string(version) +
              ", this program knows versions up to " + std::to_string(newest_version()) +
              ": use the newer seriatim");
}

/// False when another got there first.
bool apply(Connection& connection, const sql::Migration& migration) {
  connection.begin(sql::admin::lock_migrations);
  if (installed_version(connection) >= migration.version) {
    connection.rollback();
    return false;
  }
  connection.run_script(text_of(migration));
  connection.run(note(migration));
  connection.commit();
  return true;
}

/// Migrations may rewrite tables: they may take long, and wait for running relays.
Connection migration_connection(const std::string& url) {
  return {url, {"seriatim/init", milliseconds{0}, milliseconds{60'000}, milliseconds{0}}};
}

}  // namespace

std::string schema_script() {
  std::string script;
  for (const auto& migration : sql::migrations) {
    script += "BEGIN;\n" + text_of(migration) + note(migration) + ";\nCOMMIT;\n";
  }
  return script;
}

std::vector<std::string> migrate(const std::string& url) {
  auto connection = migration_connection(url);
  refuse_newer(installed_version(connection));
  std::vector<std::string> applied;
  for (const auto& migration : sql::migrations) {
    if (installed_version(connection) >= migration.version) continue;
    if (apply(connection, migration)) applied.emplace_back(migration.name);
  }
  return applied;
}

std::string partition_script(const std::string& step) {
  return fill(sql::admin::partition_outbox, {{"step", quote_literal(step)}}) + ";\n";
}

std::vector<std::string> partition_outbox(const std::string& url, const std::string& step) {
  auto connection = migration_connection(url);
  std::vector<std::string> created;
  for (const auto& row : connection.run(partition_script(step))) {
    created.push_back("seriatim." + row["name"].as<std::string>());
  }
  return created;
}

int schema_version(const std::string& url) {
  auto connection = migration_connection(url);
  return installed_version(connection);
}

}  // namespace seriatim::postgres

void seriatim::install_schema(const std::string& url) {
  postgres::migrate(url);
}
