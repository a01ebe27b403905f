// Of a window with several calls in flight: rows that wait for one another do so for a while only.
// What it promises under random schedules is judged in simulation/window_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "core/window.hpp"

using namespace seriatim;
using namespace seriatim::core;
using namespace std::chrono_literals;

namespace {

/// A window, a clock moved by hand, and who is called.
class Counter {
 public:
  explicit Counter(Window::Limits limits, RateLimit rate = {}, bool probes = false,
                   const Cursor& cursor = {}, bool one_by_one = false)
      : pace_(limited(rate)), window_(limits, cursor, pace_, one_by_one, probes) {}

  void rows(const std::vector<std::pair<int, const char*>>& rows) {
    PollResult round;
    for (const auto& [id, key] : rows) round.records.push_back(record(id, key));
    window_.add(std::move(round));
    window_.read_to_end();
  }
  void due(const std::vector<std::pair<int, const char*>>& rows) {
    PollResult round;
    for (const auto& [id, key] : rows) {
      round.records.push_back(record(id, key));
      round.due_rows.push_back({.id = std::to_string(id), .redriven = true, .key = key});
    }
    window_.add_due(std::move(round));
  }
  void late(int id, const char* key) {
    PollResult round;
    round.queued.push_back({record(id, key).position, key, 0, true});
    window_.add(std::move(round));
  }
  /// What is to be committed is, and rows are called, for so long.
  void pass(std::chrono::milliseconds time) {
    for (const auto end = now_ + time; now_ < end; now_ += 10ms) {
      window_.wake(now_);
      if (window_.has_news()) commit();
      for (const auto& row : window_.begin(now_)) numbers_[std::stoi(row->id())] = row->sequence;
    }
  }
  void answer(int id, const Outcome& outcome = Outcome::done()) {
    window_.answered(number(id), outcome);
  }
  void hold_key_of(int id, const char* key) {
    window_.set_aside(number(id), Park{record(id, key).position, key, false, true, 1, "503", 1s});
  }
  void not_begun(int id) { window_.not_begun(number(id)); }
  [[nodiscard]] bool is_called(int id) const { return numbers_.contains(id); }
  [[nodiscard]] bool is_queued(int id) const { return queued_.contains(std::to_string(id)); }
  /// By the last commit.
  [[nodiscard]] const RowsAhead& kept() const { return kept_; }
  [[nodiscard]] Window& window() { return window_; }

 private:
  static ProcessConfig limited(RateLimit rate) {
    ProcessConfig config;
    config.rate_limit = rate;
    return config;
  }
  static Record record(int id, const char* key) {
    Record record;
    record.position = {id, std::to_string(id)};
    record.key = key;
    return record;
  }
  std::uint64_t number(int id) {
    const auto number = numbers_.at(id);
    numbers_.erase(id);
    return number;
  }
  void commit() {
    auto commit = window_.commit(true);
    for (const auto& row : commit.queued) queued_.insert(row.position.id);
    kept_ = std::move(commit.in_flight.ahead);
  }

  Pace pace_;
  Window window_;
  Time now_{std::chrono::hours(1)};
  std::map<int, std::uint64_t> numbers_;
  std::set<std::string> queued_;
  RowsAhead kept_;
};

const auto refused = Outcome::retry_later("503");

/// Of a lane that ended while these rows were ahead of it; the last one is the last in lane order.
Cursor left_open(std::vector<RowsAhead::Open> open) {
  Cursor cursor;
  const auto& id = open.back().id;
  cursor.ahead.to = Position{std::stoi(id), id};
  for (const auto& row : open) {
    cursor.ahead.numbered_to = std::max(cursor.ahead.numbered_to, row.number);
  }
  cursor.ahead.open = std::move(open);
  return cursor;
}

}  // namespace

TEST_SUITE("window: nothing waits for ever") {
  TEST_CASE("rows after one that failed leave their turn to those before it") {
    Counter counter({2, 1, 100, 0}, {10});
    counter.rows({{1, "a"}, {2, "a"}, {3, "f"}, {4, "g"}, {5, "h"}});
    counter.pass(1s);
    REQUIRE(counter.is_called(3));
    counter.answer(3, refused);
    counter.pass(100ms);
    counter.answer(1);
    counter.pass(1s);
    REQUIRE(counter.is_called(2));
    counter.answer(2);
    counter.pass(100ms);
    REQUIRE(counter.window().failed());
    CHECK(counter.window().failed()->row->id() == "3");
  }

  TEST_CASE("so does a due row that was not begun") {
    Counter counter({2, 2, 100, 0});
    counter.due({{91, "d"}, {92, "k"}});
    counter.rows({{1, "k"}, {2, "f"}, {3, "g"}});
    counter.pass(10ms);
    REQUIRE(counter.is_called(91));
    REQUIRE(counter.is_called(2));
    counter.answer(2, refused);
    counter.answer(3);
    counter.not_begun(91);
    counter.pass(100ms);
    REQUIRE(counter.is_called(92));  // row 1, which is before row 2, waits for it
    counter.answer(92);
    counter.pass(100ms);
    REQUIRE(counter.is_called(1));
    counter.answer(1);
    counter.pass(100ms);
    REQUIRE(counter.window().failed());
    CHECK(counter.window().failed()->row->id() == "2");
  }

  TEST_CASE("a due row goes out if the row before it in its key gives way to a late one") {
    Counter counter({2, 2, 100, 0}, {}, true);  // one call at first
    counter.rows({{10, "z"}, {11, "k"}});
    counter.pass(10ms);
    REQUIRE(counter.is_called(10));
    counter.due({{5, "k"}});
    counter.late(4, "k");
    counter.answer(10);
    counter.pass(100ms);
    REQUIRE(counter.is_called(5));
    CHECK_FALSE(counter.is_queued(4));  // not while a row of its key is in flight
    counter.answer(5);
    counter.pass(100ms);
    CHECK(counter.is_queued(4));
    CHECK(counter.is_queued(11));
  }

  TEST_CASE("a row that failed is dealt with though one before it waits for one after it") {
    const auto cursor = left_open({{1, "20", 0}, {2, "30", 0}});
    ProcessConfig config;
    Pace pace(config);
    Window window({2, 1, 100, 0}, cursor, pace, false, true);
    PollResult round;
    for (const auto& [id, key] : {std::pair{"10", "k"}, {"20", "f"}, {"30", "k"}}) {
      auto& record = round.records.emplace_back();
      record.position = {std::stoi(id), id};
      record.key = key;
    }
    window.add(std::move(round));  // row 10 appeared since, so it goes out after row 30
    std::string called;
    const Time now{std::chrono::hours(1)};
    for (int i = 0; i < 10; ++i) {
      window.wake(now);
      if (window.has_news()) (void)window.commit(true);
      for (const auto& row : window.begin(now)) {
        called += row->id() + ' ';
        window.answered(row->sequence, row->id() == "20" ? refused : Outcome::done());
      }
    }
    CHECK(called == "20 30 10 ");
    REQUIRE(window.failed());
    CHECK(window.failed()->row->id() == "20");
  }
}

// `seriatim torture --promote`, seed 3201: a row was accepted, queued after a crash, and came under
// another number after the next, not marked as late.
TEST_SUITE("window: what a receiver may have seen is kept") {
  TEST_CASE("a row in doubt that queues does so also after a crash, though its queue is gone") {
    constexpr Window::Limits limits{4, 4, 100, 0};
    auto cursor = left_open({{3, "1", 1}, {4, "2", 1}, {5, "3", 1}});
    Counter before(limits, {}, false, cursor);
    before.rows({{1, "slow"}, {2, "a"}, {3, "a"}});
    before.pass(10ms);
    REQUIRE(before.is_called(2));
    before.hold_key_of(2, "a");
    before.pass(10ms);
    before.due({{2, "a"}});
    before.pass(10ms);
    REQUIRE(before.is_called(2));
    before.answer(2);
    before.pass(10ms);
    REQUIRE_FALSE(before.is_queued(3));

    cursor.ahead = before.kept();
    Counter after(limits, {}, false, cursor);
    after.rows({{1, "slow"}, {3, "a"}, {4, "a"}});
    after.pass(10ms);
    CHECK_FALSE(after.is_called(3));  // row 2 had a greater number than row 3 was given
    CHECK_FALSE(after.is_called(4));
    REQUIRE(after.is_called(1));
    after.answer(1);
    after.pass(10ms);
    CHECK(after.is_queued(3));
    CHECK(after.is_queued(4));
    CHECK(after.kept().empty());
  }

  TEST_CASE("a kept row that cannot be read yet queues if a number was given meanwhile") {
    constexpr Window::Limits limits{4, 4, 100, 0};
    Counter counter(limits, {}, false, left_open({{3, "1", 1}, {4, "2", 1}, {5, "3", 0}}));
    counter.rows({{1, "a"}});  // the fence holds the others back
    counter.pass(10ms);
    REQUIRE(counter.is_called(1));
    counter.hold_key_of(1, "a");
    counter.pass(10ms);
    counter.due({{1, "a"}});
    counter.pass(10ms);
    REQUIRE(counter.is_called(1));  // as 6
    counter.answer(1);
    counter.pass(10ms);
    counter.rows({{2, "a"}, {3, "b"}});
    counter.pass(10ms);
    CHECK(counter.is_queued(2));
    CHECK(counter.is_called(3));
  }

  TEST_CASE("… or if a row of its key goes out under a kept number that is greater") {
    constexpr Window::Limits limits{4, 4, 100, 0};
    // Row 1 appeared when row 2 had its number.
    Counter counter(limits, {}, false, left_open({{6, "1", 1}, {5, "2", 1}}));
    counter.rows({{1, "a"}});
    counter.pass(10ms);
    REQUIRE(counter.is_called(1));
    counter.answer(1);
    counter.pass(10ms);
    counter.rows({{2, "a"}});
    counter.pass(10ms);
    CHECK(counter.is_queued(2));
  }

  TEST_CASE("no other row is taken for the one that kills while that one cannot be read") {
    Counter counter({4, 4, 100, 0}, {}, false, left_open({{5, "2", 1}}), true);
    counter.rows({{1, "a"}});
    CHECK(counter.window().first() == nullptr);
    counter.rows({{2, "b"}});
    REQUIRE(counter.window().first() != nullptr);
    CHECK(counter.window().first()->id() == "2");
  }
}
