#include "contract/source_promises.hpp"

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

void no_settlement_from_elsewhere(SourceUnderTest& source) {
  source.append("a");
  source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  const auto rows = relay.poll().records;
  REQUIRE(relay.start());
  CHECK_FALSE(relay.settle({rows[0].position, {rows[1].position}, {}, Rest{}}));
  CHECK_FALSE(relay.session->read_cursor().position.has_value());
  REQUIRE(relay.settle({std::nullopt, {rows[0].position}, {}, Rest{}}));
  CHECK_FALSE(relay.settle({std::nullopt, {rows[0].position}, {}, Rest{}}));  // settled already
  CHECK(relay.session->read_cursor().sequence == 1);
}

/// A person who asks for a turn gets it after the call in flight.
void a_held_lane_announces_no_call(SourceUnderTest& source) {
  source.append("a");
  source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  const auto rows = relay.poll().records;
  REQUIRE(relay.start());
  source.hold(lane_id, true);
  CHECK(relay.session->settle(1, {std::nullopt, {rows[0].position}, {}, Next{}}).grant ==
        Grant::held);
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.cursor.sequence == 1);
  CHECK(relay.cursor.attempts == 0);
  CHECK(relay.cursor.held);
  CHECK(relay.session->start(1, 1) == Grant::held);
  CHECK(relay.session->read_cursor().attempts == 0);
  source.hold(lane_id, false);
  CHECK_FALSE(relay.session->read_cursor().held);
  REQUIRE(relay.start());
  CHECK(relay.move_to(rows[1].position));
}

void attempts_are_counted(SourceUnderTest& source) {
  source.append("a");
  source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  CHECK(relay.session->read_cursor().attempts == 1);
  REQUIRE(relay.start());
  CHECK(relay.session->read_cursor().attempts == 2);
  const auto position = relay.poll().records.at(0).position;
  REQUIRE(relay.settle({std::nullopt, {position}, {}, Next{}}));
  CHECK(relay.session->read_cursor().attempts == 1);
  relay.session->release(1, true);
  CHECK(relay.session->read_cursor().attempts == 0);
}

void an_attempt_not_made_is_not_counted_again(SourceUnderTest& source) {
  source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(relay.start(true));
  CHECK(relay.session->read_cursor().attempts == 1);
  relay.session->release(1, true);
  CHECK(relay.session->read_cursor().attempts == 0);
}

void a_retry_is_kept(SourceUnderTest& source) {
  const auto id = source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Retry{{id, "HTTP 503"}, milliseconds{60'000}}}));
  auto cursor = relay.session->read_cursor();
  CHECK(cursor.state == Cursor::State::retrying);
  CHECK(cursor.row_id == id);
  CHECK(cursor.detail == "HTTP 503");
  CHECK(cursor.retry_in > milliseconds{30'000});
  CHECK(cursor.retry_in <= milliseconds{60'000});
  source.retry(lane_id);
  cursor = relay.session->read_cursor();
  CHECK(cursor.state == Cursor::State::running);
  CHECK(cursor.retry_in == milliseconds{0});
  CHECK(relay.start());
}

/// Rows done and what becomes of the row after them are one commit.
void a_call_is_settled_at_once(SourceUnderTest& source) {
  Ids ids;
  for (const auto* payload : {"a", "b", "c", "d", "e"}) ids.push_back(source.append(payload));
  Relay relay(source, "relay");
  relay.claim();
  const auto rows = relay.poll().records;
  const auto settle = [&](std::size_t first, std::size_t done, Fate fate) {
    const auto from = first > 0 ? std::optional(rows[first - 1].position) : std::nullopt;
    REQUIRE(relay.start());
    Settlement settlement{from, {}, {}, std::move(fate)};
    for (auto i = first; i < first + done; ++i) settlement.done.push_back(rows[i].position);
    REQUIRE(relay.settle(settlement));
    return relay.session->read_cursor();
  };
  auto cursor = settle(0, 1, Retry{{ids[1], "HTTP 503"}, milliseconds{60'000}});
  CHECK(cursor.position->id == ids[0]);
  CHECK(cursor.sequence == 1);
  CHECK(cursor.state == Cursor::State::retrying);
  CHECK(cursor.row_id == ids[1]);
  CHECK(cursor.attempts == 1);
  CHECK(cursor.retry_in > milliseconds{30'000});

  cursor = settle(1, 0, Retry{{ids[1], "HTTP 503"}, milliseconds{0}});
  CHECK(cursor.position->id == ids[0]);
  CHECK(cursor.attempts == 2);

  cursor = settle(1, 1, Park{rows[2].position, std::nullopt, false, false, 1, "HTTP 422"});
  CHECK(cursor.position->id == ids[2]);
  CHECK(cursor.sequence == 3);
  CHECK(cursor.set_aside == 1);
  CHECK(cursor.parked == 1);
  CHECK(cursor.attempts == 0);
  CHECK(cursor.state == Cursor::State::running);

  cursor = settle(3, 1, Halt{HaltReason::poison, {ids[4], "HTTP 422"}});
  CHECK(cursor.position->id == ids[3]);
  CHECK(cursor.sequence == 4);
  CHECK(cursor.state == Cursor::State::halted);
  CHECK(cursor.reason == HaltReason::poison);
  CHECK(cursor.row_id == ids[4]);
  CHECK(cursor.attempts == 1);
}

/// What is set aside is the store's affair, and reading it again the reader's.
void a_parked_row_goes_out_again(SourceUnderTest& source) {
  Ids ids;
  for (const auto* payload : {"a", "b", "c"}) ids.push_back(source.append(payload));
  Relay relay(source, "relay");
  relay.claim();
  const auto rows = relay.poll().records;
  REQUIRE(relay.start());
  REQUIRE(relay.settle(
      {std::nullopt, {}, {}, Park{rows[0].position, std::nullopt, false, true, 1, "HTTP 422"}}));
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.cursor.parked == 1);

  const auto behind = relay.poll();  // none of them has a key, so they count as rows of one key
  CHECK(behind.records.empty());
  REQUIRE(behind.queued.size() == 2);
  CHECK(behind.queued[1].position == rows[2].position);
  REQUIRE(relay.settle({rows[0].position, {}, behind.queued, Rest{}}));
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.cursor.sequence == 3);

  source.redrive(lane_id);
  CHECK_FALSE(relay.start());  // the act has raised the epoch
  REQUIRE(relay.claim());
  for (const auto& row : rows) {
    const auto again = relay.poll(1);
    REQUIRE(again.records.size() == 1);
    CHECK(again.redriven());
    CHECK(again.records[0].position == row.position);
    CHECK(again.records[0].late);
    CHECK(again.records[0].payload == row.payload);
    REQUIRE(relay.start());
    REQUIRE(relay.settle({rows[2].position, {row.position}, {}, Rest{}}));
  }
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.cursor.position == rows[2].position);
  CHECK(relay.cursor.sequence == 6);
  CHECK(relay.cursor.parked == 0);
  source.append("d");
  CHECK(relay.poll().records.at(0).payload == "d");
}

void a_halt_stays_until_an_operator_acts(SourceUnderTest& source) {
  const auto bad = source.append("bad");
  const auto good = source.append("good");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Halt{HaltReason::poison, {bad, "HTTP 422"}}}));
  const auto cursor = relay.session->read_cursor();
  CHECK(cursor.state == Cursor::State::halted);
  CHECK(cursor.reason == HaltReason::poison);
  CHECK(cursor.row_id == bad);
  CHECK_FALSE(relay.start());
  source.skip(lane_id, bad);
  relay.cursor = relay.session->read_cursor();
  CHECK(relay.cursor.state == Cursor::State::running);
  CHECK(relay.cursor.position->id == bad);
  CHECK(relay.cursor.sequence == 1);
  CHECK_FALSE(relay.cursor.reason.has_value());
  CHECK(relay.waiting() == Ids{good});
}

void a_pause_stops_the_lane(SourceUnderTest& source) {
  source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  source.pause(lane_id);
  CHECK(relay.session->read_cursor().state == Cursor::State::paused);
  CHECK_FALSE(relay.start());
  CHECK_FALSE(relay.settle({relay.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "x"}}}));
  source.resume(lane_id);
  CHECK(relay.deliver_one());
}

}  // namespace

const std::vector<Promise>& promises_of_calls() {
  static const std::vector<Promise> promises{
      {"no settlement from elsewhere", no_settlement_from_elsewhere},
      {"a held lane announces no call", a_held_lane_announces_no_call},
      {"attempts are counted", attempts_are_counted},
      {"an attempt that was not made is not counted again",
       an_attempt_not_made_is_not_counted_again},
      {"a retry is kept until it is due or an operator acts", a_retry_is_kept},
      {"rows done and the failure after them are settled at once", a_call_is_settled_at_once},
      {"a parked row and those behind it go out again",
       a_parked_row_goes_out_again,
       {.fence = false, .reread = true}},
      {"a halt stays until an operator acts", a_halt_stays_until_an_operator_acts},
      {"a pause stops the lane until it is resumed", a_pause_stops_the_lane},
  };
  return promises;
}

}  // namespace seriatim::testing
