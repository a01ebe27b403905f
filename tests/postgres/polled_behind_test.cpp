// Rows that come with the COMMIT of the move before them: those of a poll, and not for long.
#include <doctest/doctest.h>

#include "postgres/desk.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using std::chrono::milliseconds;

namespace {

const std::string inserted = "{}";
const std::string corrected = "\"corrected\"";

struct HintedDesk : Desk {
  HintedDesk() : Desk(OrderBy::id) {
    insert(1);
    target.source.key = "(10 / length(t.customer))::text";  // fails where there is none to speak of
    database.run(
        "CREATE TRIGGER hint AFTER INSERT ON bookings FOR EACH STATEMENT EXECUTE FUNCTION "
        "seriatim.hint()");
  }
};

/// A lane that has delivered three rows of four, one at a time, by id. What is asked again and
/// again is prepared by then.
struct Underway {
  HintedDesk desk;
  TestLane lane = desk.relay();
  std::vector<Position> delivered;

  Underway() {
    REQUIRE(lane.claim());
    for (int row = 1; row <= 3; ++row) REQUIRE(deliver() == std::to_string(row));
  }
  void correct_row_4() {
    desk.database.run("UPDATE bookings SET payload = '\"corrected\"' WHERE id = 4");
  }
  /// The first row of what is polled, as a relay does, which reads the cursor only if it has
  /// a reason to.
  std::string deliver(unsigned rows_max = 1) {
    const auto round = lane.poll(rows_max);
    if (round.records.empty()) return "";
    auto& cursor = lane.cursor;
    REQUIRE(lane.start());
    REQUIRE(lane.settle({cursor.position, {round.records[0].position}, {}, Rest{}}));
    cursor.position = round.records[0].position;
    delivered.push_back(*cursor.position);
    return cursor.position->id;
  }
  std::string next_payload() {
    const auto round = lane.poll(1);
    return round.records.empty() ? "none" : round.records[0].payload.value_or("NULL");
  }
};

}  // namespace

TEST_CASE("the rows after the last of a round come with its COMMIT") {
  Underway relay;
  relay.correct_row_4();  // later: the poll takes what came
  CHECK(relay.next_payload() == inserted);
}

TEST_CASE("rows that came are not kept beyond the next poll") {
  Underway relay;
  relay.correct_row_4();
  (void)relay.lane.poll(1);
  CHECK(relay.next_payload() == corrected);
}

TEST_CASE("rows that came are not kept while an operator may correct them") {
  Underway relay;
  relay.correct_row_4();
  SUBCASE("a read of the cursor") {
    (void)relay.lane.session->read_cursor();
  }
  SUBCASE("a claim") {
    (void)relay.lane.session->claim();
  }
  CHECK(relay.next_payload() == corrected);
}

TEST_CASE("what came is that of another place where the cursor was moved meanwhile") {
  Underway relay;
  REQUIRE(relay.deliver() == "4");  // behind it came that there is none
  relay.lane.cursor.position = relay.delivered[1];
  CHECK(relay.lane.poll(1).records.at(0).id() == "3");
}

TEST_CASE("no more rows are handed over than are asked for") {
  Underway relay;
  relay.desk.insert(3);
  REQUIRE(relay.deliver(100) == "4");
  REQUIRE(relay.deliver(100) == "5");
  CHECK(relay.lane.poll(1).records.size() == 1);
}

TEST_CASE("a row that comes when none was there is handed over") {
  Underway relay;
  REQUIRE(relay.deliver() == "4");  // behind it came that there is none
  relay.desk.insert(1);
  CHECK(relay.deliver() == "");
  CHECK(relay.lane.session->wait_until(std::chrono::steady_clock::now() + milliseconds{20'000}));
  CHECK(relay.deliver() == "5");
}

TEST_CASE("a row above a hole that came so waits for its writer") {
  Underway relay;
  SqlSession writer(relay.desk.database.url());
  writer.run("BEGIN");
  writer.run("INSERT INTO bookings (payload) VALUES ('{}')");  // 5
  relay.desk.insert(1);                                        // 6
  REQUIRE(relay.deliver() == "4");
  CHECK(relay.deliver() == "");
  writer.run("COMMIT");
  CHECK(relay.deliver() == "5");
  CHECK(relay.deliver() == "6");
}

TEST_CASE("rows that cannot be read are met when they are polled, the readable ones first") {
  Underway relay;
  relay.desk.insert(1);
  relay.desk.database.run("INSERT INTO bookings (payload, customer) VALUES ('{}', '')");
  REQUIRE(relay.deliver(2) == "4");
  CHECK(relay.deliver(2) == "5");
  const auto round = relay.lane.poll(2);
  REQUIRE(round.unreadable);
  CHECK(round.unreadable->row_id == "6");
}
