#include "postgres/migrate.hpp"

#include <doctest/doctest.h>

#include <future>

#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using testing::SqlSession;
using testing::TestDatabase;

namespace {

std::string empty_database(const std::string& name) {
  SqlSession(testing::shared_server().url()).run("CREATE DATABASE " + name);
  return testing::shared_server().url(name);
}

}  // namespace

TEST_CASE("a migrated schema is left alone by the next init") {
  TestDatabase database;
  CHECK(postgres::migrate(database.url()).empty());
  CHECK(postgres::schema_version(database.url()) >= 1);
}

TEST_CASE("two inits at once install each migration once") {
  const auto url = empty_database("migrate_twice");
  CHECK(postgres::schema_version(url) == 0);
  auto other = std::async(std::launch::async, [&] { return postgres::migrate(url).size(); });
  const auto here = postgres::migrate(url).size();
  const auto noted = SqlSession(url).value("SELECT count(*) FROM seriatim.migration");
  CHECK(std::to_string(here + other.get()) == noted);
}

TEST_CASE("the script for a DBA installs the same schema") {
  const auto url = empty_database("migrate_by_hand");
  SqlSession session(url);
  session.run(postgres::schema_script());
  CHECK(postgres::migrate(url).empty());
  CHECK(session.value("SELECT seriatim.append('a', '1', 'made', '{}')") == "1");
}

TEST_CASE("a schema newer than the program is refused") {
  TestDatabase database;
  database.run("INSERT INTO seriatim.migration (version, name) VALUES (9999, 'future')");
  CHECK_THROWS_WITH_AS(install_schema(database.url()), doctest::Contains("use the newer seriatim"),
                       Error);
}

TEST_CASE("updated_at of a cursor row follows every change") {
  TestDatabase database;
  database.run("INSERT INTO seriatim.cursor (process_name, lane, lanes) VALUES ('p', 0, 1)");
  database.run("UPDATE seriatim.cursor SET attempts = 1");
  CHECK(database.value("SELECT updated_at > created_at FROM seriatim.cursor") == "t");
}
