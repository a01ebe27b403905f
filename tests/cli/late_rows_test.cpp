// Rows behind the cursor, and moving it, as a person meets them on the command line.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

/// Rows 1 to 5 of the ready-made outbox, delivered.
struct LateStage : Stage {
  explicit LateStage(const std::string& source = {}) {
    configure(process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\"", "",
                      source));
    append(5);
    REQUIRE(seriatim({"run", "--drain"}).code == 0);
  }
  void append_late(const std::string& age) {
    database.run(
        "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, payload, "
        "created_at)"
        " VALUES ('booking', 'b', 'booked', '{}', (SELECT min(created_at) FROM seriatim.outbox) - "
        "'" +
        age + "'::interval)");
  }
  [[nodiscard]] boost::json::value audit() const {
    return boost::json::parse(seriatim({"audit", "p", "--json"}).out);
  }
  HttpService receiver;
};

}  // namespace

TEST_SUITE("late rows") {
  TEST_CASE(
      "late rows that will be delivered are reported by status, peek and why before they are") {
    LateStage stage("late_rows = \"deliver\"");
    CHECK(contains(stage.seriatim({"status"}).out, "none"));
    stage.append_late("1 minute");
    CHECK(contains(stage.seriatim({"status"}).out, "1 row (1 late), 1 min"));
    const auto status = boost::json::parse(stage.seriatim({"status", "--json"}).out);
    CHECK(status.at("lanes").at(0).at("late_records").as_int64() == 1);
    const auto peek = boost::json::parse(stage.seriatim({"peek", "p", "--json"}).out);
    CHECK(peek.at("rows").at(0).at("late").as_bool());
    CHECK(contains(stage.seriatim({"peek", "p"}).out, "  late"));
    const auto why = stage.seriatim({"why", "p", "6"});
    CAPTURE(why.out);
    CHECK(contains(why.out, "neither delivered nor set aside, and goes out late: nobody runs"));
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(contains(stage.seriatim({"status"}).out, "none"));
  }

  TEST_CASE("audit proves what was delivered, names what was not, and accepts what was set aside") {
    LateStage stage;
    const auto whole = stage.seriatim({"audit", "p"});
    CAPTURE(whole.out);
    CHECK(whole.code == 0);
    CHECK(contains(whole.out, "lane 0: complete and in order up to "));
    CHECK(contains(whole.out, "(row 5, sequence 5): 5 rows in 1 bucket"));

    stage.append_late("1 minute");
    const auto broken = stage.seriatim({"audit", "p"});
    CAPTURE(broken.out);
    CHECK(broken.code == 1);
    CHECK(contains(broken.out, "NOT complete"));
    CHECK(contains(broken.out, "1 row neither delivered nor set aside: 6"));
    CHECK(stage.database.value("SELECT string_agg(concat_ws(' ', sound, rows, through_id, "
                               "detail LIKE '%set aside: 6%'), ', ' ORDER BY id) "
                               "FROM seriatim.audit_report") == "t 5 5 f, f 5 5 t");
    CHECK_FALSE(stage.audit().at("sound").as_bool());

    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    CHECK(contains(stage.seriatim({"status"}).out, "halted LATE_ROW at row 6"));
    REQUIRE(stage.seriatim({"skip", "p", "6", "--reason", "a test row"}).code == 0);
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.receiver.request_count() == 5);
    CHECK(stage.audit().at("sound").as_bool());
  }

  TEST_CASE("a row delivered late says so on the wire, and one behind the lookback halts") {
    LateStage stage("late_rows = \"deliver\"\nlookback = \"10m\"\n");
    stage.append_late("1 minute");
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    REQUIRE(stage.receiver.request_count() == 6);
    const auto late = stage.receiver.last_request();
    CHECK(late.header("Seriatim-Late") == "true");
    CHECK(late.header("Seriatim-Sequence") == "6");
    CHECK_FALSE(stage.receiver.requests().front().header("Seriatim-Late").has_value());

    stage.append_late("1 hour");
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    const auto status = stage.seriatim({"status"}).out;
    CAPTURE(status);
    CHECK(contains(status, "halted LATE_ROW at row 7"));
    CHECK(contains(status, "a longer `lookback` delivers such rows"));
  }

  TEST_CASE("rewind says what it would do, does it with --yes, and the rows go out again") {
    LateStage stage;
    const auto plan = stage.seriatim({"rewind", "p", "--to", "4"});
    CAPTURE(plan.out);
    CHECK(plan.code == 0);
    CHECK(contains(plan.out, "2 rows would be delivered again (sequence 5 -> 3)"));
    CHECK(contains(plan.out, "nothing was changed"));
    CHECK(stage.sequence() == "5");
    const auto unexplained = stage.seriatim({"rewind", "p", "--to", "4", "--yes"});
    CHECK(unexplained.code == 2);
    CHECK(contains(unexplained.err, "--yes requires --reason"));

    REQUIRE(stage.seriatim({"rewind", "p", "--to", "4", "--yes", "--reason", "lost there"}).code ==
            0);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.receiver.request_count() == 7);
    CHECK(stage.receiver.last_request().header("Seriatim-Sequence") == "5");
    CHECK(contains(stage.seriatim({"rewind", "p", "--to", "many"}).err, "is no place in table"));
  }

  TEST_CASE("lanes are cut behind a barrier; a relay configured otherwise is refused") {
    LateStage stage("key = \"aggregate_id\"\n");
    const auto done = stage.seriatim({"lanes", "p", "3", "--reason", "more at once"});
    CAPTURE(done.out);
    CAPTURE(done.err);
    CHECK(done.code == 0);
    CHECK(contains(done.out, "cut from 1 into 3 lanes after row 5"));
    const auto refused = stage.seriatim({"run", "--drain"});
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "3 lanes by its cursor rows, 1 by the configuration"));
  }
}
