// Rows that a rewind forwards passed over: nobody delivered them, and every report says so.
#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "postgres/least_role.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using postgres::RowReport;
using Kind = postgres::RewindPlace::Kind;

namespace {

/// Rows 1 and 2 of five are delivered.
struct Delivered : Desk {
  explicit Delivered(OrderBy order) : Desk(order) {
    insert(2);
    REQUIRE(lane.claim());
    REQUIRE(lane.deliver(2) == Ids{"1", "2"});
  }
  void rewind(Kind kind, const std::string& row = {}) {
    admin.rewind(target, {kind, row}, alice);
    REQUIRE(lane.claim());
  }
  /// Of the rows 1 to 5: d delivered, p passed over, - anything else.
  std::string fates() {
    std::string fates;
    for (const char* id : {"1", "2", "3", "4", "5"}) {
      const auto report = admin.why(target, id);
      fates += report.state == RowReport::State::delivered ? 'd' : report.passed_over ? 'p' : '-';
    }
    return fates;
  }
  std::uint64_t audited() {
    const auto audit = admin.audit(target, false, [](std::uint64_t) {}).at(0);
    CHECK(audit.sound());
    return audit.passed_over;
  }

  TestLane lane = relay();
};

/// What the reports make of rows that were passed over. Empty: that they were.
std::string judge_reports(OrderBy order, const std::string& mutant = {}) {
  Delivered desk(order);
  if (!mutant.empty()) desk.database.run(mutant);
  desk.rewind(Kind::end);
  const auto fates = desk.fates();
  return fates == "ddppp" && desk.audited() == 3 ? "" : "reported as " + fates;
}

}  // namespace

TEST_SUITE("passed over") {
  TEST_CASE("rows a rewind passed over are reported so: by whom, when and why; others are not") {
    for (const auto order : orders) {
      Delivered desk(order);
      desk.rewind(Kind::end);
      CHECK(desk.fates() == "ddppp");
      CHECK(desk.audited() == 3);
      const auto report = desk.admin.why(desk.target, "4");
      CHECK(report.state == RowReport::State::set_aside);
      REQUIRE(report.act);
      CHECK(report.act->kind == "rewind");
      CHECK(report.act->who == "alice@desk");
      CHECK(report.act->why == "the number is wrong");
      CHECK(report.act->number == desk.database.value("SELECT max(id) FROM seriatim.journal"
                                                      " WHERE act = 'rewind'"));
      desk.insert(1);
      CHECK(desk.lane.deliver() == Ids{"6"});
      CHECK(desk.admin.why(desk.target, "6").state == RowReport::State::delivered);
    }
  }

  TEST_CASE("rows that come again are passed over no more, those before them still are") {
    for (const auto order : orders) {
      Delivered desk(order);
      desk.rewind(Kind::end);
      desk.rewind(Kind::row, "5");
      CHECK(desk.lane.deliver() == Ids{"5"});
      CHECK(desk.fates() == "ddppd");
      CHECK(desk.audited() == 2);
      desk.rewind(Kind::start);
      CHECK(desk.lane.deliver() == Ids{"1", "2", "3", "4", "5"});
      CHECK(desk.fates() == "ddddd");
      CHECK(desk.audited() == 0);
      CHECK(desk.database.value("SELECT count(*) FROM seriatim.passed_over") == "0");
    }
  }

  TEST_CASE("a process that begins again has passed nothing over") {
    Delivered desk(OrderBy::id);
    desk.rewind(Kind::end);
    desk.database.run("DELETE FROM seriatim.cursor");
    desk.admin.adopt(desk.target, std::nullopt, alice);
    auto relay = desk.relay("started anew");
    REQUIRE(relay.claim());
    CHECK(relay.deliver().size() == 5);
    CHECK(desk.fates() == "ddddd");
    CHECK(desk.audited() == 0);
  }

  TEST_CASE("a row that was passed over and deleted is still reported so") {
    Delivered desk(OrderBy::id);
    desk.rewind(Kind::end);
    desk.database.run("DELETE FROM bookings WHERE id = 4");
    CHECK(desk.fates() == "ddppp");
  }

  TEST_CASE("a role that may not read the journal hears that the row was passed over") {
    Delivered desk(OrderBy::id);
    desk.rewind(Kind::end);
    LeastRole role(desk.database, "bookings");
    desk.database.run("REVOKE SELECT ON seriatim.journal FROM " + role.name());
    const auto report = Admin(role.url()).why(desk.target, "3");
    CHECK(report.passed_over);
    CHECK(report.journal_hidden);
    CHECK_FALSE(report.act);
  }

  TEST_CASE("mutant: a row that was passed over and is called delivered is caught") {
    for (const auto order : orders) {
      CHECK(judge_reports(order) == "");
      CHECK(judge_reports(order,
                          "CREATE RULE forgets AS ON INSERT TO seriatim.passed_over DO INSTEAD"
                          " NOTHING") == "reported as ddddd");
    }
  }
}
