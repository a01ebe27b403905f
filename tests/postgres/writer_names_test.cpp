// Who holds rows up, for people: asked seldom, and reported as of now.
#include <doctest/doctest.h>

#include <set>

#include "postgres/lane_fixture.hpp"
#include "postgres/reader/fence_reader.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

using Names = std::vector<std::string>;

/// The names a lane on table t knows, and a clock we move by hand.
struct Known {
  TestDatabase& database;
  postgres::Connection connection{database.url(), {}};
  postgres::Table table = postgres::resolve_table(connection, testing::table("public.t"));
  postgres::WriterNames names{connection, table};
  postgres::WriterNames::Clock::time_point now = postgres::WriterNames::Clock::now();

  std::vector<Blocker> blockers() {
    std::set<std::string> transactions;
    for (const auto& holder : postgres::read_lock_holders(connection, table)) {
      transactions.insert(holder.transaction);
    }
    return names.of(transactions, now);
  }
  Names applications() {
    Names found;
    for (const auto& blocker : blockers()) found.push_back(blocker.application);
    return found;
  }
};

SqlSession writer(const TestDatabase& database, const std::string& application) {
  auto session = database.connect(application);
  session.run("BEGIN; INSERT INTO t DEFAULT VALUES");
  return session;
}

}  // namespace

TEST_CASE("names of those who hold rows up are read ten times a second, a newcomer's at once") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, " + stamped + ")");
  Known known{database};
  CHECK(known.applications().empty());
  auto first = writer(database, "first");
  CHECK(known.applications() == Names{"first"});
  first.run("SET application_name = 'renamed'");
  known.now += milliseconds{99};
  CHECK(known.applications() == Names{"first"});
  known.now += milliseconds{1};
  CHECK(known.applications() == Names{"renamed"});
  first.run("SET application_name = 'first'");
  auto second = writer(database, "second");
  CHECK(known.applications() == Names{"first", "second"});
  first.run("COMMIT");
  CHECK(known.applications() == Names{"second"});
}

TEST_CASE("who holds rows up has grown older since the name was read") {
  TestDatabase database;
  database.run("CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, " + stamped + ")");
  auto holder = writer(database, "holder");
  REQUIRE(
      database.becomes_true("SELECT bool_or(clock_timestamp() - xact_start > interval '2 ms') "
                            "FROM pg_stat_activity WHERE application_name = 'holder'"));
  Known known{database};
  const auto age = known.blockers().at(0).age;
  REQUIRE(age > milliseconds{0});
  known.now += milliseconds{99};
  CHECK(known.blockers().at(0).age == age + milliseconds{99});
}
