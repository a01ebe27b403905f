// `audit`: everything that was delivered, recounted.
#include <doctest/doctest.h>

#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::BucketAudit;
using postgres::LaneAudit;
using Verdict = BucketAudit::Verdict;

namespace {

/// 300 rows delivered, in five buckets and the open one.
struct Delivered : Desk {
  explicit Delivered(OrderBy order = OrderBy::created_at) : Desk(order) {
    database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 300)");
    auto relay = this->relay();
    REQUIRE(relay.claim());
    while (!relay.deliver(16).empty()) {
    }
  }

  LaneAudit audit(bool every_bucket = true) {
    auto lanes = admin.audit(target, every_bucket, [](std::uint64_t) {});
    REQUIRE(lanes.size() == 1);
    return lanes.front();
  }
  void seal() {
    database.run(
        "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)), ids "
        "= NULL, ranges = NULL WHERE number < 200");
  }
};

}  // namespace

TEST_CASE("the audit proves a lane complete up to its cursor, bucket by bucket") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.insert(1);  // waits: not the audit's business
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.rows == 300);
  CHECK(audit.sequence == 300);
  CHECK(audit.position->id == "300");
  CHECK(audit.bucket_count == 5);
  CHECK(audit.buckets.size() == 5);
  CHECK(audit.buckets.back().open);
  CHECK(audit.gone == 0);
  CHECK(audit.set_aside == std::optional<std::uint64_t>(0));
  CHECK(std::to_string(audit.hash) ==
        desk.database.value("SELECT bit_xor(hashtextextended(id::text, 0)) FROM bookings "
                            "WHERE id <= 300"));
  const auto joined = desk.audit(false);
  CHECK(joined.buckets.size() <= 3);  // an hour may end meanwhile
  CHECK(joined.hash == audit.hash);
  CHECK(joined.bucket_count == 5);
}

TEST_CASE("a late row is named, in an open and in a closed bucket") {
  BOTH_ORDERS
  Delivered desk(order);
  std::string neighbour = "2";
  SUBCASE("closed") {}
  SUBCASE("open") {
    neighbour = "299";
  }
  desk.database.run("DELETE FROM bookings WHERE id = " + neighbour);
  CHECK(desk.audit().sound());
  CHECK(desk.audit().gone == 1);
  const auto id = order == OrderBy::id ? "-7" : "1000";
  desk.database.run(
      std::string(behind) + "SELECT " + id +
      ", created_at, '{}' FROM bookings WHERE id = " + std::to_string(std::stoi(neighbour) - 1));
  const auto audit = desk.audit();
  CHECK_FALSE(audit.sound());
  CHECK(audit.late_rows == 1);
  REQUIRE(audit.late.size() == 1);
  CHECK(audit.late[0].id == id);
  CHECK(audit.gone == 1);
  CHECK(audit.mismatches == 0);
}

TEST_CASE("deleted rows are counted, and are no reason to doubt the rest") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.database.run("DELETE FROM bookings WHERE id % 10 = 0");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.gone == 30);
}

TEST_CASE("sealed buckets: fewer rows are said to be fewer, more or others are a mismatch") {
  BOTH_ORDERS
  Delivered desk(order);
  desk.seal();
  CHECK(desk.audit().sound());
  CHECK(desk.audit().thinned == 0);
  CHECK(desk.audit().buckets.front().sealed);
  desk.database.run("DELETE FROM bookings WHERE id = 2");
  auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.thinned == 1);
  CHECK(audit.buckets.front().verdict == Verdict::thinned);
  const auto insert = [&](const std::string& id) {
    desk.database.run(std::string(behind) + "SELECT " + id +
                      ", created_at, '{}' FROM bookings WHERE id = 3");
  };
  const bool by_id = order == OrderBy::id;
  insert(by_id ? "-1" : "1001");
  audit = desk.audit();  // as many, but others
  CHECK(audit.mismatches == 1);
  CHECK(contains(audit.mismatch_texts.at(0), "not the same"));
  insert(by_id ? "-2" : "1002");
  audit = desk.audit();
  CHECK(audit.mismatches == 1);
  CHECK(contains(audit.mismatch_texts.at(0), "more than were delivered"));
  CHECK(audit.buckets.front().verdict == Verdict::mismatch);
}

TEST_CASE("a ledger that was tampered with does not pass") {
  Delivered desk;
  std::string change;
  SUBCASE("a bucket taken out") {
    change = "DELETE FROM seriatim.ledger WHERE number = 128";
  }
  SUBCASE("a row taken out of the count") {
    change = "UPDATE seriatim.ledger SET rows = rows - 1 WHERE number = 128";
  }
  SUBCASE("another hash, sealed") {
    change =
        "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)) + 1, "
        "ids = NULL, ranges = NULL WHERE number = 128";
  }
  SUBCASE("the cursor's count") {
    change = "UPDATE seriatim.cursor SET sequence = sequence + 1";
  }
  desk.database.run(change);
  CHECK_FALSE(desk.audit().sound());
  CHECK(desk.audit().mismatches >= 1);
}

TEST_CASE("rows set aside by operators are counted from the journal, where it may be read") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  REQUIRE(relay.deliver(1) == Ids{"1"});
  halt_at_next(relay);
  desk.admin.skip(desk.target, "2", alice);
  const auto quiet = [](std::uint64_t) {};
  const auto audit = desk.admin.audit(desk.target, true, quiet).at(0);
  CHECK(audit.sound());
  CHECK(audit.rows == 2);
  CHECK(audit.set_aside == std::optional<std::uint64_t>(1));
  const LeastRole role(desk.database, "public.bookings");
  Admin least(role.url());
  CHECK(least.audit(desk.target, true, quiet).at(0).sound());
}

TEST_CASE("a cursor older than the ledger is proven from where the ledger begins") {
  Delivered desk;
  desk.database.run("DELETE FROM seriatim.ledger WHERE number < 200");
  desk.database.run(
      "UPDATE seriatim.cursor SET ledger_start = (SELECT min(number) - 64 FROM seriatim.ledger)");
  const auto audit = desk.audit();
  CHECK(audit.sound());
  CHECK(audit.ledger_start == 192);
  CHECK(audit.ledger_from->id == "192");
}
