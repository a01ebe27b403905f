// Tables as most people have them: DEFAULT now(), application clocks, UUID ids. With
// late_rows = "deliver" nothing within the lookback is lost, and nothing is repeated but after a
// kill. SERIATIM_TORTURE_SEED repeats a run's draws.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "lab/writers/busy.hpp"
#include "postgres/admin/admin.hpp"
#include "seriatim/postgres.hpp"
#include "support/in_process_relay.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto writing = 4s;
constexpr unsigned writers = 10;

std::uint64_t seed() {
  const char* text = std::getenv("SERIATIM_TORTURE_SEED");
  static const auto drawn = text != nullptr ? std::stoull(text) : std::random_device{}();
  return drawn;
}

const std::string uuid_v7 =
    "(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || "
    "substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid";

/// Transactions that begin up to 2 s before they insert, clocks 5 s off, rollbacks.
std::vector<lab::Shape> habits() {
  const std::string insert = "INSERT INTO t DEFAULT VALUES";
  const lab::Pause rest{20ms};
  return {{.insert = insert, .rest = rest, .weight = 34},
          {.insert = "INSERT INTO t (created_at) VALUES"
                     " (clock_timestamp() + (random() * 10 - 5) * interval '1 s')",
           .rest = rest,
           .weight = 4},
          {.insert = insert,
           .inserts = 2,
           .savepoint = 0.33,
           .rollback = 0.1,
           .before = {2'000ms},
           .rest = rest,
           .weight = 2}};
}

/// A receiver with a memory: every call, and what it answered.
class Receiver {
 public:
  explicit Receiver(std::uint64_t seed) : random_(seed) {}

  Outcome call(const Record& record) {
    const std::scoped_lock guard(mutex_);
    calls_.push_back(record);
    const bool fails = std::uniform_int_distribution<int>(0, 29)(random_) == 0;
    answered_.push_back(!fails);
    return fails ? Outcome::retry_later("drawn") : Outcome::done();
  }
  std::size_t delivered() const {
    const std::scoped_lock guard(mutex_);
    return static_cast<std::size_t>(std::count(answered_.begin(), answered_.end(), true));
  }

  struct Verdict {
    std::set<std::string> ids;
    std::size_t late = 0;
    std::size_t repeats = 0;
    std::size_t overtaken = 0;  ///< calls between a failure and its row's next call
    std::size_t reordered = 0;  ///< rows that are not late, against the order
    std::size_t holes = 0;      ///< sequences that do not go on by one
  };
  Verdict judge() const {
    const std::scoped_lock guard(mutex_);
    Verdict verdict;
    std::uint64_t sequence = 0;
    std::tuple<std::int64_t, std::string> last;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto& call = calls_[i];
      if (i > 0 && !answered_[i - 1] && calls_[i - 1].id() != call.id()) verdict.overtaken += 1;
      if (!answered_[i]) continue;
      if (!verdict.ids.insert(call.id()).second) {
        verdict.repeats += 1;
        if (call.sequence != sequence) verdict.holes += 1;
        continue;
      }
      if (call.sequence != ++sequence) verdict.holes += 1;
      const std::tuple place{call.position.created_at_us, call.id()};
      if (call.late) {
        verdict.late += 1;
        continue;
      }
      if (place <= last) verdict.reordered += 1;
      last = place;
    }
    return verdict;
  }

 private:
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Record> calls_;
  std::vector<bool> answered_;
};

postgres::Target target() {
  postgres::Target target;
  target.process.name = "late";
  target.process.backoff.first = 1ms;
  target.process.backoff.max = 5ms;
  target.process.standby_interval = 20ms;
  target.process.poll_interval_max = 20ms;
  target.source.table = "t";
  target.source.late_rows = OnLateRow::deliver;
  target.source.lookback = 30s;
  return target;
}

std::size_t kill_backends(TestDatabase& database) {
  return std::stoul(database.value(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE "
      "'seriatim/%' AND datname = current_database()"));
}

}  // namespace

TEST_SUITE("torture") {
  TEST_CASE("tables stamped by now() and by clocks 5 s off, with UUIDs: lost 0, late ones marked") {
    std::string id = "gen_random_uuid()";
    bool kills_wanted = false;
    SUBCASE("UUIDv4, no faults: repeated 0") {}
    SUBCASE("UUIDv7, backends killed and the relay restarted") {
      id = uuid_v7;
      kills_wanted = true;
    }
    TestDatabase database;
    database.run("CREATE TABLE t (id uuid PRIMARY KEY DEFAULT " + id +
                 ", created_at timestamptz NOT NULL DEFAULT now()); CREATE INDEX ON t "
                 "(created_at, id)");
    MESSAGE("seed ", seed());
    const auto what = target();
    Receiver receiver(seed());
    const auto open = [&] {
      return std::make_unique<InProcessRelay>(
          postgres_source(database.url(), what.source), what.process,
          handler_from([&](const Record& record) { return receiver.call(record); }));
    };
    auto relay = open();
    std::size_t kills = 0;
    lab::Tally tally;
    lab::Writers producers(
        {.count = writers, .open = lab::Busy{database.url(), habits(), tally, seed()}});
    producers.start();
    for (const auto end = Clock::now() + writing; Clock::now() < end;) {
      std::this_thread::sleep_for(300ms);
      if (!kills_wanted) continue;
      kills += kill_backends(database);
      if (kills % 4 == 0) relay = open();  // the old one is stopped once the new one is there
    }
    producers.stop();
    // Rows of clocks ahead ripen within 5 s.
    CHECK_MESSAGE(database.becomes_true("SELECT c.sequence >= (SELECT count(*) FROM t) FROM "
                                        "seriatim.cursor AS c",
                                        30),
                  database.value("SELECT concat_ws(' ', state, reason, detail, sequence, (SELECT "
                                 "count(*) FROM t)) FROM seriatim.cursor"));
    relay->stop();

    const auto verdict = receiver.judge();
    std::size_t lost = 0;
    const auto committed = database.run("SELECT id::text FROM t");
    for (const auto& row : committed) lost += verdict.ids.contains(*row[0]) ? 0 : 1;
    MESSAGE("committed ", committed.size(), ", late ", verdict.late, ", lost ", lost, ", repeated ",
            verdict.repeats, ", kills ", kills);
    CHECK(lost == 0);
    CHECK(verdict.ids.size() == committed.size());
    CHECK(tally.rows == committed.size());
    CHECK(verdict.late > 0);
    CHECK(verdict.repeats <= kills);
    CHECK(verdict.overtaken == 0);
    CHECK(verdict.reordered == 0);
    CHECK(verdict.holes == 0);
    CHECK((kills > 0) == kills_wanted);
    const auto audit =
        postgres::Admin(database.url()).audit(what, true, [](std::uint64_t) {}).at(0);
    CHECK(audit.sound());
    CHECK(audit.rows == committed.size());
  }
}
