// `seriatim why` as a person meets it at 3 a.m.: the answer, the next step, the evidence.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// Rows of the ready-made outbox into a receiver.
struct WhyStage : Stage {
  WhyStage() {
    configure(process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
  }
  [[nodiscard]] boost::json::value json(const std::string& id) const {
    return boost::json::parse(seriatim({"why", "p", id, "--json"}).out);
  }
  HttpService receiver;
};

/// Rows of two keys, one a lane; the first lane is at the barrier.
void leave_a_barrier(Stage& stage) {
  stage.configure(Stage::process("kind = \"log\"", "lanes = 2", "key = \"aggregate_id\""));
  stage.database.run(
      "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type)"
      " SELECT 'b', 'k' || n, 't' FROM generate_series(1, 40) AS n");
  REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
  stage.database.run(
      "UPDATE seriatim.cursor SET barrier_at = position_at, barrier_id = position_id");
  stage.database.run(
      "INSERT INTO seriatim.journal (process_name, lane, act, who)"
      " VALUES ('p', 0, 'barrier', 'eve@desk'), ('p', 1, 'barrier', 'eve@desk')");
  stage.database.run(
      "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type)"
      " SELECT 'b', 'k' || n, 't' FROM generate_series(1, 40) AS n");
}

}  // namespace

TEST_SUITE("why") {
  TEST_CASE("rows behind a barrier that was left: since when, by whom, and what takes it away") {
    Stage stage;
    leave_a_barrier(stage);
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(stage.database.becomes_true(
        "SELECT count(*) = 2 FROM seriatim.lanes WHERE state = 'running'"));
    const auto next = stage.database.value("SELECT min(id) FROM seriatim.outbox WHERE id > 40");
    const auto why = stage.seriatim({"why", "p", next});
    CAPTURE(why.out);
    CHECK(contains(why.out, "is at: behind the barrier at row "));
    CHECK(contains(why.out, ", set by eve@desk at 20"));
    CHECK(contains(why.out, "or take the barrier away: seriatim lanes p 2\n"));

    const auto status = stage.seriatim({"status"});
    CAPTURE(status.out);
    CHECK(contains(status.out, "its rows wait behind the barrier at row "));
    CHECK(contains(status.out, "seriatim lanes p 2\n"));
    const auto json = boost::json::parse(stage.seriatim({"status", "--json"}).out);
    CHECK(json.at("lanes").at(0).at("barrier").at("reached").as_bool());
    CHECK(json.at("lanes").at(0).at("barrier").at("who").as_string() == "eve@desk");

    REQUIRE(stage.seriatim({"lanes", "p", "2"}).code == 0);
    CHECK(stage.database.becomes_true(
        "SELECT bool_and(barrier_id IS NULL) AND sum(sequence) = 80 FROM seriatim.cursor"));
  }

  TEST_CASE("a row of an ignored event type is not said to fail `where`") {
    Stage stage;
    stage.configure(Stage::process("kind = \"log\"", "", "ignore = [\"booked\"]"));
    stage.append();
    const auto ignored = stage.seriatim({"why", "p", "1"});
    CHECK_MESSAGE(contains(ignored.out, "its event type \"booked\" is in source.ignore"),
                  ignored.out);
    CHECK_FALSE(contains(ignored.out, "where"));
  }

  TEST_CASE("a halted row: what the receiver said, both ways out, and exit 3") {
    WhyStage stage;
    stage.receiver.push(
        {Reply::with_status(200), Reply::with_status(422, "number not in service")});
    stage.append(3);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 3);

    const auto halted = stage.seriatim({"why", "p", "2"});
    CAPTURE(halted.out);
    CHECK(halted.code == 3);
    CHECK(
        contains(halted.out, "p: row 2 is the one lane 0 is at: halted POISON at row 2: HTTP 422"));
    CHECK(contains(halted.out,
                   "seriatim retry p; or set the row aside: seriatim skip --reason TEXT p 2"));
    CHECK(contains(halted.out, "cursor      lane 0 after row 1 of 20"));
    CHECK(contains(halted.out, "sequence 1, epoch 1"));
    CHECK(contains(halted.out, "holder      nobody"));
    CHECK(contains(halted.out, "journal     entry "));

    const auto behind = stage.seriatim({"why", "p", "3"});
    CAPTURE(behind.out);
    CHECK(behind.code == 3);
    CHECK(contains(behind.out, "row 3 waits behind 1 row of lane 0, which is at row 2: halted"));

    const auto json = stage.json("2");
    CHECK(json.at("state").as_string() == "next");
    CHECK(json.at("lane").at("state").as_string() == "halted");
    CHECK(json.at("lane").at("reason").as_string() == "POISON");
    CHECK(json.at("next_steps").as_array().size() == 1);
    CHECK(json.at("rows_before").as_int64() == 0);

    REQUIRE(stage.seriatim({"skip", "p", "2", "--reason", "ticket 17", "--who", "eve"}).code == 0);
    const auto skipped = stage.seriatim({"why", "p", "2"});
    CAPTURE(skipped.out);
    CHECK(skipped.code == 0);
    CHECK(contains(skipped.out, "row 2 was set aside, by eve at 20"));
    CHECK(contains(skipped.out, ": ticket 17"));
    CHECK(contains(stage.seriatim({"why", "p", "3"}).out, "start it: seriatim run p"));
  }

  TEST_CASE("a row whose receiver hangs: in whose call, since when, at which attempt") {
    WhyStage stage;
    stage.receiver.push(Reply::doing(Reply::Act::hang));
    stage.append();
    Process relay(Stage::command({"run"}), stage.options());
    wait_until("the call is in flight", [&] {
      const auto lane = stage.json("1").at("lane");
      return !lane.at("called_for_ms").is_null() && lane.at("called_for_ms").as_int64() >= 1'000;
    });
    const auto why = stage.seriatim({"why", "p", "1"});
    CAPTURE(why.out);
    CHECK(why.code == 0);
    CHECK(contains(why.out, "its handler was called with row 1 "));
    CHECK(contains(why.out, "attempt 1, and has not answered yet"));
    CHECK_FALSE(contains(why.out, "holder      nobody"));
    CHECK(contains(stage.seriatim({"status"}).out, "its handler was called with row 1 "));
  }

  TEST_CASE("a row behind the fence: pid, application, and how to end the wait") {
    WhyStage stage;
    stage.append();
    Process relay(Stage::command({"run"}), stage.options());
    wait_until("the first row is delivered", [&] { return stage.sequence() == "1"; });
    auto writer = stage.database.connect("billing");
    writer.run("BEGIN; SELECT seriatim.append('booking', 'b', 'booked', '{}')");
    stage.append();
    const auto pid = std::to_string(writer.pid());
    wait_until("the writer is named", [&] {
      return contains(stage.seriatim({"why", "p", "3"}).out, "waits for pid " + pid + " (billing");
    });
    const auto fenced = stage.seriatim({"why", "p", "3"});
    CHECK(contains(fenced.out, "pg_terminate_backend(" + pid + ")"));
    const auto hidden = stage.seriatim({"why", "p", "2"});
    CAPTURE(hidden.out);
    CHECK(hidden.code == 1);
    CHECK(contains(hidden.out, "1 open transaction may still commit it"));
    CHECK(contains(hidden.out, "writers     pid " + pid));
    CHECK(stage.json("2").at("writers").at(0).at("application").as_string() == "billing");
    writer.run("ROLLBACK");
    wait_until("the rest is delivered", [&] { return stage.sequence() == "2"; });
    const auto gone = stage.seriatim({"why", "p", "2"});
    CHECK(gone.code == 1);
    CHECK(contains(gone.out, "no open transaction writes the table: it was rolled back"));
    CHECK(contains(stage.seriatim({"why", "p", "3"}).out, "row 3 was delivered"));
    CHECK(contains(stage.seriatim({"why", "p", "99"}).out, "has drawn no id above 3"));
  }

  TEST_CASE("ids of another type and processes nobody configured are refused") {
    const WhyStage stage;
    const auto wrong = stage.seriatim({"why", "p", "abc"});
    CHECK(wrong.code == 1);
    CHECK(contains(wrong.err, "\"abc\" is no id of table seriatim.outbox"));
    CHECK(stage.seriatim({"why", "q", "1"}).code == 2);
    CHECK(stage.seriatim({"why", "p"}).code == 2);
    CHECK(stage.seriatim({"why", "--", "p", "-5"}).code == 1);
  }
}
