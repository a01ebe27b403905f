// A receiver that fails in every way of the class table, against the whole program: the row
// waits, later rows wait behind it, and the operator gets the lane going again.
#include <doctest/doctest.h>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* impatient =
    "handler_deadline = \"500ms\"\nbackoff = { first = \"10ms\", max = \"50ms\" }\n";

struct Stage {
  explicit Stage(int rows) {
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id);"
        "INSERT INTO t (payload) SELECT 'row ' || n FROM generate_series(1, " +
        std::to_string(rows) + ") AS n");
  }
  std::unique_ptr<RelayProgram> start(const std::string& more = impatient) {
    config = database_section(database.url()) +
             http_process("p", "public.t", "created_at", receiver.url(), more);
    return std::make_unique<RelayProgram>(folder, "relay", config);
  }
  Ended seriatim(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SERIATIM_PROGRAM);
    arguments.insert(arguments.end(), {"--config", (folder.path() / "relay.toml").string()});
    return run(std::move(arguments));
  }
  bool state_becomes(const std::string& state) {
    return database.becomes_true("SELECT state = '" + state + "' FROM seriatim.cursor");
  }
  /// "1 1 2": the rows by their sequence, in the order of the calls.
  std::string calls() const {
    std::string text;
    for (const auto& request : receiver.requests()) {
      text += (text.empty() ? "" : " ") + request.header("Seriatim-Sequence").value_or("?");
    }
    return text;
  }

  TestDatabase database;
  HttpService receiver;
  TemporaryFolder folder;
  std::string config;
};

}  // namespace

TEST_SUITE("faults of the receiver") {
  TEST_CASE("500 for ten seconds, then 200: the same row again and again, then the rest in order") {
    Stage stage(4);
    const auto well_again = Clock::now() + 10s;
    stage.receiver.reply_with([=](const ReceivedRequest& request) {
      const bool ill = request.header("Seriatim-Sequence") == "2" && Clock::now() < well_again;
      return Reply::with_status(ill ? 500 : 200);
    });
    const auto relay = stage.start();
    REQUIRE(stage.database.becomes_true("SELECT sequence = 4 FROM seriatim.cursor"));
    CHECK(relay->stop().code == 0);
    auto calls = stage.calls();
    CHECK(calls.substr(0, 5) == "1 2 2");
    CHECK(calls.substr(calls.size() - 5) == "2 3 4");
    unsigned attempt = 0;
    std::string key;
    for (const auto& request : stage.receiver.requests()) {
      if (request.header("Seriatim-Sequence") != "2") continue;
      CHECK(request.header("Seriatim-Attempt") == std::to_string(++attempt));
      if (key.empty()) key = *request.header("Idempotency-Key");
      CHECK(request.header("Idempotency-Key") == key);
      CHECK(request.body == stage.receiver.requests()[1].body);
    }
  }

  TEST_CASE("429 with Retry-After: the row is not tried before") {
    Stage stage(2);
    auto busy = Reply::with_status(429);
    busy.headers.emplace_back("Retry-After", "2");
    stage.receiver.push(busy);
    const auto relay = stage.start();
    REQUIRE(stage.receiver.wait_for_requests(3, 30s));
    const auto requests = stage.receiver.requests();
    CHECK(requests[1].at - requests[0].at >= 1'990ms);
    CHECK(stage.calls() == "1 1 2");
  }

  TEST_CASE("status lines without a reason or a space, and bare line ends: each row once") {
    Stage stage(6);
    for (const auto* head :
         {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 204 \r\n\r\n", "HTTP/1.1 201\n\n",
          "HTTP/1.0 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 204\r\n\n",
          "HTTP/1.1 200\nTransfer-Encoding: chunked\n\n0\r\n\r\n"}) {
      auto reply = Reply::with_status(200);
      reply.raw = head;
      reply.close_after = true;
      stage.receiver.push(reply);
    }
    const auto relay = stage.start();
    REQUIRE(stage.database.becomes_true("SELECT sequence = 6 FROM seriatim.cursor"));
    CHECK(relay->stop().code == 0);
    CHECK(stage.calls() == "1 2 3 4 5 6");
  }

  TEST_CASE("answers that cannot be read: three in a row halt, and a retry has three more") {
    Stage stage(2);
    Reply bad;
    SUBCASE("no HTTP") {
      bad.raw = "550 no such \x1b[31muser\r\n";
    }
    SUBCASE("a head without end") {
      bad.raw = "HTTP/1.1 550 no such \\x1b[31muser\r\nX: " + std::string(1 << 20, 'x');
    }
    stage.receiver.reply_with(bad);
    const auto relay = stage.start();
    REQUIRE(stage.state_becomes("halted"));
    CHECK(stage.calls() == "1 1 1");
    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 3);
    CHECK(status.out.find("halted UNKNOWN_OUTCOME at row 1: 3 times in a row") !=
          std::string::npos);
    CHECK(status.out.find("550 no such \\x1b[31muser\\r\\n") != std::string::npos);

    REQUIRE(stage.seriatim({"retry", "p"}).code == 0);
    REQUIRE(stage.receiver.wait_for_requests(6, 30s));
    REQUIRE(stage.state_becomes("halted"));
    CHECK(stage.calls() == "1 1 1 1 1 1");

    stage.receiver.reply_with(Reply::with_status(200));
    REQUIRE(stage.seriatim({"retry", "p"}).code == 0);
    REQUIRE(stage.receiver.wait_for_requests(8, 30s));
    CHECK(stage.calls() == "1 1 1 1 1 1 1 2");
    CHECK(relay->stop().code == 0);
  }

  TEST_CASE("422: halts exactly there; status says why; skip names the row and the lane goes on") {
    Stage stage(4);
    stage.receiver.reply_with([](const ReceivedRequest& request) {
      const bool bad = request.header("Seriatim-Sequence") == "2";
      return bad ? Reply::with_status(422, "no such customer") : Reply::with_status(200);
    });
    const auto relay = stage.start();
    REQUIRE(stage.state_becomes("halted"));
    CHECK(stage.calls() == "1 2");

    const auto status = stage.seriatim({"status"});
    CHECK(status.code == 3);
    CHECK(status.out.find("POISON") != std::string::npos);
    CHECK(status.out.find("422") != std::string::npos);

    const auto wrong = stage.seriatim({"skip", "p", "3", "--reason", "a slip"});
    CHECK(wrong.code != 0);
    CHECK(stage.database.value("SELECT state FROM seriatim.cursor") == "halted");

    const auto skipped = stage.seriatim({"skip", "p", "2", "--reason", "customer is gone"});
    CHECK_MESSAGE(skipped.code == 0, skipped.err);
    REQUIRE(stage.receiver.wait_for_requests(4, 30s));
    CHECK(stage.calls() == "1 2 3 4");
    CHECK(stage.database.value(
              "SELECT row_id || ' ' || why FROM seriatim.journal WHERE act = 'skip'") ==
          "2 customer is gone");
    CHECK(relay->stop().code == 0);
  }

  TEST_CASE("a receiver that hangs: given up at the deadline, same key, one attempt more") {
    Stage stage(2);
    stage.receiver.push(Reply::doing(Reply::Act::hang));
    const auto relay = stage.start();
    REQUIRE(stage.receiver.wait_for_requests(3, 30s));
    const auto requests = stage.receiver.requests();
    CHECK(stage.calls() == "1 1 2");
    CHECK(requests[0].header("Idempotency-Key") == requests[1].header("Idempotency-Key"));
    CHECK(requests[1].header("Seriatim-Attempt") == "2");
  }

  TEST_CASE("processed but the answer lost: repeated with the same key and attempt 2") {
    Stage stage(2);
    stage.receiver.push(Reply::doing(Reply::Act::reset_before_answer));
    const auto relay = stage.start();
    REQUIRE(stage.receiver.wait_for_requests(3, 30s));
    const auto requests = stage.receiver.requests();
    CHECK(stage.calls() == "1 1 2");
    CHECK(requests[0].header("Idempotency-Key") == requests[1].header("Idempotency-Key"));
    CHECK(requests[0].body == requests[1].body);
    CHECK(requests[1].header("Seriatim-Attempt") == "2");
  }

  TEST_CASE("the halt outlives the program: a restart is halted at the same row") {
    Stage stage(2);
    stage.receiver.reply_with(Reply::with_status(400));
    auto relay = stage.start();
    REQUIRE(stage.state_becomes("halted"));
    CHECK(relay->stop().code == 0);
    relay = stage.start();
    REQUIRE(stage.database.becomes_true(
        "SELECT count(*) >= 2 FROM seriatim.journal WHERE act = 'claim'"));
    CHECK(stage.receiver.request_count() == 1);
    stage.receiver.reply_with(Reply::with_status(200));
    CHECK(stage.seriatim({"retry", "p"}).code == 0);
    REQUIRE(stage.receiver.wait_for_requests(3, 30s));
    CHECK(stage.calls() == "1 1 2");
  }
}
