// Promise P8: whatever a lane waits for, a report names it within five seconds, and does not wait
// for it.
#include <future>

#include "desk.hpp"
#include "postgres/admin/reports/row_report.hpp"
#include "standby_asked.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::LaneReport;
using postgres::LaneWait;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

/// The first report that names the cause; each one, and all of them together, in time.
LaneReport report_of(Desk& desk, LaneWait::Cause cause) {
  const auto began = Clock::now();
  LaneReport report;
  wait_until("the report names " + std::string(to_string(cause)), [&] {
    report = desk.admin.status(desk.target).at(0);
    return report.wait && report.wait->cause == cause;
  });
  CHECK(Clock::now() - began < std::chrono::seconds(5));
  CHECK_FALSE(report.wait->text.empty());
  CHECK_FALSE(report.wait->remedy.empty());
  return report;
}

/// What a lane does while the test goes on; it may be refused.
template <class Work>
std::future<void> meanwhile(Work work) {
  return std::async(std::launch::async, [work = std::move(work)] {
    try {
      work();
    } catch (const Error&) {
    }
  });
}

/// An ALTER TABLE that waits for whoever uses the table, and behind which all others wait.
struct QueuedChange {
  explicit QueuedChange(Desk& desk) : owner(desk.database.connect("deployment")) {
    done = meanwhile([this] { owner.run("ALTER TABLE bookings ADD note text"); });
    REQUIRE(
        desk.database.becomes_true("SELECT wait_event_type = 'Lock' FROM pg_stat_activity "
                                   "WHERE application_name = 'deployment'"));
  }
  SqlSession owner;
  int pid = owner.pid();
  std::future<void> done;
};

}  // namespace

TEST_CASE("a cursor row that another session has locked is named, with or without a holder") {
  Desk desk;
  std::optional<TestLane> relay;
  relay.emplace(desk.database, desk.target.source);
  REQUIRE(relay->claim());
  auto other = desk.database.connect("careless console");
  other.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE");
  auto report = report_of(desk, LaneWait::Cause::cursor_locked);
  REQUIRE(report.wait->blockers.size() == 1);
  CHECK(report.wait->blockers[0].pid == other.pid());
  CHECK(contains(report.wait->text, "careless console"));

  relay.reset();
  report = report_of(desk, LaneWait::Cause::cursor_locked);
  CHECK(report.wait->blockers.at(0).pid == other.pid());

  other.run("PREPARE TRANSACTION 'left behind'");
  report = report_of(desk, LaneWait::Cause::cursor_locked);
  CHECK(report.wait->blockers.at(0).gid == "left behind");
  TestLane next(desk.database, desk.target.source, "next");
  next.config.lease = milliseconds{50};
  desk.database.run("ROLLBACK PREPARED 'left behind'");
  next.claim_in_the_end();
  next.session->release(next.cursor.epoch, false);  // nobody's, and without a session
  other.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE; PREPARE TRANSACTION 'of nobody'");
  report = report_of(desk, LaneWait::Cause::cursor_locked);
  CHECK(report.wait->blockers.at(0).gid == "of nobody");
  desk.database.run("ROLLBACK PREPARED 'of nobody'");
  CHECK_FALSE(desk.admin.status(desk.target).at(0).wait);
}

TEST_CASE("a row to be stamped that another session has locked is named") {
  Desk desk;
  desk.database.run("ALTER TABLE bookings ADD delivered_at timestamptz");
  desk.target.source.delivered_at_column = "delivered_at";
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto other = desk.database.connect("report of the month");
  other.run("BEGIN; SELECT FROM bookings WHERE id = 1 FOR UPDATE");
  auto delivery = meanwhile([&] { relay.deliver(1); });
  const auto report = report_of(desk, LaneWait::Cause::lock);
  REQUIRE_FALSE(report.wait->blockers.empty());
  CHECK(report.wait->blockers[0].pid == other.pid());
  CHECK(contains(report.wait->text, "bookings"));
  other.run("COMMIT");
  delivery.get();
}

TEST_CASE("behind an ALTER TABLE that waits for a reader, both are named, the reader first") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  auto reader = desk.database.connect("long reader");
  reader.run("BEGIN; SELECT FROM bookings");
  QueuedChange change(desk);
  auto poll = meanwhile([&] { relay.poll(); });
  const auto report = report_of(desk, LaneWait::Cause::lock);
  REQUIRE(report.wait->blockers.size() == 2);
  CHECK(report.wait->blockers[0].pid == reader.pid());
  CHECK(report.wait->blockers[1].pid == change.pid);
  CHECK(contains(report.not_read, "the table is locked"));
  CHECK_FALSE(report.lag_records);
  const auto row = desk.admin.why(desk.target, "1");
  CHECK(row.state == postgres::RowReport::State::unknown);
  CHECK(contains(row.not_read, "the table is locked"));
  REQUIRE(row.lanes.size() == 1);
  CHECK(row.lanes[0].wait.value().blockers.at(0).pid == reader.pid());
  reader.run("COMMIT");
  change.done.get();
  poll.get();
}

TEST_CASE("a prepared transaction at the head of the queue is named by its gid") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  desk.database.run(
      "BEGIN; INSERT INTO bookings (payload) VALUES ('{}'); PREPARE TRANSACTION 'forgotten'");
  QueuedChange change(desk);
  auto poll = meanwhile([&] { relay.poll(); });
  const auto report = report_of(desk, LaneWait::Cause::lock);
  REQUIRE(report.wait->blockers.size() == 2);
  CHECK(report.wait->blockers[0].gid == "forgotten");
  desk.database.run("ROLLBACK PREPARED 'forgotten'");
  change.done.get();
  poll.get();
}

TEST_CASE("to a role that may not see the session, it is not reported as frozen") {
  Desk desk;
  desk.database.run(
      "CREATE ROLE watcher LOGIN; GRANT USAGE ON SCHEMA seriatim TO watcher;"
      "GRANT SELECT ON ALL TABLES IN SCHEMA seriatim TO watcher; GRANT SELECT ON bookings TO "
      "watcher");
  auto relay = desk.relay();
  relay.config.lease = milliseconds{6'000};
  relay.open();
  REQUIRE(relay.claim());
  Admin watcher(desk.database.url() + "?user=watcher");
  LaneReport report;
  wait_until("the report names it", [&] {
    report = watcher.status(desk.target).at(0);
    return report.wait.has_value();
  });
  CHECK(contains(report.wait->text, "may not see what its session does"));
  CHECK_FALSE(contains(report.wait->remedy, "kill"));
  desk.database.run("DROP OWNED BY watcher; DROP ROLE watcher");
}

TEST_CASE("a commit that waits for a synchronous standby is named") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  std::optional<StandbyAsked> asked(std::in_place, desk.database);
  auto delivery = meanwhile([&] { relay.deliver(1); });
  const auto report = report_of(desk, LaneWait::Cause::standby);
  CHECK(contains(report.wait->text, "synchronous standby"));
  asked.reset();
  delivery.get();
}

TEST_CASE("a call that takes long is named, and once its deadline is over, that it is") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  relay.poll();
  REQUIRE(relay.start());
  auto report = report_of(desk, LaneWait::Cause::handler);
  CHECK(contains(report.wait->text, "has not answered yet"));
  wait_until("its deadline is over", [&] {
    report = desk.admin.status(desk.target).at(0);
    return report.wait && contains(report.wait->text, "its deadline of 200 ms is over");
  });
  CHECK(contains(report.wait->remedy, "kill -9"));
}

TEST_CASE("a holder that says nothing, though its session is open, is named") {
  Desk desk;
  desk.target.process.lease = milliseconds{6'000};
  auto relay = desk.relay();
  relay.config.lease = milliseconds{6'000};
  relay.open();
  REQUIRE(relay.claim());  // and then it is frozen: it polls no more
  const auto report = report_of(desk, LaneWait::Cause::silent);
  CHECK(contains(report.wait->text, "relay has said nothing for"));
  CHECK(contains(report.wait->text, "frozen"));
}

TEST_CASE("a lane at work, at rest, halted or paused waits for nobody") {
  Desk desk;
  auto relay = desk.relay();
  REQUIRE(relay.claim());
  CHECK_FALSE(desk.admin.status(desk.target).at(0).wait);
  REQUIRE(relay.deliver().size() == 3);
  CHECK_FALSE(desk.admin.status(desk.target).at(0).wait);
  REQUIRE(relay.settle(
      {relay.cursor.position, {}, {}, Halt{HaltReason::poison, {"4", "number not in service"}}}));
  REQUIRE(desk.database.becomes_true(
      "SELECT clock_timestamp() > updated_at + interval '4 seconds' FROM seriatim.cursor"));
  CHECK_FALSE(desk.admin.status(desk.target).at(0).wait);
}

TEST_CASE("where no connection is left, a report says so, and what to do") {
  Desk desk;
  desk.database.run("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
  Admin admin(desk.database.url() + "?user=crowded");
  try {
    (void)admin.status(desk.target);
    FAIL("it found a connection");
  } catch (const SessionLost& lost) {
    CHECK(lost.sqlstate() == "53300");
    CHECK(contains(lost.what(), "the connection limit is reached"));
    CHECK(contains(lost.what(), "max_connections"));
  }
  desk.database.run("DROP ROLE crowded");
}

TEST_CASE("if the cursors themselves are locked, a report says which table it could not read") {
  Desk desk;
  REQUIRE(desk.relay().claim());
  auto other = desk.database.connect("maintenance");
  other.run("BEGIN; LOCK TABLE seriatim.cursor");
  try {
    (void)desk.admin.status(desk.target);
    FAIL("it read them");
  } catch (const SessionLost& lost) {
    CHECK(contains(lost.what(), "seriatim.cursor is locked"));
  }
}
