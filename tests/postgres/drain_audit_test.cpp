// `run --drain`: no row goes out over a late one that was there before, and none ends as drained
// past one.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "postgres/desk.hpp"
#include "postgres/test_auditor.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// Its first auditors get no connection.
struct LateAuditor final : Source {
  explicit LateAuditor(std::shared_ptr<Source> source) : real(std::move(source)) {}
  Lane open(const LaneId& lane, const ProcessConfig& config, const std::string& holder,
            Waker& waker) override {
    return real->open(lane, config, holder, waker);
  }
  std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& config,
                                               const std::string& holder, Waker& waker) override {
    if (refusals-- > 0) throw SessionLost("too many connections");
    return real->open_auditor(config, holder, waker);
  }
  std::shared_ptr<Source> real;
  std::atomic<int> refusals = 2;
};

/// Rows 1 to 3 are delivered, and the lane is free.
struct DrainDesk : Desk {
  DrainDesk() {
    REQUIRE(lane->claim());
    REQUIRE(lane->deliver() == Ids{"1", "2", "3"});
  }
  void release() {
    lane->session->release(lane->cursor.epoch, false);
    lane.reset();
  }
  std::shared_ptr<Source> source() { return postgres_source(database.url(), target.source); }
  std::vector<LaneStatus> drain(const std::shared_ptr<Source>& from,
                                const std::function<void(const Record&)>& on_row = {}) {
    Relay relay({.drain = true});
    relay.observe(status);
    relay.add(target.process, from, handler_from([this, on_row](const Record& record) {
                log.add(record);
                if (on_row) on_row(record);
                return Outcome::done();
              }));
    return relay.run({});
  }
  std::unique_ptr<TestLane> lane = std::make_unique<TestLane>(database, target.source, "older");
  std::shared_ptr<StatusLog> status = std::make_shared<StatusLog>();
  DeliveryLog log;
};

}  // namespace

TEST_CASE("a drain waits for its audit, and delivers nothing over a row that is late already") {
  DrainDesk desk;
  desk.database.run(late_row);
  desk.insert(2);
  std::vector<LaneStatus> left;
  SUBCASE("the auditor gets its connection late") {
    desk.release();
    left = desk.drain(std::make_shared<LateAuditor>(desk.source()));
  }
  SUBCASE("another holds the lane at first") {
    std::jthread draining([&] { left = desk.drain(desk.source()); });
    const bool stood_by = desk.status->wait_for(
        [](const LaneStatus& lane) { return lane.state == LaneState::standby; });
    desk.release();
    draining.join();
    REQUIRE(stood_by);
  }
  REQUIRE(left.size() == 1);
  CHECK(left[0].state == LaneState::halted);
  CHECK(left[0].row_id == "50");
  CHECK(desk.log.size() == 0);
  CHECK(halted(desk.database));
}

TEST_CASE("a drain does not end as drained past a row that came late meanwhile") {
  DrainDesk desk;
  desk.release();
  desk.insert(1);
  const auto left = desk.drain(desk.source(), [&](const Record&) { desk.database.run(late_row); });
  CHECK(desk.log.size() == 1);
  CHECK(left.at(0).state == LaneState::halted);
  CHECK(left.at(0).reason == HaltReason::late_row);
}

TEST_CASE("a drain that finds an act in flight keeps what it found until the lane is free") {
  DrainDesk desk;
  desk.database.run(late_row);
  auto act = desk.database.connect("act");
  act.run("BEGIN; SELECT FROM seriatim.cursor FOR UPDATE");
  TestAuditor auditor(desk.database, desk.target.source, "older");
  std::jthread checking([&] { auditor.session->check_all([] { return false; }, 0); });
  // Its second wait: the first has ended after the lock timeout.
  const std::string begun =
      "SELECT coalesce(max(xact_start)::text, '') FROM pg_stat_activity WHERE application_name = "
      "'seriatim/process/audit' AND cardinality(pg_blocking_pids(pid)) > 0";
  CHECK(desk.database.becomes_true("SELECT (" + begun + ") <> ''"));
  const auto first = desk.database.value(begun);
  const bool waits_again =
      desk.database.becomes_true("SELECT (" + begun + ") NOT IN ('', '" + first + "')");
  act.run("COMMIT");
  checking.join();
  CHECK(waits_again);
  CHECK(halted(desk.database));
}
