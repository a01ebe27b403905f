#include "contract/source_promises.hpp"

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

void rows_come_in_order(SourceUnderTest& source) {
  Ids appended;
  for (int i = 0; i < 5; ++i) appended.push_back(source.append("row"));
  Relay relay(source, "relay");
  REQUIRE(relay.claim());
  CHECK(relay.waiting() == appended);
  CHECK(relay.waiting(2) == Ids(appended.begin(), appended.begin() + 2));
  CHECK(relay.poll().records.at(0).payload == "row");
}

void rows_after_the_cursor_only(SourceUnderTest& source) {
  const auto first = source.append("a");
  const auto second = source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.deliver_one());
  CHECK(relay.cursor.position->id == first);
  CHECK(relay.cursor.sequence == 1);
  CHECK(relay.waiting() == Ids{second});
  REQUIRE(relay.deliver_one());
  CHECK(relay.waiting().empty());
  CHECK_FALSE(relay.poll().fenced);
}

/// A batch is read whole and then ends early in every way it can.
void rows_not_delivered_are_read_again(SourceUnderTest& source) {
  Ids rows;
  for (int i = 0; i < 5; ++i) rows.push_back(source.append("row"));
  const auto from = [&](int first) { return Ids(rows.begin() + first, rows.end()); };
  Relay relay(source, "relay");
  REQUIRE(relay.claim());
  REQUIRE(relay.waiting() == rows);
  REQUIRE(relay.start());  // the first row fails
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Retry{{rows[0], "HTTP 503"}, milliseconds{0}}}));
  CHECK(relay.waiting() == rows);

  const auto first_two = relay.poll().records;  // two are delivered, the third halts the lane
  REQUIRE(relay.settle({std::nullopt,
                        {first_two[0].position, first_two[1].position},
                        {},
                        Halt{HaltReason::poison, {rows[2], "HTTP 422"}}}));
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.waiting() == from(2));
  source.retry(lane_id);
  CHECK(relay.waiting() == from(2));

  REQUIRE(relay.deliver_one());
  CHECK(relay.waiting() == from(3));
  source.drop_sessions();
  relay.open();
  REQUIRE(relay.claim());
  CHECK(relay.waiting() == from(3));
  REQUIRE(relay.deliver_one());
  REQUIRE(relay.deliver_one());
  CHECK(relay.waiting().empty());
  CHECK(relay.cursor.sequence == 5);
}

void an_open_transaction_fences_later_rows(SourceUnderTest& source) {
  Relay relay(source, "relay");
  relay.claim();
  auto open = source.begin();
  const auto early = open->append("early");
  const auto late = source.append("late");
  const auto round = relay.poll();
  CHECK(round.records.empty());
  CHECK(round.fenced);
  CHECK(round.blockers.size() == 1);
  open->commit();
  CHECK(relay.waiting() == Ids{early, late});
}

void a_rolled_back_row_is_a_hole(SourceUnderTest& source) {
  Relay relay(source, "relay");
  relay.claim();
  auto open = source.begin();
  open->append("never");
  const auto late = source.append("late");
  CHECK(relay.waiting().empty());
  open.reset();
  CHECK(relay.waiting() == Ids{late});
  CHECK_FALSE(relay.poll().fenced);
}

}  // namespace

const std::vector<Promise>& promises_of_rows() {
  static const std::vector<Promise> promises{
      {"rows come in order, at most as many as asked", rows_come_in_order},
      {"rows after the cursor only", rows_after_the_cursor_only},
      {"rows read and not delivered are read again", rows_not_delivered_are_read_again},
      {"an open transaction fences later rows",
       an_open_transaction_fences_later_rows,
       {.fence = true, .reread = false}},
      {"a rolled back row is a hole, waited for once",
       a_rolled_back_row_is_a_hole,
       {.fence = true, .reread = false}},
  };
  return promises;
}

}  // namespace seriatim::testing
