// on_retry = "hold_key": a row that failed for now holds up the rows of its key, and no others.
#include <doctest/doctest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "lab/process/process.hpp"
#include "postgres/shop.hpp"

using namespace seriatim::testing;
using namespace seriatim;
using namespace std::chrono_literals;

namespace {

/// A shop whose relay runs next to the test. What it answers may be changed at any time.
struct OpenShop : Shop {
  std::mutex mutex;
  std::map<std::string, Outcome> answers;  ///< by customer; others are done
  std::string hangs;                       ///< calls for this customer end when the test does,
  int hangs_after = 0;                     ///< … for rows after this one
  std::stop_source test_ends;
  std::condition_variable_any ended;
  std::vector<Record> called;
  std::vector<Record> done;
  std::optional<Relay> open_relay;
  std::jthread runs;

  explicit OpenShop(unsigned in_flight = 1) {
    target.process.on_retry = OnRetry::hold_key;
    target.process.in_flight = in_flight;
    target.process.backoff = {10ms, 50ms, 1h};
    target.process.poll_interval_max = 20ms;
  }
  ~OpenShop() {
    test_ends.request_stop();
    runs.request_stop();
    if (runs.joinable()) runs.join();
  }
  void open() {
    open_relay.emplace().add(target.process, postgres_source(database.url(), target.source),
                             handler_from([this](const Record& record) {
                               std::unique_lock lock(mutex);
                               called.push_back(record);
                               ended.wait(lock, test_ends.get_token(), [&] {
                                 return record.key.value_or("") != hangs ||
                                        std::stoi(record.id()) <= hangs_after;
                               });
                               const auto found = answers.find(record.key.value_or(""));
                               if (found != answers.end()) return found->second;
                               done.push_back(record);
                               return Outcome::done();
                             }));
    runs = std::jthread([this](const std::stop_token& stop) { open_relay->run(stop); });
  }
  void answer(const std::string& customer, Outcome outcome) {
    const std::scoped_lock lock(mutex);
    answers.insert_or_assign(customer, std::move(outcome));
  }
  void hang(const std::string& customer) {
    const std::scoped_lock lock(mutex);
    hangs = customer;
    ended.notify_all();
  }
  void accept(const std::string& customer) {
    const std::scoped_lock lock(mutex);
    answers.erase(customer);
  }
  /// Ids that were accepted of a customer, in order.
  Ids done_of(const std::string& customer) {
    const std::scoped_lock lock(mutex);
    Ids ids;
    for (const auto& record : done) {
      if (record.key == customer) ids.push_back(record.id());
    }
    return ids;
  }
  std::size_t calls_of(const std::string& id) {
    const std::scoped_lock lock(mutex);
    return static_cast<std::size_t>(std::count_if(
        called.begin(), called.end(), [&](const Record& record) { return record.id() == id; }));
  }
  void wait(const std::string& what, const std::function<bool()>& fact) {
    lab::wait_until(what, fact, 30s);
  }
  std::string aside(const std::string& columns) {
    return database.value("SELECT coalesce(string_agg(concat_ws(' ', " + columns +
                          "), ', ' ORDER BY number), '') FROM seriatim.aside");
  }
};

}  // namespace

TEST_SUITE("held keys") {
  TEST_CASE("a customer whose receiver fails waits alone, and is served in order once it works") {
    for (const unsigned in_flight : {1U, 8U}) {
      CAPTURE(in_flight);
      OpenShop shop(in_flight);
      shop.answer("bad", Outcome::retry_later("HTTP 503"));
      shop.book({"a", "bad", "b", "bad", "a", "bad", "b"});
      shop.open();
      shop.wait("the others are served", [&] {
        return shop.done_of("a") == Ids{"1", "5"} && shop.done_of("b") == Ids{"3", "7"};
      });
      shop.wait("its row is tried again by itself", [&] { return shop.calls_of("2") >= 3; });
      CHECK(shop.calls_of("4") == 0);
      shop.book({"bad", "a"});
      shop.wait("new rows of others go on", [&] { return shop.done_of("a").size() == 3; });
      shop.accept("bad");
      shop.wait("all is delivered", [&] { return shop.done_of("bad").size() == 4; });
      CHECK(shop.done_of("bad") == Ids{"2", "4", "6", "8"});
      shop.wait("nothing is aside", [&] { return shop.aside("row_id").empty(); });
      shop.runs.request_stop();
      shop.runs.join();
      std::set<std::uint64_t> numbers;
      for (const auto& record : shop.called) {
        CHECK_MESSAGE(numbers.insert(record.sequence).second, record.sequence, " is used twice");
      }
      CHECK(shop.audit_is_sound());
      CHECK(shop.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'park'") == "1");
    }
  }

  TEST_CASE("with several calls in flight a held row that hangs holds up no other customer") {
    OpenShop shop(4);
    shop.answer("bad", Outcome::retry_later("HTTP 503"));
    shop.book({"bad", "a", "bad"});
    shop.open();
    shop.wait("its key is held", [&] { return shop.done_of("a") == Ids{"2"}; });
    shop.hang("bad");
    shop.accept("bad");
    const auto calls = shop.calls_of("1");
    shop.wait("it is called again", [&] { return shop.calls_of("1") > calls; });
    shop.book({"a", "worse", "b"});
    shop.answer("worse", Outcome::retry_later("HTTP 503"));
    shop.wait("others go on", [&] { return shop.done_of("b") == Ids{"6"}; });
    CHECK(shop.done_of("bad").empty());
    shop.wait("status says that one call is in flight",
              [&] { return shop.admin.status(shop.target)[0].lane.in_flight == 1; });
    shop.hang("nobody");
    shop.accept("worse");
    shop.wait("all is delivered", [&] { return shop.aside("row_id").empty(); });
    CHECK(shop.done_of("bad") == Ids{"1", "3"});
    CHECK(shop.done_of("worse") == Ids{"5"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("with several calls in flight a customer with a long backlog leaves room for others") {
    OpenShop shop(4);
    shop.target.process.window_rows = 64;
    shop.target.process.batch_rows = 20;
    std::vector<std::string> customers(300, "big");
    customers.emplace_back("small");
    shop.book(customers);
    shop.hangs_after = 20;
    shop.hang("big");
    shop.open();
    shop.wait("the other is served", [&] { return !shop.done_of("small").empty(); });
    CHECK(shop.done_of("big").size() <= 20);
    shop.hang("nobody");
    shop.wait("all is delivered", [&] { return shop.done_of("big").size() == 300; });
    Ids ids;
    for (int id = 1; id <= 300; ++id) ids.push_back(std::to_string(id));
    CHECK(shop.done_of("big") == ids);
    shop.wait("nothing is aside", [&] { return shop.aside("row_id").empty(); });
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE(
      "a row that was set aside ahead of the cursor is not lost if the cursor jumps up to it") {
    OpenShop shop(4);
    shop.answer("worse", Outcome::unknown_and_halt("the answer was lost"));
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.book({"worse", "a", "bad", "b"});
    shop.hang("worse");
    shop.open();
    shop.wait("a row after it is set aside", [&] { return shop.aside("row_id") == "3"; });
    shop.hang("nobody");
    shop.wait("the lane halts",
              [&] { return shop.admin.status(shop.target)[0].lane.state == LaneState::halted; });
    REQUIRE(shop.database.value("SELECT position_id IS NULL FROM seriatim.cursor") == "t");
    shop.admin.rewind(shop.target, {RewindPlace::Kind::row, "3"}, alice);
    shop.accept("bad");
    shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp()");
    shop.wait("the held row is delivered", [&] { return shop.done_of("bad") == Ids{"3"}; });
    shop.wait("the cursor passes it", [&] {
      return shop.database.value("SELECT position_id FROM seriatim.cursor") == "4";
    });
    CHECK(shop.done_of("b") == Ids{"4"});
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("held rows that do not fit into one read are held still") {
    OpenShop shop(4);
    shop.target.source.batch_bytes = 1'024;
    shop.book({"a", "b", "c", "d"});
    shop.database.run("UPDATE bookings SET payload = jsonb_build_object('x', repeat('x', 700))");
    for (const auto* customer : {"a", "b", "c", "d"}) {
      shop.answer(customer, Outcome::retry_later("HTTP 503"));
    }
    shop.open();
    shop.wait("all are held",
              [&] { return shop.aside("state") == "parked, parked, parked, parked"; });
    for (const auto* customer : {"a", "b", "c", "d"}) shop.accept(customer);
    shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp()");
    shop.wait("all are delivered", [&] { return shop.aside("row_id").empty(); });
    CHECK(shop.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'park' AND "
                              "detail->>'retry_in_ms' IS NULL") == "0");
    CHECK(shop.audit_is_sound());
  }

  TEST_CASE("a held row keeps count of its attempts, and Retry-After is its own") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 429", 1h));
    shop.book({"bad", "a"});
    shop.open();
    shop.wait("the other is served", [&] { return shop.done_of("a") == Ids{"2"}; });
    CHECK(shop.calls_of("1") == 1);
    CHECK(shop.aside("row_id, state, attempts, retry_at > clock_timestamp() + interval '59 min'") ==
          "1 parked 1 t");
    shop.accept("bad");
    shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp()");
    shop.wait("it is delivered", [&] { return shop.done_of("bad") == Ids{"1"}; });
    CHECK(shop.done.back().attempt == 2);
  }

  TEST_CASE("a held row that turns out to be poison is parked, and given up by max_attempts") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 503"));
    shop.answer("worse", Outcome::retry_later("HTTP 503"));
    shop.target.process.max_attempts = 4;
    shop.book({"bad", "worse", "bad"});
    shop.open();
    shop.wait("bad is tried again", [&] { return shop.calls_of("1") >= 2; });
    shop.answer("bad", Outcome::poison("HTTP 422"));
    shop.wait("both are parked", [&] {
      return shop.aside("row_id, state, retry_at IS NULL") == "1 parked t, 2 parked t, 3 queued t";
    });
    CHECK(shop.calls_of("2") == 4);
    CHECK(shop.database.value("SELECT detail FROM seriatim.aside WHERE row_id = '2'") ==
          "given up after 4 attempts: HTTP 503");
  }

  TEST_CASE("at max_held_keys the lane waits, and says why") {
    OpenShop shop;
    shop.target.process.max_held_keys = 1;
    shop.target.process.backoff = {10ms, 1h, 1h};
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.answer("worse", Outcome::retry_later("HTTP 503"));
    shop.book({"bad", "worse", "a"});
    shop.open();
    REQUIRE(shop.database.becomes_true(
        "SELECT state = 'retrying' AND failed_id = '2' FROM seriatim.cursor"));
    CHECK(shop.cursor("detail") ==
          "HTTP 503; its key is not held yet: 1 are already (max_held_keys)");
    CHECK(shop.done_of("a").empty());
    shop.accept("worse");
    shop.admin.retry(shop.target, bob);
    shop.wait("the lane goes on", [&] { return shop.done_of("a") == Ids{"3"}; });
  }

  TEST_CASE("a receiver that is down for all does not put the table aside") {
    for (const unsigned in_flight : {1U, 8U}) {
      CAPTURE(in_flight);
      OpenShop shop(in_flight);
      shop.target.process.backoff = {1s, 60s, 1h};
      Ids customers;
      for (int n = 0; n < 200; ++n) customers.push_back("c" + std::to_string(n));
      for (const auto& customer : customers) {
        shop.answer(customer, Outcome::retry_later("connection refused"));
      }
      shop.book(customers);
      shop.open();
      REQUIRE(shop.database.becomes_true("SELECT state = 'retrying' FROM seriatim.cursor"));
      CHECK(shop.cursor("detail").find("rows failed one after another") != std::string::npos);
      CHECK(std::stoi(shop.database.value("SELECT count(*) FROM seriatim.aside")) <= 8);
      {
        const std::scoped_lock lock(shop.mutex);
        shop.answers.clear();
      }
      shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp()");
      shop.wait("all is delivered", [&] {
        const std::scoped_lock lock(shop.mutex);
        return shop.done.size() == 200;
      });
    }
  }

  TEST_CASE("the rows behind a held one that is discarded go out by themselves") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.book({"bad", "bad", "a"});
    shop.open();
    shop.wait("the other is served", [&] { return shop.done_of("a") == Ids{"3"}; });
    shop.accept("bad");
    shop.admin.discard(shop.target, {"1", std::nullopt}, bob);
    shop.wait("the next one goes out", [&] { return shop.done_of("bad") == Ids{"2"}; });
  }

  TEST_CASE("a held row that is deleted is parked, and the journal says so") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.book({"bad", "bad"});
    shop.open();
    shop.wait("it is held", [&] { return shop.aside("row_id, state") == "1 parked, 2 queued"; });
    shop.database.run("DELETE FROM bookings WHERE id = 1");
    shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp() WHERE row_id = '1'");
    shop.wait("it waits for a person",
              [&] { return shop.aside("row_id, state, retry_at") == "1 parked, 2 queued"; });
    CHECK(shop.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'park' AND row_id"
                              " = '1' AND why LIKE '%no longer in the table%'") == "1");
  }

  TEST_CASE("a person need not wait for the time of a held row") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.book({"bad", "bad"});
    shop.open();
    shop.wait("it is held", [&] { return shop.aside("row_id, state") == "1 parked, 2 queued"; });
    shop.accept("bad");
    shop.admin.redrive(shop.target, {"1", std::nullopt}, bob);
    shop.wait("both go out", [&] { return shop.done_of("bad") == Ids{"1", "2"}; });
  }

  TEST_CASE("another relay goes on with held keys where the first one ended") {
    OpenShop shop;
    shop.answer("bad", Outcome::retry_later("HTTP 503", 1h));
    shop.book({"bad", "a"});
    shop.open();
    shop.wait("the other is served", [&] { return shop.done_of("a") == Ids{"2"}; });
    shop.runs.request_stop();
    shop.runs.join();
    shop.accept("bad");
    shop.book({"bad", "a"});
    shop.open();
    shop.wait("others go on", [&] { return shop.done_of("a") == Ids{"2", "4"}; });
    CHECK(shop.done_of("bad").empty());
    shop.database.run("UPDATE seriatim.aside SET retry_at = clock_timestamp()");
    shop.wait("both go out", [&] { return shop.done_of("bad") == Ids{"1", "3"}; });
  }
}
