// What every source promises a lane: the memory source and PostgreSQL pass the same tests, so the
// fake may be trusted.
#include <doctest/doctest.h>

#include <functional>
#include <thread>
#include <vector>

#include "contract/source_under_test.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

const LaneId lane_id{"process", 0, 1};
using Ids = std::vector<std::string>;

/// One relay's hands on the lane.
struct Relay {
  Relay(SourceUnderTest& under_test, std::string name)
      : under_test_(under_test), holder(std::move(name)) {
    config.name = lane_id.process;
    open();
  }
  void open() { session = under_test_.source().open(lane_id, config, holder, waker); }

  bool claim() {
    const auto answer = session->claim();
    cursor = answer.cursor;
    return answer.granted;
  }
  Round poll(unsigned rows_max = 100) { return session->poll(cursor.position, rows_max); }
  Ids waiting(unsigned rows_max = 100) {
    Ids ids;
    for (const auto& record : poll(rows_max).records) ids.push_back(record.id());
    return ids;
  }
  bool deliver_one() {
    const auto round = poll(1);
    REQUIRE(round.records.size() == 1);
    return start() && move_to(round.records[0].position);
  }
  bool start(bool again = false) { return session->start(cursor.epoch, 1, again) == Grant::ours; }
  bool settle(const Settlement& settlement) {
    return session->settle(cursor.epoch, settlement) == Grant::ours;
  }
  bool move_to(const Position& position) {
    if (!settle({cursor.position, {position}, {}, Rest{}})) return false;
    cursor = session->look();
    return true;
  }

 private:
  SourceUnderTest& under_test_;

 public:
  Waker waker;
  ProcessConfig config;
  std::string holder;
  std::unique_ptr<LaneSession> session;
  Cursor cursor;
};

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
  relay.cursor = relay.session->look();
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

void one_holder_at_a_time(SourceUnderTest& source) {
  Relay first(source, "first");
  Relay second(source, "second");
  REQUIRE(first.claim());
  const auto answer = second.session->claim();
  CHECK_FALSE(answer.granted);
  CHECK(answer.holder == "first");
  REQUIRE(first.claim());
  CHECK(first.cursor.epoch == 1);
  first.session->release(first.cursor.epoch, false);
  REQUIRE(second.claim());
  CHECK(second.cursor.epoch == 2);
  CHECK(second.cursor.crashes == 0);
}

void a_replaced_holder_moves_nothing(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  REQUIRE(first.claim());
  const auto position = first.poll().records.at(0).position;
  first.session->release(first.cursor.epoch, false);
  Relay second(source, "second");
  REQUIRE(second.claim());
  CHECK_FALSE(first.start());
  CHECK_FALSE(first.settle({std::nullopt, {position}, {}, Rest{}}));
  CHECK_FALSE(first.settle({first.cursor.position, {}, {}, Retry{{"1", "x"}, milliseconds{1}}}));
  CHECK_FALSE(first.settle({first.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "x"}}}));
  first.session->release(1, true);
  CHECK_FALSE(first.claim());
  CHECK(second.session->look() == second.cursor);
}

void no_settlement_from_elsewhere(SourceUnderTest& source) {
  source.append("a");
  source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  const auto rows = relay.poll().records;
  REQUIRE(relay.start());
  CHECK_FALSE(relay.settle({rows[0].position, {rows[1].position}, {}, Rest{}}));
  CHECK_FALSE(relay.session->look().position.has_value());
  REQUIRE(relay.settle({std::nullopt, {rows[0].position}, {}, Rest{}}));
  CHECK_FALSE(relay.settle({std::nullopt, {rows[0].position}, {}, Rest{}}));  // settled already
  CHECK(relay.session->look().sequence == 1);
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
  CHECK(relay.session->settle(1, {std::nullopt, {rows[0].position}, {}, Next{}}) == Grant::held);
  relay.cursor = relay.session->look();
  CHECK(relay.cursor.sequence == 1);
  CHECK(relay.cursor.attempts == 0);
  CHECK(relay.cursor.held);
  CHECK(relay.session->start(1, 1) == Grant::held);
  CHECK(relay.session->look().attempts == 0);
  source.hold(lane_id, false);
  CHECK_FALSE(relay.session->look().held);
  REQUIRE(relay.start());
  CHECK(relay.move_to(rows[1].position));
}

void attempts_are_counted(SourceUnderTest& source) {
  source.append("a");
  source.append("b");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  CHECK(relay.session->look().attempts == 1);
  REQUIRE(relay.start());
  CHECK(relay.session->look().attempts == 2);
  const auto position = relay.poll().records.at(0).position;
  REQUIRE(relay.settle({std::nullopt, {position}, {}, Next{}}));
  CHECK(relay.session->look().attempts == 1);
  relay.session->release(1, true);
  CHECK(relay.session->look().attempts == 0);
}

void an_attempt_not_made_is_not_counted_again(SourceUnderTest& source) {
  source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(relay.start(true));
  CHECK(relay.session->look().attempts == 1);
  relay.session->release(1, true);
  CHECK(relay.session->look().attempts == 0);
}

void a_retry_is_kept(SourceUnderTest& source) {
  const auto id = source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Retry{{id, "HTTP 503"}, milliseconds{60'000}}}));
  auto cursor = relay.session->look();
  CHECK(cursor.state == Cursor::State::retrying);
  CHECK(cursor.row_id == id);
  CHECK(cursor.detail == "HTTP 503");
  CHECK(cursor.retry_in > milliseconds{30'000});
  CHECK(cursor.retry_in <= milliseconds{60'000});
  source.retry(lane_id);
  cursor = relay.session->look();
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
    return relay.session->look();
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

void a_halt_stays_until_an_operator_acts(SourceUnderTest& source) {
  const auto bad = source.append("bad");
  const auto good = source.append("good");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  REQUIRE(
      relay.settle({relay.cursor.position, {}, {}, Halt{HaltReason::poison, {bad, "HTTP 422"}}}));
  const auto cursor = relay.session->look();
  CHECK(cursor.state == Cursor::State::halted);
  CHECK(cursor.reason == HaltReason::poison);
  CHECK(cursor.row_id == bad);
  CHECK_FALSE(relay.start());
  source.skip(lane_id, bad);
  relay.cursor = relay.session->look();
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
  CHECK(relay.session->look().state == Cursor::State::paused);
  CHECK_FALSE(relay.start());
  CHECK_FALSE(relay.settle({relay.cursor.position, {}, {}, Halt{HaltReason::poison, {"1", "x"}}}));
  source.resume(lane_id);
  CHECK(relay.deliver_one());
}

void a_lost_session_frees_the_lane(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  first.claim();
  REQUIRE(first.start());
  source.drop_sessions();
  CHECK_THROWS_AS(first.session->look(), SessionLost);
  Relay second(source, "second");
  REQUIRE(second.claim());
  CHECK(second.cursor.epoch == 2);
  CHECK(second.cursor.crashes == 1);
  CHECK_FALSE(second.cursor.position.has_value());
  first.open();
  CHECK_FALSE(first.claim());
}

void a_death_before_a_start_is_no_crash(SourceUnderTest& source) {
  source.append("a");
  Relay first(source, "first");
  first.claim();
  REQUIRE(first.start());
  source.drop_sessions();
  Relay second(source, "second");
  REQUIRE(second.claim());
  REQUIRE(second.cursor.crashes == 1);
  CHECK(second.cursor.state == Cursor::State::retrying);
  CHECK(second.cursor.retry_in == milliseconds{0});
  source.drop_sessions();
  Relay third(source, "third");
  REQUIRE(third.claim());
  CHECK(third.cursor.crashes == 1);
  REQUIRE(third.start());
  source.drop_sessions();
  Relay fourth(source, "fourth");
  REQUIRE(fourth.claim());
  CHECK(fourth.cursor.crashes == 2);
  CHECK(fourth.deliver_one());
}

void a_relay_that_lost_its_session_goes_on(SourceUnderTest& source) {
  source.append("a");
  Relay relay(source, "relay");
  relay.claim();
  REQUIRE(relay.start());
  source.drop_sessions();
  CHECK_THROWS_AS(relay.poll(), SessionLost);
  relay.open();
  REQUIRE(relay.claim());
  CHECK(relay.cursor.epoch == 2);  // so that no late statement of the lost session counts
  CHECK(relay.cursor.crashes == 0);
  CHECK(relay.cursor.attempts == 1);
}

void a_sleeping_lane_is_woken(SourceUnderTest& source) {
  Relay relay(source, "relay");
  relay.claim();
  relay.waker.clear();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  CHECK_FALSE(relay.session->wait_until(now()));
  std::thread other([&] { relay.waker.wake(); });
  CHECK(relay.session->wait_until(now() + std::chrono::seconds(20)));
  other.join();
}

struct Promise {
  const char* name;
  void (*check)(SourceUnderTest&);
};

const std::vector<Promise> promises{
    {"rows come in order, at most as many as asked", rows_come_in_order},
    {"rows after the cursor only", rows_after_the_cursor_only},
    {"rows read and not delivered are read again", rows_not_delivered_are_read_again},
    {"an open transaction fences later rows", an_open_transaction_fences_later_rows},
    {"a rolled back row is a hole, waited for once", a_rolled_back_row_is_a_hole},
    {"one holder at a time, and release hands over", one_holder_at_a_time},
    {"a replaced holder moves nothing", a_replaced_holder_moves_nothing},
    {"no settlement from elsewhere", no_settlement_from_elsewhere},
    {"a held lane announces no call", a_held_lane_announces_no_call},
    {"attempts are counted", attempts_are_counted},
    {"an attempt that was not made is not counted again", an_attempt_not_made_is_not_counted_again},
    {"a retry is kept until it is due or an operator acts", a_retry_is_kept},
    {"rows done and the failure after them are settled at once", a_call_is_settled_at_once},
    {"a halt stays until an operator acts", a_halt_stays_until_an_operator_acts},
    {"a pause stops the lane until it is resumed", a_pause_stops_the_lane},
    {"a lost session frees the lane and counts as a crash", a_lost_session_frees_the_lane},
    {"a holder that dies before it starts an attempt counts no crash",
     a_death_before_a_start_is_no_crash},
    {"a relay that lost its session goes on where it was", a_relay_that_lost_its_session_goes_on},
    {"a sleeping lane is woken", a_sleeping_lane_is_woken},
};

void keep_all_promises(const std::function<std::unique_ptr<SourceUnderTest>()>& make) {
  for (const auto& promise : promises) {
    SUBCASE(promise.name) {
      const auto source = make();
      promise.check(*source);
    }
  }
}

}  // namespace

TEST_CASE("the memory source keeps the contract in created_at order") {
  keep_all_promises([] { return make_memory_source({OrderBy::created_at, false}); });
}

TEST_CASE("the memory source keeps the contract in id order") {
  keep_all_promises([] { return make_memory_source({OrderBy::id, false}); });
}

TEST_CASE("the memory source, filtered, keeps the contract in created_at order") {
  keep_all_promises([] { return make_memory_source({OrderBy::created_at, true}); });
}

TEST_CASE("the memory source, filtered, keeps the contract in id order") {
  keep_all_promises([] { return make_memory_source({OrderBy::id, true}); });
}

TEST_CASE("PostgreSQL keeps the contract in created_at order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::created_at, false}); });
}

TEST_CASE("PostgreSQL keeps the contract in id order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::id, false}); });
}

TEST_CASE("PostgreSQL, filtered, keeps the contract in created_at order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::created_at, true}); });
}

TEST_CASE("PostgreSQL, filtered, keeps the contract in id order") {
  keep_all_promises([] { return make_postgres_source({OrderBy::id, true}); });
}
