// Retention by others that could cut rows nobody has read: pg_partman and pg_cron, as far as we may
// see them. Their tables are made by hand here, in the shape the extensions give them.
#include <doctest/doctest.h>

#include "postgres/check_fixture.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::check;

namespace {

constexpr const char* partman = R"(
    CREATE SCHEMA partman;
    CREATE TABLE partman.part_config (parent_table text PRIMARY KEY, control text, retention text,
                                      retention_keep_table boolean DEFAULT true);)";
constexpr const char* cron = R"(
    CREATE SCHEMA cron;
    CREATE TABLE cron.job (jobid bigint PRIMARY KEY, schedule text, command text, nodename text,
                           nodeport int, database text DEFAULT current_database(), username text,
                           active boolean DEFAULT true, jobname text);)";

struct Retention {
  Retention() { database.run(sound_table); }
  std::vector<Finding> warnings() {
    auto found = of(Severity::warning, check(database.url(), target));
    std::erase_if(found,
                  [](const Finding& f) { return f.what.find("takes") == std::string::npos; });
    return found;
  }
  TestDatabase database;
  Target target = target_of();
};

}  // namespace

TEST_CASE("retention of pg_partman is warned of, with the age of the oldest row not read yet") {
  Retention stage;
  stage.database.run(partman);
  stage.database.run(
      "INSERT INTO partman.part_config (parent_table, retention) VALUES"
      " ('public.others', '1 day'), ('public.gone', '1 day'), ('public.bookings', NULL)");
  CHECK(stage.warnings().empty());
  stage.database.run(
      "UPDATE partman.part_config SET retention = '7 days' WHERE parent_table = 'public.bookings'");
  auto found = stage.warnings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.find("pg_partman takes partitions older than 7 days from public.bookings") ==
        0);
  CHECK(found[0].what.find("every row is read now") != std::string::npos);
  stage.database.run(
      "INSERT INTO bookings (created_at) VALUES (now() - interval '125 min'), (now())");
  found = stage.warnings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.find("the oldest row not read yet is 125 min old") != std::string::npos);
  CHECK(found[0].remedy.find("process p in seriatim.cursor") != std::string::npos);
}

TEST_CASE("jobs of pg_cron that take rows from the table are warned of, others are not") {
  Retention stage;
  stage.database.run(cron);
  stage.database.run(
      "INSERT INTO cron.job (jobid, schedule, command) VALUES"
      " (1, '0 3 * * *', 'VACUUM bookings'), (2, '0 3 * * *', 'DELETE FROM others'),"
      " (3, '0 3 * * *', 'SELECT deleted FROM bookings')");
  stage.database.run(
      "INSERT INTO cron.job (jobid, schedule, command, database, active) VALUES"
      " (4, '* * * * *', 'DELETE FROM bookings', 'elsewhere', true),"
      " (5, '* * * * *', 'DELETE FROM bookings', current_database(), false)");
  CHECK(stage.warnings().empty());
  stage.database.run(
      "INSERT INTO cron.job (jobid, schedule, command) VALUES"
      " (6, '0 3 * * *', 'delete from public.Bookings where id < 7')");
  const auto found = stage.warnings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].what.find("job 6 of pg_cron (0 3 * * *) takes rows from public.bookings") == 0);
}

TEST_CASE("retention that may not be read, or is of another shape, is passed over in silence") {
  Retention stage;
  stage.database.run(partman);
  stage.database.run("INSERT INTO partman.part_config VALUES ('public.bookings', 'id', '7 days')");
  REQUIRE(stage.warnings().size() == 1);
  const LeastRole role(stage.database, "bookings");
  const auto seen = [&] {
    return find(check(role.url(), stage.target), Severity::warning, "pg_partman").has_value();
  };
  CHECK_FALSE(seen());
  stage.database.run("GRANT USAGE ON SCHEMA partman TO " + role.name());
  CHECK_FALSE(seen());
  stage.database.run("GRANT SELECT ON partman.part_config TO " + role.name());
  CHECK(seen());
  stage.database.run("ALTER TABLE partman.part_config DROP COLUMN retention");
  CHECK(stage.warnings().empty());
}
