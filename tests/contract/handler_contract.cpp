// What every handler of a broker keeps, on its real server (broker_under_test.hpp).
#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "contract/broker_under_test.hpp"
#include "contract/handler_lane.hpp"
#include "contract/handler_relay_stage.hpp"
#include "support/process.hpp"

namespace seriatim::testing {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Kind = Outcome::Kind;

constexpr std::chrono::seconds patience{180};

/// A case of the suite: a broker, and how to make its handler.
struct Stage {
  void (*register_kind)(HandlerRegistry&);
  std::unique_ptr<BrokerUnderTest> broker;

  [[nodiscard]] HandlerLane lane(std::vector<Record> rows, std::size_t batch_rows = 100) const {
    return {make_handler(register_kind, *broker), std::move(rows), batch_rows};
  }
};

/// Nothing lost, first appearances in order, repeats within the bound.
void check_complete(BrokerUnderTest& broker, const std::vector<Record>& rows,
                    std::size_t repeats_max) {
  const auto messages = broker.messages();
  std::set<std::string> seen;
  std::size_t next = 0;
  for (const auto& message : messages) {
    if (!seen.insert(message.id).second) continue;
    REQUIRE(next < rows.size());
    REQUIRE(message.id == rows[next].id());
    REQUIRE(message.sequence == rows[next].sequence);
    REQUIRE(message.payload == rows[next].payload);
    next += 1;
  }
  CHECK(next == rows.size());
  CHECK(messages.size() - seen.size() <= (broker.drops_repeats() ? 0 : repeats_max));
}

void order_is_kept(Stage& stage) {
  auto lane = stage.lane(make_rows(1'000));
  CHECK_FALSE(lane.deliver_until_failure());
  check_complete(*stage.broker, lane.rows(), 0);
}

std::vector<Record> awkward_rows() {
  auto rows = make_rows(8);
  rows[0].payload = std::string("\0\x01\xff\0", 4);
  rows[1].payload = "";
  rows[2].payload.reset();
  rows[3].payload = "blåbærgrød – 東京 🚀";
  rows[4].payload = std::string(1 << 20, 'x');
  rows[4].payload->back() = '\0';
  rows[5].key = "Ærø\tkey";
  rows[5].headers = {{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
                     {"x-note", "blåbær"}};
  rows[6].key.reset();
  rows[6].event_type.reset();
  rows[7].payload = "\r\n*1\r\n$4\r\nPING\r\n";
  return rows;
}

void bytes_arrive_exactly(Stage& stage) {
  auto lane = stage.lane(awkward_rows());
  REQUIRE_FALSE(lane.deliver_until_failure());
  const auto messages = stage.broker->messages();
  REQUIRE(messages.size() == lane.rows().size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto& row = lane.rows()[i];
    CAPTURE(row.sequence);
    CHECK(messages[i].id == row.id());
    CHECK((messages[i].payload == row.payload));  // in brackets: a failure prints no mebibyte
    CHECK(messages[i].key == row.key);
    CHECK(messages[i].event_type == row.event_type);
    CHECK(messages[i].headers == row.headers);
    CHECK(messages[i].process == row.process);
    CHECK(messages[i].sequence == row.sequence);
    CHECK(messages[i].epoch == row.epoch);
  }
}

void nothing_overtakes_a_refused_row(Stage& stage) {
  auto rows = make_rows(60);
  rows[36].payload = stage.broker->refused_payload();
  auto lane = stage.lane(std::move(rows));
  const auto failure = lane.deliver_until_failure();
  REQUIRE(failure);
  CHECK(failure->kind == Kind::poison);
  CHECK(failure->reason != "");
  CHECK(lane.confirmed() == 36);
  CHECK(stage.broker->count() == 36);
  CHECK(lane.deliver_until_failure()->kind == Kind::poison);
  CHECK(stage.broker->count() == 36);
  lane.set_aside();
  CHECK_FALSE(lane.deliver_until_failure());
  check_complete(*stage.broker, lane.rows(), 0);
}

void a_server_that_is_down_is_waited_for(Stage& stage) {
  stage.broker->stop();
  auto lane = stage.lane(make_rows(50));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto outcome = lane.call(1s);
    CHECK(outcome.done == 0);
    REQUIRE(outcome.next);
    CHECK(outcome.next->kind == Kind::retry_later);
    CHECK(outcome.next->reason != "");
  }
  stage.broker->start();
  CHECK(lane.deliver_all());
  check_complete(*stage.broker, lane.rows(), 0);
}

/// What happens to a server, and how it ends.
struct Trouble {
  void (BrokerUnderTest::*begin)();
  void (BrokerUnderTest::*end)();
};

/// Holds nothing back any longer, also if a check has failed: the thread that delivers can end.
struct AllowAll {
  HandlerLane& lane;
  ~AllowAll() { lane.allow(lane.rows().size()); }
};

/// The server is in trouble when a part of the rows is there, again and again, while a thread
/// delivers. Rows are held back until the trouble has begun, so that at least one call meets it.
void deliver_in_trouble(Stage& stage, HandlerLane& lane, const Trouble& trouble) {
  constexpr std::size_t times = 3;
  const auto part = [&](std::size_t halves) {
    return lane.rows().size() * std::min(halves, 2 * times + 2) / (2 * times + 2);
  };
  lane.allow(part(3));
  std::jthread delivery([&] {
    try {
      lane.deliver_all(1s);
    } catch (const std::exception& e) {
      MESSAGE(e.what());  // the rows that are missing are found below
    } catch (...) {       // a REQUIRE that failed has said so
    }
  });
  const AllowAll at_end{lane};
  for (std::size_t i = 1; i <= times; ++i) {
    wait_until(
        "some rows are there", [&] { return lane.confirmed() >= part(2 * i); }, patience);
    const auto failures = lane.failures();
    (stage.broker.get()->*trouble.begin)();
    lane.allow(part(2 * i + 3));
    wait_until(
        "a call fails", [&] { return lane.failures() > failures; }, patience);
    (stage.broker.get()->*trouble.end)();
  }
  delivery.join();
  CHECK(lane.confirmed() == lane.rows().size());
  CHECK(lane.failures() >= times);
  check_complete(*stage.broker, lane.rows(), lane.failures() * lane.batch_rows());
}

void a_killed_server_loses_nothing(Stage& stage) {
  auto lane = stage.lane(make_rows(30'000), 1'000);
  deliver_in_trouble(stage, lane, {&BrokerUnderTest::kill, &BrokerUnderTest::start});
}

void a_frozen_server_does_not_hold_a_call(Stage& stage) {
  auto lane = stage.lane(make_rows(300));
  REQUIRE_FALSE(lane.call().next);
  stage.broker->freeze();
  const auto began = Clock::now();
  const auto outcome = lane.call(500ms);
  CHECK(Clock::now() - began < 10s);  // no library's own limit is as short
  REQUIRE(outcome.next);
  const auto kind = outcome.next->kind;
  CHECK((kind == Kind::retry_later || kind == Kind::unknown));
  stage.broker->thaw();
  CHECK(lane.deliver_all());
  check_complete(*stage.broker, lane.rows(), lane.batch_rows());
}

void a_slow_server_keeps_the_order(Stage& stage) {
  auto lane = stage.lane(make_rows(20'000), 1'000);
  deliver_in_trouble(stage, lane, {&BrokerUnderTest::freeze, &BrokerUnderTest::thaw});
}

void a_stop_ends_the_batch_early(Stage& stage) {
  // So many that the stop comes before their end: Kafka confirms 50 000 in a tenth of a second.
  constexpr unsigned rows = 400'000;
  auto lane = stage.lane(make_rows(rows), rows);
  std::stop_source stop;
  std::jthread asks([&] {
    wait_until(
        "rows are there", [&] { return stage.broker->count() > 0; }, patience);
    stop.request_stop();
  });
  const auto outcome = lane.call(patience, stop.get_token());
  asks.join();
  CHECK_FALSE(outcome.next);
  CHECK(outcome.done > 0);
  CHECK(outcome.done < lane.rows().size());
  CHECK(stage.broker->count() == outcome.done);
}

void a_killed_relay_loses_nothing(Stage& stage) {
  constexpr std::size_t kills = 3;
  RelayStage relays(*stage.broker, 20'000);
  for (std::size_t i = 1; i <= kills; ++i) {
    auto relay = relays.start({});
    const auto rows = relays.rows * i / (kills + 1);
    wait_until(
        "the relay is in the midst of it", [&] { return stage.broker->count() >= rows; }, patience);
    relay->kill();
    relay->wait();
  }
  const auto relay = relays.start({});
  REQUIRE(relays.all_delivered());
  check_complete(*stage.broker, relays.records(), kills * RelayStage::batch_rows);
}

/// Handed over and not noted: the whole batch comes again.
void a_relay_killed_before_its_commit_repeats_at_most_a_batch(Stage& stage) {
  RelayStage relays(*stage.broker, 250);
  auto dying = relays.start({{"SERIATIM_CRASH_AT", "after call:2"}});
  dying->wait();
  CHECK(stage.broker->count() == 200);
  CHECK(relays.sequence() == "100");
  const auto relay = relays.start({});
  REQUIRE(relays.all_delivered());
  check_complete(*stage.broker, relays.records(), RelayStage::batch_rows);
}

struct Promise {
  const char* name;
  void (*check)(Stage&);
};

const std::vector<Promise> promises{
    {"rows come in order, once", order_is_kept},
    {"payload, key and headers arrive byte for byte", bytes_arrive_exactly},
    {"nothing overtakes a row the broker refuses; set aside, the rest follows",
     nothing_overtakes_a_refused_row},
    {"a server that is down at the start is waited for", a_server_that_is_down_is_waited_for},
    {"a server killed in the midst of batches loses nothing", a_killed_server_loses_nothing},
    {"a frozen server does not hold a call past its deadline",
     a_frozen_server_does_not_hold_a_call},
    {"a server that stumbles keeps the order", a_slow_server_keeps_the_order},
    {"a stop ends a batch early, at a confirmed row", a_stop_ends_the_batch_early},
    {"a relay killed in the midst of batches loses nothing", a_killed_relay_loses_nothing},
    {"a relay killed before its commit repeats at most a batch",
     a_relay_killed_before_its_commit_repeats_at_most_a_batch},
};

}  // namespace

void keep_handler_contract(void (*register_kind)(HandlerRegistry&), const BrokerFactory& make) {
  for (const auto& promise : promises) {
    SUBCASE(promise.name) {
      Stage stage{register_kind, make()};
      promise.check(stage);
    }
  }
}

}  // namespace seriatim::testing
