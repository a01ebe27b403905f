// The auditor next to delivery: what it halts, what it leaves alone, and what it costs.
#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"
#include "postgres/test_auditor.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const std::string waits_for_row =
    "SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'seriatim/process/audit' "
    "AND cardinality(pg_blocking_pids(pid)) > 0";

/// Rows 1 to 3 are delivered, row 50 is late, and a call holds the cursor row.
struct InCall : Desk {
  InCall() {
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver() == Ids{"1", "2", "3"});
    database.run(late_row);
    call.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE");
  }
  /// Has the auditor check once. `meanwhile` commits when the auditor waits for the row.
  template <class Meanwhile>
  void audit_while(Meanwhile&& meanwhile) {
    TestAuditor auditor(database, target.source);
    std::jthread checking([&] { auditor.session->check(); });
    const bool waits = database.becomes_true(waits_for_row);
    meanwhile();
    call.run("COMMIT");
    checking.join();
    REQUIRE(waits);
  }
  TestLane lane = relay();
  SqlSession call = database.connect("call");
};

const std::string free_row = "SELECT FROM seriatim.cursor FOR UPDATE SKIP LOCKED";

/// Each read of the table waits while the test's session holds the advisory lock 7.
struct GatedDesk : Desk {
  GatedDesk() {
    database.run(R"(
        CREATE FUNCTION gate() RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock_shared(7);
            RETURN true;
        END $$)");
    target.source.where = "gate()";
  }
  ~GatedDesk() { database.run("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC"); }
  /// Rows 1 to 3; then row 50 is late.
  void deliver() {
    lane.emplace(role.url(), target.source);
    REQUIRE(lane->claim());
    REQUIRE(lane->deliver() == Ids{"1", "2", "3"});
    database.run(late_row);
    auditor.emplace(role.url(), target.source);
  }
  /// The auditor has found the row, and compares again, at the gate; whether it holds the cursor.
  bool compares_under_lock() {
    auto call = database.connect("call");
    call.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE");
    checking = std::jthread([&] { auditor->session->check(); });
    const bool waits = database.becomes_true(waits_for_row);
    database.run("SELECT pg_advisory_lock(7)");
    call.run("COMMIT");
    // A transaction id of its own is what the lock on the row takes.
    return waits && database.becomes_true(
                        "SELECT count(*) = 1 FROM pg_locks AS w JOIN pg_locks AS x USING (pid) "
                        "WHERE w.locktype = 'advisory' AND NOT w.granted AND x.locktype = "
                        "'transactionid' AND x.granted");
  }
  const LeastRole role{database, "bookings"};
  std::optional<TestLane> lane;
  std::optional<TestAuditor> auditor;
  std::jthread checking;
};

class AuditLog final : public Observer {
 public:
  void audit_failed(const std::string&, const std::string&) override {
    failures += 1;
    waker_.wake();
  }
  bool wait_for_failure() {
    return waker_.wait_until(std::chrono::steady_clock::now() + DeliveryLog::patience);
  }
  std::atomic<unsigned> failures = 0;

 private:
  Waker waker_;
};

const std::string auditors =
    "FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
    "'seriatim/process/audit'";

}  // namespace

TEST_CASE("the act waits for the call in flight, and then halts the lane") {
  InCall desk;
  desk.audit_while([] {});
  const auto found = halted(desk.database);
  REQUIRE(found);
  CHECK(found->row_id == "50");
  CHECK(halts_in_journal(desk.database) == "the auditor of relay|50");
  CHECK_FALSE(desk.lane.start());
}

TEST_CASE("what is found and gone, or delivered, before the row is locked halts nothing") {
  InCall desk;
  SUBCASE("deleted") {
    desk.audit_while([&] { desk.database.run("DELETE FROM bookings WHERE id = 50"); });
  }
  SUBCASE("delivered by this lane") {
    desk.audit_while([&] {
      desk.call.run(
          "UPDATE seriatim.cursor SET bucket_ids = bucket_ids || '{50}'::text[], sequence = "
          "sequence + 1");
    });
  }
  SUBCASE("the lane was paused") {
    desk.audit_while([&] { desk.call.run("UPDATE seriatim.cursor SET state = 'paused'"); });
  }
  SUBCASE("the lane has another holder") {
    desk.audit_while(
        [&] { desk.call.run("UPDATE seriatim.cursor SET epoch = epoch + 1, holder = 'another'"); });
  }
  CHECK_FALSE(halted(desk.database));
}

TEST_CASE("a late row waits in seriatim.aside for a person") {
  InCall desk;
  desk.audit_while([] {});
  const Actor alice{"alice@desk", "seen"};
  const auto late = [&] {
    return desk.database.value(
        "SELECT coalesce(string_agg(row_id || ' ' || state, ','), 'none') FROM seriatim.aside");
  };
  REQUIRE(late() == "50 late");
  desk.admin.retry(desk.target, alice);
  CHECK(late() == "none");
  REQUIRE(audited(desk.database, desk.target.source));
  CHECK(late() == "50 late");
  SUBCASE("skip discards it") {
    CHECK(desk.admin.skip(desk.target, "50", alice).at(0) ==
          "lane 0: skipped late row 50 (sequence 4)");
    CHECK_FALSE(audit_fully(desk.database, desk.target.source));
  }
  SUBCASE("a rewind to before it hands it over in its order") {
    desk.admin.rewind(desk.target, {}, alice);
    REQUIRE(desk.lane.claim());
    CHECK(desk.lane.deliver() == Ids{"1", "50", "2", "3"});
  }
  CHECK(late() == "none");
}

TEST_CASE("what is found is compared under the lock, whatever else the server refuses to say") {
  GatedDesk desk;
  desk.database.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  desk.deliver();
  const bool compares = desk.compares_under_lock();
  desk.database.run("SELECT pg_advisory_unlock(7)");
  desk.checking.join();
  CHECK(compares);
  CHECK(halted(desk.database));
}

TEST_CASE("a compare that takes long lets the lane go, and is made again") {
  GatedDesk desk;
  desk.deliver();
  const bool compares = desk.compares_under_lock();
  // The lane waits no longer than that, far less than a statement of the auditor may take.
  const bool moves = desk.database.becomes_true("SELECT count(*) = 1 FROM (" + free_row + ") AS c");
  desk.checking.join();
  CHECK_FALSE(halted(desk.database));
  desk.database.run("SELECT pg_advisory_unlock(7)");
  desk.auditor->session->check();
  CHECK(compares);
  CHECK(moves);
  CHECK(halted(desk.database));
}

TEST_CASE("a check that is interrupted ends at once") {
  GatedDesk desk;
  desk.deliver();
  desk.database.run("SELECT pg_advisory_lock(7)");
  std::string said;
  desk.checking = std::jthread([&] {
    try {
      desk.auditor->session->check();
    } catch (const SessionLost& lost) {
      said = lost.what();
    }
  });
  CHECK(
      desk.database.becomes_true("SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' "
                                 "AND NOT granted"));
  desk.auditor->session->interrupt();
  desk.checking.join();
  CHECK(contains(said, "57014"));
  CHECK_THROWS_AS(desk.auditor->session->check(), SessionLost);
}

TEST_CASE("a call longer than the lock is waited for is checked again") {
  InCall desk;
  TestAuditor auditor(desk.database, desk.target.source);
  const auto due = auditor.session->check();  // gives up after lock_timeout
  CHECK(due < std::chrono::steady_clock::now() + 2s);
  CHECK_FALSE(halted(desk.database));
  CHECK(desk.database.value("SELECT count(*) FROM seriatim.audited") == "0");
  desk.call.run("COMMIT");
  const auto end = std::chrono::steady_clock::now() + 20s;
  CHECK(auditor.audit_until(desk.database, [&] { return std::chrono::steady_clock::now() > end; }));
}

TEST_CASE("lanes of another instance, and lanes that are paused, are left alone") {
  Desk desk;
  auto lane = desk.relay("another");
  REQUIRE(lane.claim());
  REQUIRE(lane.deliver() == Ids{"1", "2", "3"});
  desk.database.run(late_row);
  TestAuditor ours(desk.database, desk.target.source, "relay");
  for (int i = 0; i < 3; ++i) ours.session->check();
  CHECK_FALSE(halted(desk.database));
  desk.admin.pause(desk.target, alice);
  TestAuditor theirs(desk.database, desk.target.source, "another");
  for (int i = 0; i < 3; ++i) theirs.session->check();
  CHECK_FALSE(halted(desk.database));
  desk.admin.resume(desk.target, alice);
  theirs.session->check();
  CHECK(halted(desk.database));
}

TEST_CASE("another table under the name halts nothing: that is the lane's own check") {
  Desk desk;
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  REQUIRE(lane.deliver() == Ids{"1", "2", "3"});
  desk.database.run("ALTER TABLE bookings RENAME TO old_bookings");
  desk.database.run(bookings);
  desk.database.run(
      "INSERT INTO bookings (id, created_at) OVERRIDING SYSTEM VALUE VALUES (77, '2020-01-01Z')");
  CHECK_FALSE(audit_fully(desk.database, desk.target.source));
}

TEST_CASE("a turn is limited: slow steps are one or two a turn") {
  Desk desk(OrderBy::id);
  desk.database.run("INSERT INTO bookings (payload) SELECT '{}' FROM generate_series(4, 4000)");
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  while (!lane.deliver().empty()) {
  }
  desk.target.source.where = "pg_sleep(0.0001) IS NOT NULL";
  TestAuditor auditor(desk.database, desk.target.source);
  unsigned turns = 0;
  while (desk.database.value("SELECT count(*) FROM seriatim.audited") == "0") {
    auditor.session->check();
    REQUIRE(++turns < 100);
  }
  CHECK(turns >= 4);
}

TEST_CASE("a complete pass is noted, and one that is too old is reported by status") {
  Desk desk;
  auto lane = desk.relay();
  REQUIRE(lane.claim());
  REQUIRE(lane.deliver() == Ids{"1", "2", "3"});
  TestAuditor auditor(desk.database, desk.target.source);
  const auto end = std::chrono::steady_clock::now() + 20s;
  CHECK_FALSE(auditor.audit_until(desk.database, [&] {
    return std::chrono::steady_clock::now() > end ||
           desk.database.value("SELECT count(*) FROM seriatim.audited") == "1";
  }));
  const auto age = [&] { return desk.admin.status(desk.target).at(0).audit_age; };
  REQUIRE(age());
  CHECK(*age() < 60s);
  desk.database.run("UPDATE seriatim.audited SET passed_at = passed_at - interval '2 minutes'");
  desk.database.run("UPDATE seriatim.journal SET at = at - interval '3 minutes'");
  desk.database.run("UPDATE seriatim.cursor SET holder_started = NULL, holder_pid = NULL");
  REQUIRE(age());
  CHECK(*age() >= 120s);
  // Behind a pooler, and no pass was ever complete: the claim is the beginning.
  desk.database.run("DELETE FROM seriatim.audited");
  REQUIRE(age());
  CHECK(*age() >= 180s);
}

TEST_CASE("an idle relay halts for a late row, and one that moves rows does too") {
  BOTH_ORDERS
  Desk desk(order);
  desk.target.process.commit_every = 1;
  bool moves = false;
  SUBCASE("idle") {}
  SUBCASE("rows move") {
    moves = true;
  }
  DeliveryLog log;
  InProcessRelay relay(postgres_source(desk.database.url(), desk.target.source),
                       desk.target.process, handler_from([&](const Record& record) {
                         log.add(record);
                         return Outcome::done();
                       }));
  REQUIRE(log.wait_for_rows(3));
  desk.database.run(
      "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE SELECT -1, "
      "created_at, '{}' FROM bookings WHERE id = 1");
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!halted(desk.database) && std::chrono::steady_clock::now() < end) {
    if (moves) desk.insert(1);
  }
  CHECK(relay.status->wait_for([](const LaneStatus& lane) {
    return lane.state == LaneState::halted && lane.reason == HaltReason::late_row &&
           lane.row_id == "-1";
  }));
  relay.stop();
  CHECK(desk.cursor("position_id") == log.records().back().id());
  CHECK(desk.cursor("sequence") == std::to_string(log.size()));
}

TEST_CASE("the auditor of four lanes has one connection, and finds another when it is lost") {
  Desk desk;
  desk.target.process.lanes = 4;
  desk.target.source.key = "id::text";
  DeliveryLog log;
  const auto audit_log = std::make_shared<AuditLog>();
  Relay relay;
  relay.observe(audit_log);
  relay.add(desk.target.process, postgres_source(desk.database.url(), desk.target.source),
            handler_from([&](const Record& record) {
              log.add(record);
              return Outcome::done();
            }));
  std::jthread running([&](const std::stop_token& stop) { relay.run(stop); });
  REQUIRE(log.wait_for_rows(3));
  REQUIRE(desk.database.becomes_true("SELECT count(*) = 1 " + auditors));
  const auto pid = desk.database.value("SELECT pid " + auditors);
  desk.database.run("SELECT pg_terminate_backend(pid) " + auditors);
  desk.insert(1);
  REQUIRE(log.wait_for_rows(4));  // delivery goes on
  REQUIRE(desk.database.becomes_true("SELECT count(*) = 1 AND bool_and(pid <> " + pid + ") " +
                                     auditors));
  CHECK(audit_log->failures == 1);
  desk.database.run(late_row);
  CHECK(desk.database.becomes_true(
      "SELECT count(*) = 1 FROM seriatim.cursor WHERE state = 'halted' AND failed_id = '50'"));
}

TEST_CASE("an auditor that leaves its connection to a lane which has none says so, once") {
  struct OneLane final : Source {
    Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
              Waker& waker) override {
      if (lane.lane > 0) throw SessionLost("too many connections");
      return real->open(lane, config, holder, waker);
    }
    std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& config,
                                                 const std::string& holder, Waker& waker) override {
      return real->open_auditor(config, holder, waker);
    }
    std::shared_ptr<Source> real;
  };
  Desk desk;
  desk.target.process.lanes = 2;
  desk.target.source.key = "id::text";
  const auto source = std::make_shared<OneLane>();
  source->real = postgres_source(desk.database.url(), desk.target.source);
  const auto audit_log = std::make_shared<AuditLog>();
  Relay relay;
  relay.observe(audit_log);
  relay.add(desk.target.process, source,
            handler_from([](const Record&) { return Outcome::done(); }));
  std::jthread running([&](const std::stop_token& stop) { relay.run(stop); });
  CHECK(audit_log->wait_for_failure());
  CHECK(desk.database.value("SELECT count(*) " + auditors) == "0");
  CHECK(audit_log->failures == 1);
}
