// What was delivered is noted by exact ids in the cursor's own transaction.
#include <doctest/doctest.h>

#include "postgres/admin/migrate.hpp"
#include "postgres/desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

struct Noted : Desk {
  using Desk::Desk;
  std::string open_bucket() {
    return database.value(
        "SELECT string_agg(id, ',' ORDER BY length(id), id) FROM (SELECT "
        "seriatim.ledger_ids(bucket_ids, bucket_ranges) AS id FROM seriatim.cursor) x");
  }
  /// Buckets whose neighbours do not join, or that reach beyond the cursor.
  std::string gaps() {
    return database.value(
        "SELECT count(*) FROM (SELECT (from_at, from_id) IS NOT DISTINCT FROM (lag(to_at) OVER o, "
        "lag(to_id) OVER o) AS joins FROM (SELECT number, from_at, from_id, to_at, to_id FROM "
        "seriatim.ledger UNION ALL SELECT sequence + 1, bucket_at, bucket_id, NULL, NULL FROM "
        "seriatim.cursor) AS x WINDOW o AS (ORDER BY number)) AS y WHERE NOT joins");
  }
};

}  // namespace

TEST_CASE("the open bucket holds the ids delivered since it began, and no others") {
  Noted desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK(desk.open_bucket().empty());
  REQUIRE(relay.deliver(2) == Ids{"1", "2"});
  CHECK(desk.open_bucket() == "1,2");
  REQUIRE(relay.start());
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger") == "0");
  relay.session.reset();  // before the advance: nothing was delivered
  CHECK(desk.open_bucket() == "1,2");
}

TEST_CASE("a full bucket is closed with its range, count and hash, whatever a commit covers") {
  unsigned rows_at_once = 1;
  SUBCASE("row by row") {}
  SUBCASE("seven at once") {
    rows_at_once = 7;
  }
  SUBCASE("a hundred at once") {
    rows_at_once = 100;
  }
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    Noted desk(order);
    desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 200)");
    auto relay = desk.relay();
    REQUIRE(relay.claim());
    for (unsigned done = 0; done < 200;) {
      const auto rows = relay.deliver(rows_at_once).size();
      REQUIRE(rows > 0);
      done += static_cast<unsigned>(rows);
    }
    CHECK(desk.database.value(
              "SELECT (SELECT sum(rows) FROM seriatim.ledger) + "
              "(SELECT seriatim.ledger_rows(bucket_ids, bucket_ranges) FROM seriatim.cursor)") ==
          "200");
    CHECK(desk.gaps() == "0");
    CHECK(std::stoi(desk.database.value("SELECT count(*) FROM seriatim.ledger")) >= 2);
    CHECK(desk.database.value(
              "SELECT bool_and(rows = seriatim.ledger_rows(ids, ranges) AND coalesce(hash, "
              "seriatim.ledger_hash(ids, ranges)) = seriatim.ledger_hash(ids, ranges) AND rows = "
              "(SELECT count(*) FROM bookings AS b WHERE b.id::text IN (SELECT "
              "seriatim.ledger_ids(ids, ranges)) AND (l.from_at IS NULL OR "
              "(b.created_at, b.id) > (l.from_at, l.from_id::bigint)) AND (b.created_at, b.id) <= "
              "(l.to_at, l.to_id::bigint))) FROM seriatim.ledger AS l") == "t");
    CHECK(desk.database.value("SELECT max(cardinality(bucket_ids)) < 64 FROM seriatim.cursor") ==
          "t");
  }
}

TEST_CASE("a refused advance notes nothing") {
  Noted desk;
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 200)");
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  std::vector<Position> done;
  for (const auto& record : relay.poll().records) done.push_back(record.position);
  REQUIRE(done.size() == 100);
  REQUIRE(relay.start());
  CHECK(relay.session->settle(9, {std::nullopt, done, {}, Rest{}}).grant == Grant::lost);
  CHECK_FALSE(relay.settle({done.front(), done, {}, Rest{}}));
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger") == "0");
  CHECK(desk.open_bucket().empty());
}

TEST_CASE("a skipped row is accounted for like a delivered one") {
  Noted desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  halt_at_next(relay);
  desk.admin.skip(desk.target, "2", alice);
  CHECK(desk.open_bucket() == "1,2");
}

TEST_CASE("a cursor older than the ledger is audited from where it is") {
  const auto url = [] {
    SqlSession(shared_server().url()).run("CREATE DATABASE ledger_upgrade");
    return shared_server().url("ledger_upgrade");
  }();
  SqlSession session(url);
  const auto script = postgres::schema_script();
  const auto first_commit = script.find("COMMIT;\n") + 8;
  session.run(script.substr(0, first_commit));  // as 0.1.0 installed it
  session.run(
      "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id, sequence) "
      "VALUES ('p', 0, 1, '2026-01-01Z', '41', 41)");
  install_schema(url);
  CHECK(session.value("SELECT concat_ws('|', bucket_at = position_at, bucket_id, ledger_start, "
                      "cardinality(bucket_ids)) FROM seriatim.cursor") == "t|41|41|0");
}
