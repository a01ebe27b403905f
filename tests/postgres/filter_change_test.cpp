// `where` or `ignore` is changed over rows behind the cursor: one decision, and no ambush.
#include <mutex>

#include "postgres/admin/check/check.hpp"
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::OldRows;
using postgres::RowReport;

namespace {

/// Rows 1 to 300, of which those of customer b are left out, are behind the cursor.
struct Filtered : Desk {
  explicit Filtered(OrderBy order = OrderBy::created_at,
                    const std::string& where = "customer = 'a'",
                    const std::vector<std::string>& ignore = {})
      : Desk(order) {
    database.run("UPDATE bookings SET customer = 'a'");
    database.run(
        "INSERT INTO bookings (customer, payload)"
        " SELECT CASE WHEN n % 3 = 0 THEN 'b' ELSE 'a' END, '{}' FROM generate_series(4, 300) n");
    target.source.where = where;
    target.source.ignore = ignore;
    target.source.event_type = "customer";
    auto lane = relay();
    REQUIRE(lane.claim());
    while (!lane.deliver(50).empty()) {
    }
    REQUIRE(cursor("position_id") == "299");
  }
  /// 99 rows match now that did not: 6, 9, …; row 300 is after the cursor.
  void change(const std::string& where = "") { target.source.where = where; }

  /// What a relay that starts now says as it halts; "": it goes on.
  std::string visit() {
    auto lane = relay("visitor");
    if (!lane.claim()) return "not claimed";
    try {
      lane.poll(1);
    } catch (const SourceBroken& broken) {
      CHECK(broken.reason() == HaltReason::config_changed);
      return broken.what();
    }
    lane.session->release(lane.cursor.epoch, true);
    return "";
  }
  std::string adopt(OldRows old_rows) {
    return admin.adopt(target, std::nullopt, alice, old_rows).at(0);
  }
  postgres::LaneAudit audit() {
    return admin.audit(target, false, [](std::uint64_t) {}).at(0);
  }
};

constexpr const char* command =
    "seriatim adopt process --source-changed --old-rows skip (or deliver) --reason TEXT";

}  // namespace

TEST_SUITE("filter change") {
  TEST_CASE("rows behind the cursor that match now: the lane asks for one decision, check counts") {
    for (const auto order : orders) {
      Filtered desk(order);
      desk.change("customer IN ('a', 'b')");
      const auto said = desk.visit();
      CHECK(contains(said, "It was: customer = 'a', and is: customer IN ('a', 'b')"));
      CHECK(contains(said, "it takes row 6 behind the cursor, and perhaps others, now"));
      CHECK(contains(said, command));
      const auto refused = postgres::refusals(postgres::check(desk.database.url(), desk.target));
      CHECK(contains(refused, "it takes 98 rows behind the cursors now"));
      CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, std::nullopt, alice),
                           doctest::Contains("it takes 98 rows behind the cursor now"), Error);
      CHECK(contains(desk.visit(), command));  // nothing was decided
    }
  }

  TEST_CASE("skip: they are passed over in bulk, counted and journalled, and never halt the lane") {
    for (const auto order : orders) {
      Filtered desk(order);
      const auto sequence = std::stoul(desk.cursor("sequence"));
      desk.change();
      CHECK(desk.visit() != "");
      CHECK(contains(desk.adopt(OldRows::skip), "98 old rows passed over; goes on after row 299"));
      CHECK(desk.journal("act, who, why, detail->>'old_rows', detail->>'rows'") ==
            "adopt|alice@desk|the number is wrong|skip|98");
      CHECK(desk.cursor("sequence, set_aside") == std::to_string(sequence + 98) + "|98");
      CHECK(desk.visit() == "");
      CHECK(desk.audit().sound());
      CHECK(desk.audit().passed_over == 98);
      const auto report = desk.admin.why(desk.target, "6");
      CHECK(report.passed_over);
      CHECK(report.act->kind == "adopt");
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      CHECK(lane.deliver() == Ids{"300"});
    }
  }

  TEST_CASE("deliver: they go out late and in order, one batch of new rows after each of theirs") {
    for (const auto order : orders) {
      Filtered desk(order);
      desk.change();
      desk.insert(100);
      CHECK(contains(desk.adopt(OldRows::deliver), "98 old rows go out late, in between new ones"));
      auto report = desk.admin.status(desk.target).at(0);
      CHECK(report.late_records == 98);
      CHECK(report.lag_records == 98 + 101);
      CHECK(desk.audit().due == 98);
      CHECK(desk.admin.why(desk.target, "9").state == RowReport::State::waiting);
      CHECK(desk.admin.why(desk.target, "9").rows_before == 1);
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      Ids batches;  // the first row of each
      Ids late;
      for (;;) {
        const auto round = lane.poll(30);
        if (round.records.empty()) break;
        batches.push_back(round.records.front().id());
        for (const auto& record : round.records) {
          if (record.late) late.push_back(record.id());
          CHECK(record.late == (std::stoi(record.id()) < 300));
        }
        REQUIRE(lane.advance(round));
        if (batches.size() == 1) {
          CHECK(desk.admin.status(desk.target).at(0).late_records == 68);
        }
      }
      CHECK(batches == Ids{"6", "300", "96", "330", "186", "360", "276", "390"});
      REQUIRE(late.size() == 98);
      CHECK(late.back() == "297");
      CHECK(desk.audit().sound());
      CHECK(desk.audit().due == 0);
      CHECK(desk.audit().passed_over == 0);
      CHECK(desk.admin.why(desk.target, "6").state == RowReport::State::delivered);
    }
  }

  TEST_CASE("deliver: several calls in flight hand them over too, and the ledger counts them") {
    Filtered desk;
    desk.change();
    desk.insert(100);
    desk.target.source.key = "(id % 7)::text";
    desk.adopt(OldRows::deliver);
    desk.target.process.in_flight = 8;
    desk.target.process.on_poison = OnPoison::park_key;
    std::mutex mutex;
    Ids late;
    std::map<std::string, int> last;  // by key
    Relay relay({.drain = true});
    relay.add(desk.target.process, postgres_source(desk.database.url(), desk.target.source),
              handler_from([&](const Record& record) {
                const std::scoped_lock lock(mutex);
                if (record.id() == "9") return Outcome::poison("HTTP 422");
                if (std::stoi(record.id()) < 300) {
                  CHECK(record.late);
                  late.push_back(record.id());
                  CHECK(std::stoi(record.id()) >
                        std::exchange(last[*record.key], std::stoi(record.id())));
                }
                return Outcome::done();
              }));
    relay.run({});
    // Rows 30, 51, … of its key wait behind row 9.
    CHECK(late.size() == 98 - 14);
    CHECK(desk.admin.status(desk.target).at(0).parked.heads == 1);
    const auto audit = desk.audit();
    CHECK(audit.sound());
    CHECK(audit.passed_over == 0);
  }

  TEST_CASE("old rows in sealed buckets are found by the former filter, if none was delivered") {
    BOTH_ORDERS
    Filtered desk(order);
    desk.database.run(
        "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)),"
        " ids = NULL, ranges = NULL");
    desk.change("customer IN ('a', 'b') -- all of them\n");
    SUBCASE("skip") {
      CHECK(contains(desk.adopt(OldRows::skip), "98 old rows passed over"));
      CHECK(desk.audit().sound());
      CHECK(desk.visit() == "");
    }
    SUBCASE("deliver") {
      CHECK(contains(desk.adopt(OldRows::deliver), "98 old rows go out late"));
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      CHECK(lane.deliver().size() == 98);
      CHECK(lane.deliver() == Ids{"300"});
      CHECK(desk.audit().sound());
    }
    SUBCASE("also if rows of the former filter do not match any more") {
      desk.change("customer = 'b'");
      CHECK(contains(desk.adopt(OldRows::skip), "98 old rows passed over"));
      CHECK(desk.visit() == "");
    }
    SUBCASE("also if a row there is parked, which the ledger counts") {
      desk.database.run(
          "INSERT INTO seriatim.aside (process_name, row_id, lane, state, head, parked_at)"
          " VALUES ('process', '7', 0, 'parked', true, clock_timestamp())");
      CHECK(contains(desk.adopt(OldRows::skip), "98 old rows passed over"));
      CHECK(desk.audit().sound());
    }
    SUBCASE("also by the lanes that it was cut into since") {
      desk.target.source.where = "customer = 'a'";
      desk.target.source.key = "id::text";
      CHECK(desk.visit() == "");
      desk.admin.repartition(desk.target, 2, alice, [](const std::string&) { return true; });
      desk.target.process.lanes = 2;
      desk.change();
      CHECK(contains(desk.visit(), command));
      desk.admin.adopt(desk.target, std::nullopt, alice, OldRows::deliver);
      CHECK(desk.database.value(
                "SELECT count(*) FROM seriatim.aside WHERE state = 'due' AND late") == "98");
      CHECK(desk.visit() == "");
    }
    SUBCASE("a delivered row was deleted, so nothing is proved in its bucket") {
      desk.database.run("DELETE FROM bookings WHERE id = 1");
      const auto done = desk.adopt(OldRows::deliver);
      CHECK_FALSE(contains(done, "98 old rows"));
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      for (const auto& id : lane.deliver()) CHECK(std::stoi(id) % 3 == 0);
    }
    SUBCASE("the former filter names a column that is gone") {
      desk.database.run("ALTER TABLE bookings RENAME customer TO client");
      desk.target.source.where = "client IN ('a', 'b')";
      desk.target.source.event_type = "client";
      CHECK(desk.database.value("SELECT count(*) FROM seriatim.ledger") != "0");
      const auto old = desk.visit();
      CHECK((old.empty() || contains(old, command)));
    }
  }

  TEST_CASE("rows behind the cuts of former lanes are part of the same decision") {
    BOTH_ORDERS
    Filtered desk(order);
    desk.target.source.key = "id::text";
    CHECK(desk.visit() == "");
    desk.admin.repartition(desk.target, 3, alice, [](const std::string&) { return true; });
    desk.target.process.lanes = 3;
    desk.change();
    desk.admin.adopt(desk.target, std::nullopt, alice, OldRows::deliver);
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.aside WHERE state = 'due' AND late") ==
          "98");
    CHECK(desk.database.value("SELECT bool_and(lane = ((hashtextextended(row_id, 0) % 3) + 3) % 3)"
                              " FROM seriatim.aside") == "t");
  }

  TEST_CASE("a process that is renamed at the same time is asked too") {
    Filtered desk;
    desk.change();
    desk.target.process.name = "renamed";
    desk.admin.adopt(desk.target, "process", alice);
    CHECK(contains(desk.visit(),
                   "seriatim adopt renamed --source-changed --old-rows skip (or deliver)"));
  }

  TEST_CASE("no decision is taken while a relay still reads by the former filter") {
    Filtered desk;
    auto lane = desk.relay("of the former configuration");
    REQUIRE(lane.claim());
    desk.change();
    CHECK_THROWS_WITH_AS(desk.adopt(OldRows::deliver),
                         doctest::Contains("start that relay again with the new configuration"),
                         Error);
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.aside") == "0");
    lane.session->release(lane.cursor.epoch, true);
    CHECK(contains(desk.adopt(OldRows::deliver), "98 old rows go out late"));
  }

  TEST_CASE("status shows the command, however long the filters are") {
    Filtered desk(OrderBy::created_at,
                  "customer = 'a' AND length('" + std::string(400, 'x') + "') > 0");
    desk.change();
    CHECK(contains(desk.visit().substr(0, 500), command));
  }

  TEST_CASE("with late_rows = deliver the same decision is asked for") {
    Filtered desk;
    desk.target.source.late_rows = OnLateRow::deliver;
    CHECK(desk.visit() == "");
    desk.change();
    CHECK(contains(desk.visit(), command));
    desk.adopt(OldRows::skip);
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"300"});
  }

  TEST_CASE("a change that concerns no row behind the cursor is noted and journalled") {
    Filtered desk;
    desk.change("customer = 'a' AND payload IS NOT NULL");  // narrower
    CHECK(desk.visit() == "");
    CHECK(desk.journal("act, detail#>>'{before,filter}', detail#>>'{after,filter}'") ==
          "source|customer = 'a'|customer = 'a' AND payload IS NOT NULL");
    desk.change("  customer   =\n'a'   AND payload IS NOT NULL ");  // the same
    CHECK(desk.visit() == "");
    desk.target.source.payload = "to_jsonb(t)";
    CHECK(desk.visit() == "");
    CHECK(desk.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'source'") == "2");
  }

  TEST_CASE("an event type that is taken out of `ignore` is the same question") {
    Filtered desk(OrderBy::created_at, "", {"b"});
    desk.target.source.ignore = {};
    CHECK(contains(desk.visit(), "<> ALL ('{\"b\"}'::text[])), and is: true"));
    CHECK(contains(desk.adopt(OldRows::skip), "98 old rows passed over"));
    CHECK(desk.visit() == "");
  }

  TEST_CASE("lanes that halt over it go on once it is decided, in a relay that runs") {
    Filtered desk;
    desk.change();
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    CHECK_THROWS_AS(lane.poll(1), SourceBroken);
    REQUIRE(lane.settle(
        {lane.cursor.position, {}, {}, Halt{HaltReason::config_changed, {"", "asked"}}}));
    desk.adopt(OldRows::skip);
    CHECK(desk.cursor("state") == "running");
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"300"});
  }

  TEST_CASE("another key halts a process of several lanes, and no process of one") {
    Desk desk;
    desk.target.source.key = "customer";
    {
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      REQUIRE(lane.deliver().size() == 3);
    }
    desk.target.source.key = "lower(customer)";
    {
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      CHECK(lane.poll().records.empty());
    }
    desk.admin.repartition(desk.target, 2, alice, [](const std::string&) { return true; });
    desk.target.process.lanes = 2;
    desk.target.source.key = "customer";
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    CHECK_THROWS_WITH_AS(lane.poll(),
                         doctest::Contains("the key was lower(customer) and is customer"),
                         SourceBroken);
    CHECK_THROWS_WITH_AS(
        desk.admin.repartition(desk.target, 1, alice, [](const std::string&) { return true; }),
        doctest::Contains("the key was lower(customer)"), Error);
    CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, std::nullopt, alice),
                         doctest::Contains("cut it again; nothing was adopted"), Error);
    const auto refused = postgres::refusals(postgres::check(desk.database.url(), desk.target));
    CHECK(contains(refused, "set the former key"));
    CHECK_FALSE(contains(refused, "seriatim adopt"));
  }
}
