// What a cursor was kept for: noted, compared, refused, adopted.
#include "postgres/table/identity.hpp"

#include <doctest/doctest.h>

#include "postgres/admin/check/check.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::IdentityChange;
using postgres::judge_identity;

namespace {

/// Why the lane's next poll is refused; nothing where it is not.
std::optional<SourceBroken> refusal(TestLane& lane) {
  try {
    (void)lane.poll();
  } catch (const SourceBroken& broken) {
    return broken;
  }
  return std::nullopt;
}

/// As a relay does: claims in a session of its own, and halts where a poll is refused.
std::optional<SourceBroken> visit(Desk& desk, const std::string& holder = "relay") {
  auto lane = desk.relay(holder);
  REQUIRE(lane.claim());
  auto broken = lane.cursor.state == Cursor::State::running ? refusal(lane) : std::nullopt;
  if (broken)
    REQUIRE(
        lane.settle({lane.cursor.position, {}, {}, Halt{broken->reason(), {"", broken->what()}}}));
  lane.session->release(lane.cursor.epoch, true);
  return broken;
}

void note(Desk& desk, const std::string& key, const std::string& value) {
  desk.database.run("UPDATE seriatim.cursor SET identity = identity || '{\"" + key + "\": \"" +
                    value + "\"}'");
}

std::string noted(Desk& desk, const std::string& key) {
  return desk.cursor("identity ->> '" + key + "'");
}

std::vector<std::string> refusals(Desk& desk, const postgres::CheckOptions& options = {}) {
  std::vector<std::string> all;
  for (const auto& finding : postgres::check(desk.database.url(), desk.target, options)) {
    if (finding.severity == postgres::Finding::Severity::refusal) {
      all.push_back(finding.what + " | " + finding.remedy);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the first claim notes server, timeline, database, table and order") {
  Desk desk;
  CHECK_FALSE(visit(desk));
  CHECK(noted(desk, "system") ==
        desk.database.value("SELECT system_identifier FROM pg_control_system()"));
  CHECK(noted(desk, "timeline") == "00000001");
  CHECK(noted(desk, "database") ==
        desk.database.value("SELECT oid FROM pg_database WHERE datname = current_database()"));
  CHECK(noted(desk, "table") == "public.bookings");
  CHECK(noted(desk, "table_oid") == desk.database.value("SELECT 'bookings'::regclass::oid"));
  CHECK(noted(desk, "order_by") == "created_at");
  CHECK(noted(desk, "id") == "\"id\"");
  const auto before = desk.cursor("identity");
  CHECK_FALSE(visit(desk));  // and a second one changes nothing
  CHECK(desk.cursor("identity") == before);
}

TEST_CASE("a cursor kept for another server, timeline, database, table or order is not used") {
  struct Case {
    const char* key;
    const char* noted;
    HaltReason reason;
    const char* what;
  };
  for (const auto& [key, value, reason, what] :
       {Case{"system", "7000000000000000001", HaltReason::source_changed,
             "system identifier was 7000000000000000001 and is "},
        Case{"timeline", "00000009", HaltReason::source_changed,
             "timeline was 00000009 and is 00000001: a standby was promoted"},
        Case{"database", "4", HaltReason::source_changed, "another database of the server"},
        Case{"table_oid", "4", HaltReason::source_changed, "the table was made anew"},
        Case{"table", "public.orders", HaltReason::config_changed,
             "table was public.orders and is public.bookings"},
        Case{"order_by", "id", HaltReason::config_changed, "order_by was id and is created_at"},
        Case{"id", "number", HaltReason::config_changed, "id column was number and is \"id\""},
        Case{"created_at", "made_at", HaltReason::config_changed, "was made_at and is"}}) {
    const auto& shown = key;
    CAPTURE(shown);
    Desk desk;
    REQUIRE_FALSE(visit(desk));
    note(desk, key, value);
    const auto broken = visit(desk);
    REQUIRE(broken);
    CAPTURE(broken->what());
    CHECK(broken->reason() == reason);
    CHECK(contains(broken->what(), what));
    CHECK(contains(broken->what(), "seriatim adopt"));
    const auto refused = refusals(desk);
    REQUIRE(refused.size() == 1);
    CHECK(contains(refused[0], what));
    CHECK(contains(refused[0], "seriatim adopt process"));
    CHECK(refusals(desk, {.configured = {}, .at_start = true}).empty());  // the lane halts itself
  }
}

TEST_CASE("of several changes the gravest is reported") {
  const IdentityChange system{"system", "1", "2"};
  const IdentityChange oid{"table_oid", "3", "4"};
  const IdentityChange table{"table", "a", "b"};
  CHECK_FALSE(judge_identity({}, 1));
  CHECK(contains(judge_identity({oid, system}, 1)->what, "was 1 and is 2"));
  CHECK(judge_identity({oid, table}, 1)->reason == HaltReason::config_changed);
  CHECK_FALSE(contains(judge_identity({oid, table}, 1)->what, "renamed"));
  CHECK(contains(judge_identity({table}, 1)->what, "it was only renamed"));
}

TEST_CASE("what one role may not know is no change, and is noted by the first who may") {
  Desk desk;
  REQUIRE_FALSE(visit(desk));
  const auto system = noted(desk, "system");
  desk.database.run("UPDATE seriatim.cursor SET identity = identity - 'system'");
  CHECK_FALSE(visit(desk));
  CHECK(noted(desk, "system") == system);

  const LeastRole role(desk.database, "bookings");
  desk.database.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  {
    TestLane lane(role.url(), desk.target.source);
    REQUIRE(lane.claim());
    CHECK(lane.poll().records.size() == 3);
  }
  CHECK(noted(desk, "system") == system);
  desk.target.source.key = "customer";
  Admin(role.url()).repartition(desk.target, 2, alice, [](const std::string&) { return true; });
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.cursor") == "2");
  Admin(role.url()).repartition(desk.target, 1, alice, [](const std::string&) { return true; });
  desk.target.source.key.clear();
  const auto unidentified = [&] {
    for (const auto& finding : postgres::check(role.url(), desk.target)) {
      if (contains(finding.what, "may not read the server's system identifier")) {
        return finding.remedy;
      }
    }
    return std::string();
  };
  const auto grant = unidentified();
  REQUIRE_FALSE(grant.empty());
  desk.database.run(grant);
  CHECK(unidentified().empty());
}

TEST_CASE("a table dropped and made anew halts, after retry again, until it is adopted") {
  Desk desk;
  {
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver().size() == 3);
  }
  desk.database.run(std::string("DROP TABLE bookings;") + bookings);
  desk.insert(1);
  REQUIRE(visit(desk));
  CHECK(desk.cursor("state, reason") == "halted|SOURCE_CHANGED");
  CHECK_FALSE(visit(desk, "after a restart"));  // halted still, so nothing is read
  REQUIRE_FALSE(desk.admin.retry(desk.target, alice).empty());
  CHECK(visit(desk));
  CHECK(desk.cursor("state, reason, sequence") == "halted|SOURCE_CHANGED|3");

  const auto old_oid = noted(desk, "table_oid");
  const auto done = desk.admin.adopt(desk.target, std::nullopt, alice);
  const auto new_oid = noted(desk, "table_oid");
  REQUIRE(done.size() == 1);
  CHECK(done[0] ==
        "lane 0: adopted table_oid " + old_oid + " → " + new_oid + "; goes on after row 3");
  CHECK(desk.cursor("state, reason, detail") == "running");
  CHECK(desk.journal("act, who, why, detail ->> 'change', detail #>> '{before,reason}'") ==
        "adopt|alice@desk|the number is wrong|table_oid " + old_oid + " → " + new_oid +
            "|SOURCE_CHANGED");
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  CHECK(lane.deliver() == Ids{"1"});  // inserted after the cursor's moment
  CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, std::nullopt, alice),
                       doctest::Contains("nothing differs"), Error);
}

TEST_CASE("adopted between the claim and the halt: the halt is refused, the next claim goes on") {
  Desk desk;
  {
    auto first = desk.relay();
    REQUIRE(first.claim());
    first.session->release(first.cursor.epoch, true);
  }
  note(desk, "timeline", "00000009");
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  REQUIRE(desk.admin.adopt(desk.target, std::nullopt, alice).size() == 1);
  const auto broken = refusal(lane);
  REQUIRE(broken);
  CHECK_FALSE(
      lane.settle({lane.cursor.position, {}, {}, Halt{broken->reason(), {"", broken->what()}}}));
  CHECK(desk.cursor("state, reason") == "running");
  REQUIRE(lane.claim());
  CHECK_FALSE(refusal(lane));
}

TEST_CASE("adopt lets only those go on who halted over it") {
  Desk desk;
  {
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    halt_at_next(lane);
  }
  CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, std::nullopt, alice),
                       doctest::Contains("what it halted for is something else"), Error);
  note(desk, "timeline", "00000009");
  const auto done = desk.admin.adopt(desk.target, std::nullopt, alice);
  CHECK(contains(done.at(0), "timeline 00000009 → 00000001; still before the first row"));
  CHECK(desk.cursor("state, reason, failed_id") == "halted|POISON|1");
}

TEST_CASE("another order is adopted only when no waiting row lies before the cursor in it") {
  Desk desk(OrderBy::id);
  {
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver().size() == 3);
    lane.session->release(lane.cursor.epoch, true);
  }
  desk.database.run(
      "INSERT INTO bookings (created_at) VALUES ('2020-01-01');"  // 4 waits, and lies before 3
      "UPDATE bookings SET created_at = clock_timestamp() WHERE id = 1");
  desk.target.source.order_by = OrderBy::created_at;
  REQUIRE(visit(desk));
  CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, std::nullopt, alice),
                       doctest::Contains("1 rows that wait in the order of id lie before"), Error);
  CHECK(desk.cursor("state, identity ->> 'order_by'") == "halted|id");
  desk.database.run("DELETE FROM bookings WHERE id = 4");
  const auto done = desk.admin.adopt(desk.target, std::nullopt, alice);
  CHECK(done.at(0) ==
        "lane 0: adopted order_by id → created_at; goes on after row 3; 1 rows sent before come "
        "again");
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  CHECK(lane.deliver() == Ids{"1"});
}

TEST_CASE("commands in advice quote the names a shell would take apart") {
  Desk desk;
  desk.target.process.name = "it's one";
  {
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    lane.session->release(lane.cursor.epoch, true);
  }
  TestLane two(desk.database, desk.target.source, "relay", {"it's one", 0, 2});
  CHECK_THROWS_WITH_AS(two.claim(), doctest::Contains(R"(seriatim lanes 'it'\''s one' 2)"),
                       SourceBroken);
  desk.target.process.name = "two; words";
  const auto renamed = refusals(desk, {.configured = {"two; words"}});
  REQUIRE(renamed.size() == 1);
  CHECK(contains(renamed[0], R"(seriatim adopt 'two; words' --from 'it'\''s one')"));
  CHECK(contains(renamed[0], "another process: seriatim adopt 'two; words'"));
}

TEST_CASE("a process without a cursor is asked whether it is another one under a new name") {
  Desk desk;
  {
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver().size() == 3);
    desk.target.process.name = "renamed";
    CHECK(refusals(desk, {.configured = {"renamed"}}).empty());  // somebody holds the other
    lane.session->release(lane.cursor.epoch, true);
  }
  CHECK(refusals(desk, {.configured = {"renamed", "process"}}).empty());  // both are configured
  const auto refused = refusals(desk, {.configured = {"renamed"}, .at_start = true});
  REQUIRE(refused.size() == 1);
  CHECK(contains(refused[0], "process renamed has no cursor, and process process"));
  CHECK(contains(refused[0], "at row 3"));
  CHECK(contains(refused[0], "CONFIG_CHANGED"));
  CHECK(contains(refused[0], "seriatim adopt renamed --from process\n"));

  SUBCASE("it was renamed: it takes the cursor over") {
    const auto done = desk.admin.adopt(desk.target, "process", alice);
    CHECK(done.at(0) == "lane 0: taken over from process; its cursor is after row 3");
    CHECK(desk.journal("process_name, act, detail #>> '{after,renamed_to}'") ==
          "process|retire|renamed");
    CHECK(refusals(desk, {.configured = {"renamed"}}).empty());
    desk.insert(1);
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"4"});
    CHECK(lane.cursor.sequence == 4);
  }
  SUBCASE("it is another one: it begins at the table's start") {
    CHECK(desk.admin.adopt(desk.target, std::nullopt, alice).size() == 1);
    CHECK(refusals(desk, {.configured = {"renamed"}}).empty());
    auto lane = desk.relay();
    REQUIRE(lane.claim());
    CHECK(lane.deliver() == Ids{"1", "2", "3"});
  }
}

TEST_CASE("a cursor is taken over whole and from nobody's hands") {
  Desk desk;
  desk.insert(97);  // enough for a closed bucket of the ledger
  auto lane = desk.relay("the holder");
  REQUIRE(lane.claim());
  REQUIRE(lane.deliver().size() == 100);
  desk.target.process.name = "renamed";
  const auto refuses = [&](const std::string& from, const char* why) {
    CHECK_THROWS_WITH_AS(desk.admin.adopt(desk.target, from, alice), doctest::Contains(why), Error);
  };
  refuses("process", "is held by the holder");
  refuses("nobody", "has no cursor in this database");
  lane.session->release(lane.cursor.epoch, true);
  desk.target.process.lanes = 2;
  refuses("process", "has 1 lanes, \"renamed\" is configured with 2");
  desk.target.process.lanes = 1;
  REQUIRE_FALSE(desk.admin.adopt(desk.target, "process", alice).empty());
  refuses("process", "process \"process\" was renamed to \"renamed\"");
  CHECK(desk.database.value(
            "SELECT string_agg(process_name || ' ' || state, ', ' ORDER BY process_name)"
            " FROM seriatim.cursor") == "process retired, renamed running");
  desk.target.process.name = "other";
  REQUIRE_FALSE(desk.admin.adopt(desk.target, std::nullopt, alice).empty());
  refuses("renamed", "has a cursor of its own");
  CHECK(desk.database.value("SELECT string_agg(DISTINCT process_name, ',') FROM seriatim.ledger") ==
        "renamed");
}
