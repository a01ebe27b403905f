// Where a process begins that has no cursor yet: `start`. A cursor that exists is never moved by
// it.
#include <doctest/doctest.h>

#include "postgres/admin/check/check.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"
#include "postgres/table/rewind_place.hpp"
#include "postgres/test_auditor.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

Ids deliver(TestLane& lane) {
  if (!lane.claim()) return {"not claimed"};
  return lane.deliver();
}

std::string refusal(TestLane& lane) {
  try {
    lane.claim();
    return "";
  } catch (const SourceBroken& broken) {
    return std::string(to_string(broken.reason())) + ": " + broken.what();
  }
}

std::vector<std::string> checked(const Desk& desk, postgres::Finding::Severity severity) {
  std::vector<std::string> found;
  for (const auto& finding : postgres::check(desk.database.url(), desk.target)) {
    if (finding.severity == severity) found.push_back(finding.what);
  }
  return found;
}

bool any_contains(const std::vector<std::string>& texts, const std::string& part) {
  for (const auto& text : texts) {
    if (contains(text, part)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a process begins at its start place, and what lies before it is not late") {
  struct Case {
    const char* start;
    Ids first;
    const char* reported;
  };
  for (const auto order : {OrderBy::created_at, OrderBy::id}) {
    for (const auto& [start, first, reported] :
         {Case{"beginning",
               {"1", "2", "3", "4"},
               "begins with the oldest row (start = \"beginning\"); 3 rows go out first"},
          Case{"now", {"4"}, "begins with rows committed from now on (start = \"now\")"},
          Case{"3", {"3", "4"}, "begins with row 3 (start = \"3\"); 1 row goes out first"},
          Case{
              "id:2", {"2", "3", "4"}, "begins with row 2 (start = \"id:2\"); 2 rows go out first"},
          Case{"2026-01-02T00:00:00Z",
               {"3", "4"},
               "created at or after 2026-01-02T00:00:00Z (start = \"2026-01-02T00:00:00Z\"); 1 row "
               "goes out first"}}) {
      const auto& shown = start;
      CAPTURE(shown);
      CAPTURE(static_cast<int>(order));
      Desk desk(order);
      desk.database.run(
          "UPDATE bookings SET created_at = timestamptz '2026-01-01 UTC' + (id - 2) * interval '1 "
          "day 1 second'");
      desk.target.source.start = start;
      CHECK(any_contains(checked(desk, postgres::Finding::Severity::ok), reported));
      auto lane = desk.relay();
      REQUIRE(lane.claim());
      CHECK(desk.database.value(
                "SELECT detail->>'start' FROM seriatim.journal WHERE act = 'begin'") == start);
      desk.insert(1);
      CHECK(desk.database.becomes_true(
          "SELECT clock_timestamp() > max(created_at) + interval '20ms' FROM bookings"));
      CHECK(lane.deliver() == first);
      CHECK(desk.cursor("sequence") == std::to_string(first.size()));
      CHECK_FALSE(audit_fully(desk.database, desk.target.source));
      REQUIRE(lane.claim());
      const auto audits = desk.admin.audit(desk.target, true, [](std::uint64_t) {});
      CHECK(audits.at(0).sound());
      CHECK(checked(desk, postgres::Finding::Severity::refusal).empty());
      desk.target.source.start = "beginning";  // the cursor is there: nothing changes
      CHECK(deliver(lane).empty());
    }
  }
}

TEST_CASE("a start place that is none is refused by check and by the lane, and begins nothing") {
  Desk desk;
  for (const auto& [start, what] :
       {std::pair{"17", "there is no row 17"}, std::pair{"begining", "is no place in table"},
        std::pair{"2026-99-01", "is no place in table"},
        std::pair{"2999-01-01", "is still to come"}}) {
    const auto& shown = start;
    CAPTURE(shown);
    desk.target.source.start = start;
    auto lane = desk.relay();
    CHECK(contains(refusal(lane), "CONFIG_CHANGED"));
    CHECK(contains(refusal(lane), what));
    CHECK(any_contains(checked(desk, postgres::Finding::Severity::refusal), what));
    CHECK(desk.cursor("count(*)") == "0");
  }
}

TEST_CASE(
    "start = now loses no row that a transaction in flight commits before rows committed earlier") {
  BOTH_ORDERS
  Desk desk(order);
  REQUIRE(desk.database.becomes_true(
      "SELECT clock_timestamp() > max(created_at) + interval '20ms' FROM bookings"));
  auto in_flight = desk.database.connect();
  in_flight.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");  // row 4
  desk.insert(1);                                                        // row 5, committed
  desk.target.source.start = "now";
  auto lane = desk.relay();
  REQUIRE(lane.claim());  // at once: it is seen when that transaction began
  CHECK(lane.deliver().empty());
  in_flight.run("COMMIT");
  desk.insert(1);
  CHECK(desk.database.becomes_true(
      "SELECT clock_timestamp() > max(created_at) + interval '20ms' FROM bookings"));
  CHECK(lane.deliver() == Ids{"4", "5", "6"});
}

TEST_CASE(
    "start = now waits for a writer whose beginning is hidden, and for what it commits only") {
  BOTH_ORDERS
  Desk desk(order);
  const LeastRole role(desk.database, "bookings");
  auto hidden = desk.database.connect("nightly");
  hidden.run("BEGIN; INSERT INTO bookings (payload) VALUES ('{}')");  // row 4
  SUBCASE("another role's") {}
  SUBCASE("prepared") {
    hidden.run("PREPARE TRANSACTION 'order-17'");
  }
  const bool prepared = desk.database.value("SELECT count(*) FROM pg_prepared_xacts") == "1";
  desk.insert(1);  // row 5
  auto source = desk.target.source;
  source.start = "now";
  TestLane lane(role.url(), source);
  const auto answer = lane.session->claim();
  CHECK_FALSE(answer.granted);
  CHECK(contains(answer.waits_for, prepared ? "prepared 'order-17'" : "nightly"));
  CHECK(desk.cursor("count(*)") == "0");
  desk.insert(1);  // row 6: after now, and committed before that transaction ends
  lane.open();     // what is known outlives the session
  CHECK_FALSE(lane.claim());
  hidden.run(prepared ? "COMMIT PREPARED 'order-17'" : "COMMIT");
  REQUIRE(lane.claim());
  CHECK(desk.database.becomes_true(
      "SELECT clock_timestamp() > max(created_at) + interval '20ms' FROM bookings"));
  CHECK(lane.deliver() == Ids{"6"});
}

TEST_CASE("late_rows = deliver: rows of before the start place are not delivered as late") {
  Desk desk;
  desk.target.source.late_rows = OnLateRow::deliver;
  desk.target.source.start = "now";
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  for (int i = 0; i < 3; ++i) CHECK(lane.poll().records.empty());
  desk.insert(1);
  CHECK(desk.database.becomes_true(
      "SELECT clock_timestamp() > max(created_at) + interval '20ms' FROM bookings"));
  CHECK(lane.deliver() == Ids{"4"});
  CHECK(lane.poll().records.empty());
}

TEST_CASE(
    "all lanes of a process begin at one moment, and adopt begins it at its start place too") {
  Desk desk;
  desk.target.source.key = "customer";
  desk.target.process.lanes = 3;
  desk.target.source.start = "now";
  SUBCASE("by a claim") {
    REQUIRE(desk.relay().claim());
  }
  SUBCASE("by adopt") {
    desk.admin.adopt(desk.target, std::nullopt, alice);
  }
  CHECK(desk.cursor("count(*), count(DISTINCT created_at), min(lanes), min(position_id)") ==
        "3|1|3|3");
}

TEST_CASE(
    "an update of a retired cursor row is refused with what to do, as by programs of before") {
  Desk desk;
  REQUIRE(desk.relay().claim());
  desk.database.run("UPDATE seriatim.cursor SET holder = NULL");
  auto renamed = desk.target;
  renamed.process.name = "renamed";
  desk.admin.adopt(renamed, "process", alice);
  const auto refused = [&](const std::string& change) {
    try {
      desk.database.run("UPDATE seriatim.cursor SET " + change + " WHERE process_name = 'process'");
      return std::string("accepted");
    } catch (const std::exception& thrown) {
      return std::string(thrown.what());
    }
  };
  for (const auto* change : {"holder = 'old'", "state = 'running'", "epoch = epoch + 1"}) {
    CAPTURE(change);
    const auto said = refused(change);
    CHECK(contains(said, "process \"process\" was renamed to \"renamed\" at "));
    CHECK(contains(said, " by alice@desk (the number is wrong): set name = \"renamed\""));
  }
  auto lane = desk.relay();
  CHECK(contains(refusal(lane), "CONFIG_CHANGED: process \"process\" was renamed to \"renamed\""));
}

TEST_CASE("a place that begins with a date is a time, however long it is; other text is a row") {
  using PlaceKind = postgres::RewindPlace::Kind;
  CHECK(postgres::place_from("2026-01-31").kind == PlaceKind::time);
  CHECK(postgres::place_from("2026-01-31T08:00:00Z").kind == PlaceKind::time);
  CHECK(postgres::place_from("2026-01-31 " + std::string(1 << 20, '0')).kind == PlaceKind::time);
  CHECK(postgres::place_from("2026-01-310").kind == PlaceKind::row);
  CHECK(postgres::place_from("20260131").kind == PlaceKind::row);
  CHECK(postgres::place_from("id:2026-01-31").kind == PlaceKind::row);
}
