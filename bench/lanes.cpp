// Rows a second of 1, 4, 16 and 64 lanes against a receiver that takes 5 ms, beside what as many
// lanes could do; and what they cost: memory, statements and CPU while idle.
// build/PRESET/lanes_bench -s
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/http_receiver.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr auto latency = 5ms;
constexpr auto patience = 300s;
constexpr auto idle_time = 10s;
constexpr int keys_a_lane = 5;

std::string number(long value) {
  return std::to_string(value);
}

double field_of(pid_t pid, const std::string& file, const std::string& name) {
  std::ifstream in("/proc/" + number(pid) + "/" + file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(name, 0) == 0) return std::stod(line.substr(name.size() + 1));
  }
  return 0;
}

double rss_mb(pid_t pid) {
  return field_of(pid, "status", "VmRSS:") / 1024;
}

/// User and system, of the process alone.
double cpu_seconds(pid_t pid) {
  std::ifstream in("/proc/" + number(pid) + "/stat");
  std::string word;
  double ticks = 0;
  for (int i = 1; in >> word; ++i) {
    if (i == 14 || i == 15) ticks += std::stod(word);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double load() {
  double average = 0;
  std::ifstream("/proc/loadavg") >> average;
  return average;
}

/// As lane_filter.sql has it.
std::string lane_of_key(int lanes) {
  const auto count = number(lanes);
  return "coalesce((hashtextextended((key)::text, 0) % " + count + " + " + count + ") % " + count +
         ", 0)";
}

/// So many rows for each of the lanes, round robin, in a few keys each.
struct Run {
  Run(int lane_count, int rows_a_lane, std::chrono::milliseconds delay, bool index = false)
      : lanes(lane_count), rows(lane_count * rows_a_lane) {
    receiver.reply_with([delay](const ReceivedRequest&) {
      Reply reply;
      reply.delay = delay;
      return reply;
    });
    database.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL,"
        " payload text, created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON t (created_at, id);"
        "CREATE TRIGGER hint AFTER INSERT ON t FOR EACH STATEMENT"
        " EXECUTE FUNCTION seriatim.hint()");
    if (index) {
      database.run("CREATE INDEX ON t ((" + lane_of_key(lanes) + "), created_at, id)");
    }
    fill(rows_a_lane);
    relay = std::make_unique<RelayProgram>(
        folder, "relay",
        database_section(database.url()) +
            http_process("p", "public.t", "created_at", receiver.url(),
                         "lanes = " + number(lanes) + "\n", "key = \"key\"\n"));
  }

  void fill(int rows_a_lane) {
    const auto candidates =
        "SELECT 'k' || g AS key FROM generate_series(1, " + number(lanes * 100) + ") AS g";
    const auto numbered = "SELECT key, row_number() OVER (PARTITION BY " + lane_of_key(lanes) +
                          ") AS number FROM (" + candidates + ") AS a";
    database.run("INSERT INTO t (key, payload) SELECT key, repeat('x', 300) FROM (" + numbered +
                 ") AS b, generate_series(1, " + number(rows_a_lane / keys_a_lane) +
                 ") AS round WHERE number <= " + number(keys_a_lane) +
                 " ORDER BY round, number, key");
    database.run("ANALYZE t");
  }

  /// Between a tenth and nine tenths of the rows, when every lane is at work.
  double rows_per_s() {
    REQUIRE(receiver.wait_for_requests(static_cast<std::size_t>(rows), patience));
    const auto all = receiver.requests();
    const auto from = all.size() / 10, to = all.size() * 9 / 10;
    return static_cast<double>(to - from) / Seconds(all[to].at - all[from].at).count();
  }

  struct Idle {
    double rss = 0;
    double statements = 0;  ///< a second and lane
    double cpu = 0;         ///< per cent of one, and lane
  };
  /// pg_stat_database tells transactions: idle, each statement is one.
  Idle idle() {
    const auto all = "SELECT sum(sequence) = " + number(rows) + " FROM seriatim.cursor";
    REQUIRE(database.becomes_true(all, 60));
    const std::string transactions =
        "SELECT xact_commit + xact_rollback FROM pg_stat_database"
        " WHERE datname = current_database()";
    std::this_thread::sleep_for(3s);  // backends tell their counts late
    const auto before = std::stod(database.value(transactions));
    const auto cpu = cpu_seconds(relay->pid());
    const auto began = Clock::now();
    std::this_thread::sleep_for(idle_time);
    const auto seconds = Seconds(Clock::now() - began).count();
    const auto used = cpu_seconds(relay->pid()) - cpu;
    const auto done = std::stod(database.value(transactions)) - before;
    return {rss_mb(relay->pid()), done / seconds / lanes, 100 * used / seconds / lanes};
  }

  int lanes;
  int rows;
  TestDatabase database;
  HttpReceiver receiver;
  TemporaryFolder folder;
  std::unique_ptr<RelayProgram> relay;
};

/// What a row costs beside the receiver's time: one lane, and a receiver that answers at once.
double own_cost() {
  return 1 / Run(1, 2'000, 0ms).rows_per_s();
}

}  // namespace

TEST_CASE("lanes: rows a second, memory, idle") {
  std::printf("%6s %6s %8s %8s %6s %8s %14s %8s %18s %16s %6s\n", "lanes", "index", "rows/s",
              "limit", "ratio", "own ms", "CPU ms a row", "RSS MB", "idle stmts/s lane",
              "idle CPU % lane", "load");
  struct Case {
    int lanes;
    bool index;
  };
  for (const auto& [lanes, index] :
       {Case{1, false}, Case{4, false}, Case{16, false}, Case{64, false}, Case{64, true}}) {
    const auto own = own_cost();
    Run run(lanes, 300, latency, index);
    const auto rate = run.rows_per_s();
    const auto cpu = cpu_seconds(run.relay->pid()) / run.rows;
    const auto limit = lanes / (Seconds(latency).count() + own);
    const auto idle = run.idle();
    std::printf("%6d %6s %8.0f %8.0f %6.2f %8.2f %14.2f %8.1f %18.2f %16.2f %6.1f\n", lanes,
                index ? "lane" : "order", rate, limit, rate / limit, own * 1000, cpu * 1000,
                idle.rss, idle.statements, idle.cpu, load());
    std::fflush(stdout);
  }
}
