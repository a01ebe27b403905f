// Cause before effect on a table stamped by now(): a transaction that committed before another of
// its key began goes out first, though its stamp may lie behind the cursor by then.
#include <doctest/doctest.h>

#include <charconv>
#include <map>
#include <thread>

#include "lab/writers/session.hpp"
#include "lab/writers/writers.hpp"
#include "seriatim/postgres.hpp"
#include "support/in_process_relay.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

constexpr unsigned slow_writers = 3;
constexpr unsigned busy_writers = 2;
constexpr unsigned rows_min = 1'000;  ///< of the slow writers, before the test ends
constexpr unsigned late_min = 100;    ///< else nothing was tried

const std::string insert = "INSERT INTO t (key, number) VALUES ($1, $2)";

/// A transaction that inserts after the cursor has passed its stamp, or after 20 to 40 ms, and so
/// late or not. Then one that begins after that.
class Pairs final : public lab::Writer {
 public:
  Pairs(const std::string& url, unsigned number)
      : session_(url, "slow"), key_("slow " + std::to_string(number)) {}

  void transact() override {
    session_.run("BEGIN");
    session_.run("SELECT now()");
    if (next_ % 4 == 0) {
      wait_until_passed();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + (next_ * 7) % 21));
    }
    append();
    session_.run("COMMIT");
    append();
  }

 private:
  void append() { session_.run(insert, {key_, std::to_string(next_++)}); }
  /// The busy writers move the cursor on; how soon depends on the load of the machine.
  void wait_until_passed() {
    wait_until("the cursor has passed the stamp of an open transaction", [&] {
      return session_.number("SELECT count(*) FROM seriatim.cursor WHERE position_at > now()") > 0;
    });
  }

  lab::Session session_;
  std::string key_;
  unsigned next_ = 0;
};

class Busy final : public lab::Writer {
 public:
  Busy(const std::string& url, unsigned number)
      : session_(url, "busy"), key_("busy " + std::to_string(number)) {}
  void transact() override {
    session_.run(insert, {key_, std::to_string(next_++)});
    std::this_thread::sleep_for(2ms);
  }

 private:
  lab::Session session_;
  std::string key_;
  unsigned next_ = 0;
};

/// Of each key, the numbers in the order delivered.
class Receiver {
 public:
  Outcome call(const Record& record) {
    const std::scoped_lock guard(mutex_);
    auto& numbers = numbers_[*record.key];
    const auto number = static_cast<unsigned>(std::stoul(*record.payload));
    late_ += record.late;
    swapped_ += !numbers.empty() && number < numbers.back();
    numbers.push_back(number);
    delivered_ += record.key->starts_with("slow");
    changed_.notify_all();
    return Outcome::done();
  }
  /// A loaded machine delivers later, so fewer rows come late: the test takes as long as it needs.
  bool wait_until_tried() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 120s,
                             [&] { return delivered_ >= rows_min && late_ > late_min; });
  }
  unsigned swapped() const { return swapped_; }
  unsigned late() const { return late_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<unsigned>> numbers_;
  unsigned delivered_ = 0;
  unsigned swapped_ = 0;
  unsigned late_ = 0;
};

}  // namespace

TEST_SUITE("torture") {
  TEST_CASE("no pair of transactions of a key is swapped, next to busy writers") {
    TestDatabase database;
    database.run(
        "CREATE TABLE t (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamptz NOT "
        "NULL DEFAULT now(), key text, number text); CREATE INDEX ON t (created_at, id)");
    ProcessConfig process;
    process.name = "pairs";
    process.poll_interval_max = 20ms;
    process.commit_every = 10;
    SourceConfig source;
    source.table = "t";
    source.key = "key";
    source.payload = "number";
    source.late_rows = OnLateRow::deliver;
    Receiver receiver;
    lab::Writers slow({.count = slow_writers, .open = [&](unsigned number, std::uint64_t) {
                         return std::make_unique<Pairs>(database.url(), number);
                       }});
    lab::Writers busy({.count = busy_writers, .open = [&](unsigned number, std::uint64_t) {
                         return std::make_unique<Busy>(database.url(), number);
                       }});
    InProcessRelay relay(postgres_source(database.url(), source), process,
                         handler_from([&](const Record& record) { return receiver.call(record); }));
    busy.start();
    slow.start();
    CHECK(receiver.wait_until_tried());
    slow.stop();
    busy.stop();
    relay.stop();
    MESSAGE("late ", receiver.late());
    CHECK(receiver.swapped() == 0);
  }
}
