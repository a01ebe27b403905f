// The whole relay on threads, over the memory source.
#include "seriatim/relay.hpp"
#include "seriatim/source.hpp"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>
#include <thread>

#include "seriatim/testing/memory_source.hpp"
#include "support/in_process_relay.hpp"

using namespace seriatim;
using namespace std::chrono_literals;
using testing::DeliveryLog;
using testing::InProcessRelay;
using testing::MemorySource;

namespace {

Record row(std::string payload) {
  Record record;
  record.payload = std::move(payload);
  return record;
}

std::string payloads(const DeliveryLog& log) {
  std::string all;
  for (const auto& record : log.records()) all += record.payload.value_or("-");
  return all;
}

template <class Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

ProcessConfig quick(std::string name = "p") {
  ProcessConfig config;
  config.name = std::move(name);
  config.backoff.first = 1ms;
  config.backoff.max = 5ms;
  config.standby_interval = 1ms;
  config.poll_interval_max = 2ms;
  return config;
}

const LaneId lane{"p", 0, 1};

/// A handler that says the same whatever it is given.
class AnswersWith final : public Handler {
 public:
  explicit AnswersWith(BatchOutcome answer) : answer_(std::move(answer)) {}
  BatchOutcome handle(std::span<const Record>, const CallContext&) override { return answer_; }

 private:
  BatchOutcome answer_;
};

}  // namespace

TEST_SUITE("relay") {
  TEST_CASE("draining delivers everything in order and ends") {
    auto source = std::make_shared<MemorySource>();
    for (const char* text : {"a", "b", "c"}) source->append(row(text));
    DeliveryLog journal;
    Relay relay({.drain = true});
    relay.add(quick(), source, handler_from([&](const Record& record) {
                journal.add(record);
                return Outcome::done();
              }));
    const auto left = relay.run({});
    CHECK(payloads(journal) == "abc");
    REQUIRE(left.size() == 1);
    CHECK(left[0].state == LaneState::stopped);
    CHECK(left[0].sequence == 3);
  }

  TEST_CASE("rows appended while it runs are delivered, and an open transaction holds later ones") {
    auto source = std::make_shared<MemorySource>();
    DeliveryLog journal;
    InProcessRelay relay(source, quick(), handler_from([&](const Record& record) {
                           journal.add(record);
                           return Outcome::done();
                         }));
    source->append(row("a"));
    REQUIRE(journal.wait_for_rows(1));
    auto early = source->begin();
    early->append(row("b"));
    source->append(row("c"));
    source->append(row("d"));
    early->commit();
    REQUIRE(journal.wait_for_rows(4));
    relay.stop();
    CHECK(payloads(journal) == "abcd");
  }

  TEST_CASE("a handler that throws anything has failed: same row again, nothing overtakes it") {
    auto source = std::make_shared<MemorySource>();
    source->append(row("a"));
    source->append(row("b"));
    DeliveryLog journal;
    int failures = 0;
    InProcessRelay relay(source, quick(), handler_from([&](const Record& record) {
                           journal.add(record);
                           if (++failures == 1) throw std::runtime_error("broken");
                           if (failures == 2) throw 42;  // NOLINT: non-std on purpose
                           if (failures == 3) throw std::bad_alloc();
                           return Outcome::done();
                         }));
    REQUIRE(journal.wait_for_rows(2));
    relay.stop();
    CHECK(payloads(journal) == "aaaab");
    CHECK(journal.records()[3].attempt == 4);
    CHECK(journal.records()[3].sequence == 1);
  }

  TEST_CASE("a record that cannot be rendered is poison, and the rows before it are done") {
    auto source = std::make_shared<MemorySource>();
    for (const auto* payload : {"a", "bad", "c"}) source->append(row(payload));
    auto config = quick();
    config.commit_every = 3;
    DeliveryLog journal;
    Relay relay({.drain = true});
    relay.add(config, source, handler_from([&](const Record& record) {
                if (record.payload == "bad") throw CannotRender("no number to send to");
                journal.add(record);
                return Outcome::done();
              }));
    const auto left = relay.run({});
    REQUIRE(left.size() == 1);
    CHECK(left[0].reason == HaltReason::poison);
    CHECK(left[0].row_id == "2");
    CHECK(left[0].detail == "no number to send to");
    CHECK(payloads(journal) == "a");
  }

  TEST_CASE(
      "an answer that does not fit its call halts that lane alone, and no row counts as done") {
    struct Broken {
      BatchOutcome answer;  ///< to a call of two rows
      std::string detail;
    };
    const std::vector<Broken> broken{
        {{3, std::nullopt}, "claims 3 rows done, but was given 2 rows"},
        {{static_cast<std::size_t>(-1), std::nullopt}, "but was given 2 rows"},
        {{2, Outcome::poison("no")}, "claims all of its 2 rows done, and an outcome \"poison\""},
        {{1, Outcome::done()}, "claims 1 row done, and calls the next one done"},
    };
    for (const auto& [answer, detail] : broken) {
      for (const bool types : {false, true}) {  // with them a row not handed over follows the two
        const auto& shown = detail;
        CAPTURE(shown);
        CAPTURE(types);
        auto source = std::make_shared<MemorySource>();
        auto sound_source = std::make_shared<MemorySource>();
        auto known = row("a");
        known.event_type = "known";
        for (int i = 0; i < 2; ++i) source->append(known);
        if (types) source->append(row("b"));
        for (int i = 0; i < 5; ++i) sound_source->append(row("s"));
        auto config = quick();
        config.commit_every = 3;
        config.on_poison = OnPoison::dead_letter;
        if (types) config.event_types = {"known"};
        DeliveryLog sound;
        Relay relay({.drain = true});
        relay.add(config, source,
                  [&answer = answer](unsigned) { return std::make_unique<AnswersWith>(answer); });
        relay.add(quick("sound"), sound_source, handler_from([&](const Record& record) {
                    sound.add(record);
                    return Outcome::done();
                  }));
        const auto left = relay.run({});
        REQUIRE(left.size() == 2);
        CHECK(left[0].state == LaneState::halted);
        CHECK(left[0].reason == HaltReason::unknown_outcome);
        CHECK(left[0].row_id == "1");
        CHECK(left[0].sequence == 0);
        CHECK_MESSAGE(left[0].detail.find("the handler of process \"p\" ") == 0, left[0].detail);
        CHECK_MESSAGE(left[0].detail.find(detail) != std::string::npos, left[0].detail);
        CHECK(left[1].state == LaneState::stopped);
        CHECK(payloads(sound) == "sssss");
      }
    }
  }

  TEST_CASE("poison halts the lane; skip sets exactly that row aside and the lane goes on") {
    auto source = std::make_shared<MemorySource>();
    source->append(row("a"));
    const auto bad = source->append(row("bad"));
    source->append(row("c"));
    DeliveryLog journal;
    InProcessRelay relay(source, quick(), handler_from([&](const Record& record) {
                           if (record.payload == "bad") return Outcome::poison("no");
                           journal.add(record);
                           return Outcome::done();
                         }));
    REQUIRE(journal.wait_for_rows(1));
    REQUIRE(eventually([&] { return source->cursor(lane).state == Cursor::State::halted; }));
    CHECK(source->cursor(lane).row_id == bad);
    CHECK_THROWS_AS(source->skip(lane, "999"), Error);
    source->skip(lane, bad);
    REQUIRE(journal.wait_for_rows(2));
    relay.stop();
    CHECK(payloads(journal) == "ac");
    CHECK(journal.records()[1].sequence == 3);
  }

  TEST_CASE("two relays: one is active, the other takes over when it leaves, epoch growing") {
    auto source = std::make_shared<MemorySource>();
    DeliveryLog first;
    DeliveryLog second;
    const auto into = [](DeliveryLog& journal) {
      return handler_from([&journal](const Record& record) {
        journal.add(record);
        return Outcome::done();
      });
    };
    InProcessRelay one(source, quick(), into(first));
    source->append(row("a"));
    REQUIRE(first.wait_for_rows(1));
    InProcessRelay two(source, quick(), into(second));
    source->append(row("b"));
    REQUIRE(first.wait_for_rows(2));
    one.stop();
    source->append(row("c"));
    REQUIRE(second.wait_for_rows(1));
    two.stop();
    CHECK(payloads(first) == "ab");
    CHECK(payloads(second) == "c");
    CHECK(second.records()[0].epoch > first.records()[0].epoch);
    CHECK(second.records()[0].sequence == 3);
  }

  TEST_CASE("lost sessions are opened again and nothing is lost or repeated at rest") {
    auto source = std::make_shared<MemorySource>();
    DeliveryLog journal;
    InProcessRelay relay(source, quick(), handler_from([&](const Record& record) {
                           journal.add(record);
                           return Outcome::done();
                         }));
    for (int i = 0; i < 5; ++i) {
      source->append(row(std::to_string(i)));
      REQUIRE(eventually([&] {
        try {
          return source->cursor(lane).sequence == static_cast<std::uint64_t>(i + 1);
        } catch (const Error&) {
          return false;  // not claimed yet
        }
      }));
      source->drop_sessions();
    }
    relay.stop();
    CHECK(payloads(journal) == "01234");
  }

  TEST_CASE("rows of one key keep to one lane and its order") {
    auto source = std::make_shared<MemorySource>();
    auto config = quick();
    config.lanes = 4;
    for (int i = 0; i < 200; ++i) {
      auto record = row(std::to_string(i));
      record.key = "k" + std::to_string(i % 7);
      source->append(std::move(record));
    }
    DeliveryLog journal;
    Relay relay({.drain = true});
    relay.add(config, source, handler_from([&](const Record& record) {
                journal.add(record);
                return Outcome::done();
              }));
    relay.run({});
    std::map<std::string, int> last;
    for (const auto& record : journal.records()) {
      const int number = std::stoi(*record.payload);
      CHECK(last.try_emplace(*record.key, -1).first->second < number);
      last[*record.key] = number;
    }
    CHECK(journal.records().size() == 200);
  }

  TEST_CASE("a configuration that cannot hold is refused with every reason at once") {
    auto config = quick("");
    config.lanes = 0;
    config.commit_every = 200;
    Relay relay;
    try {
      relay.add(config, std::make_shared<MemorySource>(),
                handler_from([](const Record&) { return Outcome::done(); }));
      FAIL("it was accepted");
    } catch (const ConfigError& error) {
      const std::string text = error.what();
      CHECK(text.find("name must") != std::string::npos);
      CHECK(text.find("lanes must") != std::string::npos);
      CHECK(text.find("commit_every must not exceed batch_rows") != std::string::npos);
    }
  }
}
