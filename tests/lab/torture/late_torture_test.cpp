// Tables as most people have them: DEFAULT now(), application clocks, UUID ids. With
// late_rows = "deliver" nothing within the lookback is lost, and nothing is repeated but after a
// kill. SERIATIM_TORTURE_SEED repeats a run's draws, SERIATIM_TORTURE_SECONDS makes it longer.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "lab/judge/judge.hpp"
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

constexpr unsigned writers = 10;

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::stoull(text);
}

std::uint64_t seed() {
  static const auto drawn = number_from("SERIATIM_TORTURE_SEED", std::random_device{}());
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

std::int64_t now() {
  return Clock::now().time_since_epoch().count();
}

/// A receiver with a memory: every call, and what it answered.
class Receiver {
 public:
  struct Call {
    Record record;
    std::int64_t at = 0;
    bool accepted = false;
  };
  explicit Receiver(std::uint64_t seed) : random_(seed) {}

  Outcome call(const Record& record) {
    const std::scoped_lock guard(mutex_);
    const bool fails = std::uniform_int_distribution<int>(0, 29)(random_) == 0;
    calls_.push_back({record, now(), !fails});
    return fails ? Outcome::retry_later("drawn") : Outcome::done();
  }
  std::vector<Call> calls() const {
    const std::scoped_lock guard(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::vector<Call> calls_;
};

/// The judge knows rows by numbers: those of the committed rows are their places in the declared
/// order, from 1; an id that was never committed gets one of its own.
class Numbers {
 public:
  std::int64_t of(const std::string& id) {
    return numbers_.emplace(id, static_cast<std::int64_t>(numbers_.size()) + 1).first->second;
  }

 private:
  std::map<std::string, std::int64_t> numbers_;
};

lab::Evidence evidence_of(TestDatabase& database, const Receiver& receiver, std::size_t kills) {
  lab::Evidence evidence;
  evidence.stream = "late";
  evidence.repeats_allowed = kills;
  evidence.zombies_allowed = kills > 0;
  Numbers numbers;
  for (const auto& row :
       database.run("SELECT id, (extract(epoch FROM created_at) * 1000000)::bigint, body "
                    "FROM t ORDER BY created_at, id")) {
    evidence.committed.push_back({numbers.of(*row[0]), std::stoll(*row[1]), lab::hash_of(*row[2])});
  }
  for (const auto& [record, at, accepted] : receiver.calls()) {
    evidence.calls.push_back(
        {.id = numbers.of(record.id()),
         .previous_id = record.previous_id ? numbers.of(*record.previous_id) : -1,
         .sequence = record.sequence,
         .epoch = record.epoch,
         .attempt = record.attempt,
         .body = lab::hash_of(record.payload.value_or("")),
         .begun = at,
         .ended = at,
         .accepted = accepted,
         .late = record.late});
  }
  const auto cursor =
      database.run("SELECT position_id, sequence, epoch, state, detail FROM seriatim.cursor").at(0);
  evidence.cursors[0] = {numbers.of(*cursor[0]), std::stoull(*cursor[1]), std::stoull(*cursor[2]),
                         *cursor[3], cursor[4].value_or("")};
  // How long ago, because the journal's clock is the server's; half a second late, because a
  // claim counts only once it is committed.
  for (const auto& row : database.run(
           "SELECT epoch, ((extract(epoch FROM clock_timestamp() - at) - 0.5) * 1e9)::bigint "
           "FROM seriatim.journal WHERE act = 'claim' ORDER BY id")) {
    evidence.claims[0].push_back({std::stoull(*row[0]), now() - std::stoll(*row[1])});
  }
  for (const auto& row :
       database.run("SELECT seriatim.ledger_ids(ids, ranges) FROM seriatim.ledger UNION ALL "
                    "SELECT seriatim.ledger_ids(bucket_ids, bucket_ranges) FROM seriatim.cursor")) {
    evidence.ledger[0].push_back(numbers.of(*row[0]));
  }
  return evidence;
}

postgres::Target target() {
  postgres::Target target;
  target.process.name = "late";
  target.process.backoff.first = 1ms;
  target.process.backoff.max = 5ms;
  target.process.standby_interval = 20ms;
  target.process.poll_interval_max = 20ms;
  target.source.table = "t";
  target.source.payload = "body";
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
                 ", created_at timestamptz NOT NULL DEFAULT now(), body text NOT NULL DEFAULT "
                 "md5(random()::text)); CREATE INDEX ON t (created_at, id)");
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
    const auto writing = std::chrono::seconds(number_from("SERIATIM_TORTURE_SECONDS", 4));
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

    const auto evidence = evidence_of(database, receiver, kills);
    const auto verdict = lab::judge(evidence);
    const auto late = std::count_if(evidence.calls.begin(), evidence.calls.end(),
                                    [](const lab::Call& call) { return call.late; });
    MESSAGE("committed ", verdict.committed, ", late ", late, ", repeated ", verdict.repeated,
            ", kills ", kills);
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.delivered == verdict.committed);
    CHECK(tally.rows == verdict.committed);
    CHECK(late > 0);
    CHECK((kills > 0) == kills_wanted);
    const auto audit =
        postgres::Admin(database.url()).audit(what, true, [](std::uint64_t) {}).at(0);
    CHECK(audit.sound());
    CHECK(audit.rows == verdict.committed);
  }
}
