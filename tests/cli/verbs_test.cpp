// Each verb against a real database.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

TEST_SUITE("verbs") {
  TEST_CASE("init installs the schema once, says what it did, and changes nothing after") {
    Stage stage;
    stage.database.run("DROP SCHEMA seriatim CASCADE");
    const auto first = stage.seriatim({"init"});
    CHECK(first.code == 0);
    CHECK(contains(first.out, "applied 001_schema\n"));
    const auto again = stage.seriatim({"init", "--json"});
    CHECK(again.code == 0);
    const auto json = boost::json::parse(again.out);
    CHECK(json.at("applied").as_array().empty());
    CHECK(json.at("schema_version").as_int64() >= 1);
  }

  TEST_CASE("init takes DATABASE_URL where there is no configuration") {
    const Stage stage;
    auto options = stage.options();
    options.folder = "/";
    options.environment["DATABASE_URL"] = stage.database.url();
    CHECK(run(Stage::command({"init"}), options).code == 0);
  }

  TEST_CASE("check refuses a table that loses rows, and passes it once fixed as it says") {
    Stage stage;
    stage.database.run(
        "CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " created_at timestamptz NOT NULL DEFAULT now()); CREATE INDEX ON bookings (created_at, "
        "id)");
    stage.configure(Stage::process("kind = \"log\"", "", "table = \"public.bookings\""));
    const auto refused = stage.seriatim({"check"});
    CHECK(refused.code == 1);
    CHECK(contains(refused.out, "REFUSED"));
    CHECK(contains(refused.out, "SET DEFAULT clock_timestamp()"));
    const auto started = stage.seriatim({"run", "--drain"});
    CHECK(started.code == 1);
    CHECK(contains(started.err, "clock_timestamp()"));
    stage.database.run("ALTER TABLE bookings ALTER created_at SET DEFAULT clock_timestamp()");
    const auto passed = stage.seriatim({"check", "--json"});
    CHECK(passed.code == 0);
    CHECK(boost::json::parse(passed.out).at("processes").at(0).at("process").as_string() == "p");
    CHECK_FALSE(contains(passed.out, "refusal"));
  }

  TEST_CASE("append writes a row and names its id; run --drain delivers what is there and ends") {
    Stage stage;
    const auto given = stage.seriatim({"append", "--type", "booked", "--aggregate-type", "booking",
                                       "--aggregate-id", "7", "--payload", "{\"a\": 1}"});
    CHECK(given.code == 0);
    CHECK(given.out == "1\n");
    auto options = stage.options();
    options.input = "{\"from\": \"stdin\"}";
    const auto read = run(Stage::command({"append", "--json", "--type", "booked",
                                          "--aggregate-type", "booking", "--aggregate-id", "7"}),
                          options);
    CHECK(read.out == "{\"id\":\"2\"}\n");
    const auto wrong = stage.seriatim({"append", "--type", "t", "--aggregate-type", "a",
                                       "--aggregate-id", "7", "--payload", "no json"});
    CHECK(wrong.code == 1);
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 2);
    CHECK(stage.sequence() == "2");
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 2);
  }

  TEST_CASE("status reports lag, position and sequence, in a table and in JSON") {
    Stage stage;
    stage.append(2);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    stage.append(3);
    const auto table = stage.seriatim({"status"});
    CHECK(table.code == 0);
    CHECK(contains(table.out, "PROCESS  LANE  STATE"));
    CHECK(contains(table.out, "3 rows"));
    CHECK(table.out.find('\x1b') == std::string::npos);
    const auto json = boost::json::parse(stage.seriatim({"status", "--json"}).out);
    const auto& lane = json.at("lanes").at(0);
    CHECK(lane.at("process").as_string() == "p");
    CHECK(lane.at("state").as_string() == "standby");
    CHECK(lane.at("lag_records").as_int64() == 3);
    CHECK(lane.at("sequence").as_int64() == 2);
    CHECK(lane.at("position").at("id").as_string() == "2");
    CHECK(lane.at("next").as_string() == "3");
    CHECK(lane.at("holder").is_null());
  }

  TEST_CASE("status --watch refreshes until SIGINT and then ends well") {
    const Stage stage;
    Process watch(Stage::command({"status", "--watch", "--json"}), stage.options());
    wait_until("two states were shown", [&] {
      (void)watch.wait_at_most(20ms);
      return std::count(watch.out().begin(), watch.out().end(), '\n') >= 2;
    });
    watch.signal(2);
    CHECK(watch.wait().code == 0);
  }

  TEST_CASE("peek shows waiting rows in order, payloads only when asked") {
    Stage stage;
    stage.append(3);
    const auto table = stage.seriatim({"peek", "p", "--rows", "2"});
    CHECK(table.code == 0);
    CHECK(contains(table.out, "booked"));
    CHECK_FALSE(contains(table.out, "\"n\""));
    const auto json = boost::json::parse(stage.seriatim({"peek", "p", "--json", "--payload"}).out);
    const auto& rows = json.at("rows").as_array();
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].at("id").as_string() == "1");
    CHECK(rows[2].at("id").as_string() == "3");
    CHECK(rows[0].at("payload").as_string() == "{\"n\":1}");
    CHECK(rows[0].at("settled").as_bool());
    CHECK(stage.seriatim({"peek", "p", "--lane", "1"}).code == 2);
  }

  TEST_CASE("a poison row halts, status says 3 and what to do, skip sets it aside, it goes on") {
    Stage stage;
    HttpService receiver;
    receiver.push(Reply::with_status(200));
    receiver.push(Reply::with_status(422, "number not in service"));
    stage.configure(
        Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    stage.append(3);
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    CHECK(receiver.request_count() == 2);

    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 3);
    CAPTURE(status.out);
    CHECK(contains(status.out, "halted POISON at row 2: HTTP 422"));
    CHECK(contains(status.out, "seriatim retry p"));
    CHECK(contains(status.out, "seriatim skip --reason TEXT p 2"));
    const auto json = boost::json::parse(stage.seriatim({"status", "--json"}).out);
    CHECK(json.at("lanes").at(0).at("reason").as_string() == "POISON");
    CHECK(json.at("lanes").at(0).at("row").as_string() == "2");

    CHECK(stage.seriatim({"run", "--drain"}).code == 3);  // still: nothing overtakes it
    CHECK(receiver.request_count() == 2);
    CHECK(stage.seriatim({"skip", "p", "3", "--reason", "the wrong one"}).code == 1);
    const auto skipped =
        stage.seriatim({"skip", "p", "2", "--reason", "ticket 17", "--who", "eve"});
    CHECK(skipped.code == 0);
    CHECK(contains(skipped.out, "skipped row 2"));
    CHECK(stage.database.value("SELECT who || ': ' || why FROM seriatim.journal"
                               " WHERE act = 'skip' AND row_id = '2'") == "eve: ticket 17");
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(receiver.request_count() == 3);
    CHECK(stage.seriatim({"status"}).code == 0);
  }

  TEST_CASE("retry tries the halted row again, once it is fixed") {
    Stage stage;
    HttpService receiver;
    receiver.push(Reply::with_status(400));
    stage.configure(
        Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    stage.append();
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    const auto retried = stage.seriatim({"retry", "p", "--json"});
    CHECK(retried.code == 0);
    CHECK(boost::json::parse(retried.out).at("process").as_string() == "p");
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.seriatim({"retry", "p"}).code == 1);  // nothing to retry any more
  }

  TEST_CASE("pause stops a running relay where it is, resume lets it go on") {
    Stage stage;
    Process relay(Stage::command({"run"}), stage.options());
    stage.append();
    wait_until("the first row is delivered", [&] { return stage.lines_in_log() == 1; });
    CHECK(stage.seriatim({"pause", "p", "--reason", "maintenance"}).code == 0);
    relay.wait_for_errors("p/0 paused");
    stage.append(2);
    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 0);
    CHECK(contains(status.out, "paused"));
    CHECK(contains(status.out, "seriatim resume p"));
    CHECK(stage.lines_in_log() == 1);
    CHECK(stage.seriatim({"resume", "p"}).code == 0);
    wait_until("the rest is delivered", [&] { return stage.lines_in_log() == 3; });
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }

  TEST_CASE("status names the transaction that holds the fence") {
    Stage stage;
    Process relay(Stage::command({"run"}), stage.options());
    stage.append();
    wait_until("the first row is delivered", [&] { return stage.lines_in_log() == 1; });
    auto writer = stage.database.connect("slow-writer");
    writer.run("BEGIN; SELECT seriatim.append('booking', 'b', 'booked', '{}')");
    stage.append();
    wait_until("status names the writer", [&] {
      return contains(stage.seriatim({"status"}).out,
                      "waits for pid " + std::to_string(writer.pid()) + " (slow-writer");
    });
    writer.run("COMMIT");
    wait_until("all is delivered", [&] { return stage.lines_in_log() == 3; });
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }
}
