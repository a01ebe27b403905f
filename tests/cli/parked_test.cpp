// `seriatim parked` and what other verbs report of parked rows.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

/// Rows 1 to 4 of customers 7 and 8 in turn; the receiver refuses row 1.
struct ParkedStage : Stage {
  HttpService receiver;

  explicit ParkedStage(const std::string& on_poison = "park_key") {
    database.run(
        "CREATE TABLE bookings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON bookings (created_at, id);");
    book();
    configure(process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + '"',
                      "on_poison = \"" + on_poison + '"',
                      "table = \"public.bookings\"\nkey = \"customer\""));
    receiver.reply_with([](const ReceivedRequest& request) {
      const bool bad = request.header("Idempotency-Key") == "p:1";
      return Reply::with_status(bad ? 422 : 200, bad ? "no such number" : "");
    });
    const auto ran = seriatim({"run", "--drain", "--log-format", "json"});
    REQUIRE(ran.code == 0);
    log_text = ran.err;
  }
  std::string log_text;
  void book() {
    for (const auto* customer : {"7", "8", "7", "8"}) {
      database.run(std::string("INSERT INTO bookings (customer) VALUES (") + customer + ")");
    }
  }
  void fix() { receiver.reply_with(Reply::with_status(200)); }
};

}  // namespace

TEST_SUITE("parked") {
  TEST_CASE("list, status and why say what is parked and what may be done") {
    const ParkedStage stage;
    CHECK(contains(stage.log_text, "row 1 parked: HTTP 422: no such number"));
    CHECK(contains(stage.log_text, "\"row\":\"1\""));
    const auto list = stage.seriatim({"parked", "list", "p"});
    CHECK(list.code == 0);
    CHECK(contains(list.out, "HTTP 422"));
    CHECK(contains(list.out, "queues"));
    const auto json = boost::json::parse(stage.seriatim({"parked", "list", "p", "--json"}).out);
    CHECK(json.at("parked").at("rows").as_int64() == 2);
    CHECK(json.at("parked").at("heads").as_int64() == 1);
    CHECK(json.at("rows").at(0).at("id").as_string() == "1");
    CHECK(json.at("rows").at(0).at("head").as_bool());
    CHECK(json.at("rows").at(1).at("id").as_string() == "3");
    CHECK(json.at("rows").at(1).at("attempts").as_int64() == 0);
    const auto other = stage.seriatim({"parked", "list", "p", "--key", "8"});
    CHECK(other.out == "no row of that key is parked\n");

    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 0);
    CHECK(contains(status.out, "2 rows are parked, behind 1 that failed"));
    CHECK(contains(status.out, "seriatim parked list p"));
    const auto why = stage.seriatim({"why", "p", "3"});
    CHECK(contains(why.out, "row 3 is parked since"));
    CHECK(contains(why.out, "behind row 1 of its key, which failed: HTTP 422"));
    CHECK(contains(why.out, "seriatim parked redrive p 3"));
    CHECK(contains(stage.seriatim({"audit", "p"}).out, "2 rows parked"));
  }

  TEST_CASE("redrive hands the rows over again, and says what holds them up") {
    ParkedStage stage;
    stage.fix();
    stage.receiver.forget_requests();
    const auto redriven = stage.seriatim({"parked", "redrive", "p", "1", "--reason", "fixed"});
    CHECK(redriven.code == 0);
    CHECK(redriven.out ==
          "p lane 0: 2 rows handed over again, in the order parked; nobody runs this process: "
          "seriatim run p\n");
    CHECK(contains(stage.seriatim({"why", "p", "1"}).out, "it goes out again as soon as"));
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    const auto requests = stage.receiver.requests();
    REQUIRE(requests.size() == 2);
    CHECK(requests[0].header("Idempotency-Key") == "p:1");
    CHECK(requests[0].header("Seriatim-Sequence") == "5");
    CHECK(requests[0].header("Seriatim-Set-Aside") == "2");
    CHECK(requests[0].header("Seriatim-Late") == "true");
    CHECK(requests[1].header("Idempotency-Key") == "p:3");
    CHECK(stage.seriatim({"parked", "list", "p"}).out == "nothing is parked\n");
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
  }

  TEST_CASE("discard needs a reason and names what it did") {
    ParkedStage stage("dead_letter");
    CHECK(stage.sequence() == "4");
    CHECK(stage.seriatim({"parked", "discard", "p", "1"}).code == 2);
    const auto gone = stage.seriatim({"parked", "discard", "p", "--all", "--reason", "void"});
    CHECK(gone.out == "p lane 0: 1 row discarded: set aside for good\n");
    CHECK(contains(stage.seriatim({"why", "p", "1"}).out, "was set aside"));
    const auto none = stage.seriatim({"parked", "discard", "p", "--all", "--reason", "void"});
    CHECK(none.code == 1);
    CHECK(contains(none.err, "has not parked any row"));
  }

  TEST_CASE("redrive and discard want one of an id, a key, or all") {
    const Stage stage;
    for (const auto& arguments :
         std::vector<std::vector<std::string>>{{"parked", "redrive", "p"},
                                               {"parked", "redrive", "p", "1", "--all"},
                                               {"parked", "redrive", "p", "--key", "a", "--all"},
                                               {"parked"},
                                               {"parked", "fix", "p"}}) {
      const auto wrong = stage.seriatim(arguments);
      CAPTURE(wrong.err);
      CHECK(wrong.code == 2);
    }
    CHECK(contains(stage.seriatim({"parked", "--help"}).out, "redrive"));
  }

  TEST_CASE("park_key without a key is refused") {
    const Stage stage;
    stage.configure(Stage::process("kind = \"log\"", "on_poison = \"park_key\""));
    const auto refused = stage.seriatim({"check"});
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "\"park_key\" needs source.key"));
  }
}
