// `seriatim torture` as users run it: short runs here, longer ones with SERIATIM_TORTURE_SECONDS,
// another story with SERIATIM_TORTURE_SEED.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "support/postgres_fixture.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::stoull(text);
}

std::string minutes(std::uint64_t seconds) {
  seconds = number_from("SERIATIM_TORTURE_SECONDS", seconds);
  return std::to_string(static_cast<double>(seconds) / 60);
}

std::string seed() {
  return std::to_string(number_from("SERIATIM_TORTURE_SEED", std::random_device{}()));
}

struct Run {
  Ended ended;
  boost::json::object report;

  [[nodiscard]] std::int64_t number(const char* key) const { return report.at(key).as_int64(); }
  [[nodiscard]] std::string verdict() const { return report.at("verdict").as_string().c_str(); }
};

/// With --json; what went wrong is on stderr, which is shown where a test fails.
Run torture(std::vector<std::string> arguments, const Process::Options& options = {}) {
  arguments.insert(arguments.begin(), {SERIATIM_PROGRAM, "torture", "--json"});
  Process process(arguments, options);
  Run run{process.wait(20min), {}};
  INFO(run.ended.err);
  REQUIRE(run.ended.code <= 1);
  run.report = boost::json::parse(run.ended.out).as_object();
  return run;
}

bool any_calls_in(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("calls-torture_")) return true;
  }
  return false;
}

/// Of a run that was not clean.
std::filesystem::path kept_folder(const Run& run) {
  const auto kept = run.ended.err.substr(run.ended.err.find("logs in ") + 8);
  return kept.substr(0, kept.find('\n'));
}

void remove_kept(const Run& run) {
  const auto folder = kept_folder(run);
  if (std::filesystem::exists(folder / "relay-0.log")) std::filesystem::remove_all(folder);
}

/// A program broken on purpose takes the relays' place.
Run torture_broken(const std::string& mutant, std::vector<std::string> arguments) {
  Process::Options options;
  options.environment["SERIATIM_MUTANT"] = mutant;
  arguments.insert(arguments.end(), {"--relay-program", SERIATIM_HOOKED_PROGRAM});
  return torture(std::move(arguments), options);
}

void check_clean(const Run& run) {
  INFO(run.ended.err);
  INFO(run.ended.out);
  CHECK(run.ended.code == 0);
  CHECK(run.verdict() == "clean");
  CHECK(run.number("committed") > 0);
  CHECK(run.number("delivered") == run.number("committed"));
  for (const char* kind :
       {"lost", "reordered", "phantoms", "overlapping", "stale_epochs", "overtaken"}) {
    CAPTURE(kind);
    CHECK(run.number(kind) == 0);
  }
}

}  // namespace

TEST_SUITE("torture") {
  TEST_CASE("writers overtaking each other: lost 0, repeated 0, out of order 0, in both orders") {
    TestDatabase database;
    const auto run =
        torture({"--database", database.url(), "--minutes", minutes(10), "--seed", seed()});
    check_clean(run);
    CHECK(run.number("repeated") == 0);
    CHECK(run.report.at("streams").as_array().size() == 4);
    CHECK(run.report.at("transactions").as_object().contains("two_phase"));
    CHECK(database.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%torture%'") ==
          "0");
    CHECK(database.value("SELECT (SELECT count(*) FROM seriatim.cursor)"
                         " + (SELECT count(*) FROM seriatim.journal)") == "0");

    // What a killed check leaves prepared holds a lock that the stage's DDL would wait for.
    database.run("BEGIN");
    database.run("LOCK TABLE seriatim.cursor IN ROW EXCLUSIVE MODE");
    database.run("PREPARE TRANSACTION 'seriatim_probe_left'");
    check_clean(torture({"--database", database.url(), "--minutes", minutes(3)}));
    CHECK(database.value("SELECT count(*) FROM pg_prepared_xacts WHERE gid LIKE 'seriatim%'") ==
          "0");
  }

  TEST_CASE("all faults at once: lost 0, in order, repeats within their bound") {
    const auto run = torture(
        {"--database", "embedded", "--all-faults", "--minutes", minutes(20), "--seed", seed()});
    check_clean(run);
    CHECK(run.number("repeated_beyond_bound") == 0);
    std::vector<std::string> kinds{"kill", "freeze", "restart_server", "terminate_relay_session",
                                   "net "};
    const bool promotes = run.ended.out.find("needs pg_basebackup") == std::string::npos;
    if (promotes) kinds.emplace_back("promote");
    for (const auto& kind : kinds) {
      CAPTURE(kind);
      const auto& faults = run.report.at("faults").as_object();
      CHECK(std::any_of(faults.begin(), faults.end(), [&](const auto& fault) {
        return std::string(fault.key()).rfind(kind, 0) == 0;
      }));
    }
  }

  TEST_CASE("several lanes keep their keys, kill -9 or not") {
    TestDatabase database;
    const auto run = torture({"--database", database.url(), "--minutes", minutes(6), "--lanes", "3",
                              "--order", "id", "--kill", "--seed", seed()});
    check_clean(run);
    CHECK(run.number("inconsistent") == 0);
  }

  TEST_CASE("all faults, several calls in flight and held keys: each key in order, lost 0") {
    const auto run =
        torture({"--database", "embedded", "--all-faults", "--minutes", minutes(12), "--in-flight",
                 "32", "--hold-key", "--order", "id", "--seed", seed()});
    check_clean(run);
    CHECK(run.number("repeated_beyond_bound") == 0);
    CHECK(run.number("too_many_at_once") == 0);
    CHECK(run.number("keys_held") > 0);
    CHECK(run.number("at_once") > 1);
    CHECK(run.number("at_once") <= 32);
  }

  TEST_CASE("rows of one key called at once are reordered, and the checker names them") {
    const auto run =
        torture_broken("key_overlaps", {"--database", "embedded", "--minutes", "0.05",
                                        "--in-flight", "32", "--order", "id", "--seed", seed()});
    CHECK(run.ended.code == 1);
    CHECK(run.number("lost") == 0);
    CHECK(run.number("overlapping") > 0);
    CHECK(run.number("reordered") > 0);
    remove_kept(run);
  }

  TEST_CASE("a call before the standby has its row is a phantom once the standby takes over") {
    if (!shared_server().can_be_copied()) {
      SKIP_TEST("there is no pg_basebackup next to this server");
    }
    const auto run =
        torture_broken("no_durability", {"--database", "embedded", "--promote", "--minutes", "0.2",
                                         "--order", "id", "--seed", "1"});
    CHECK(run.ended.code == 1);
    CHECK(run.number("phantoms") > 0);
    CHECK(run.report.at("faults").as_object().contains("promote"));
    remove_kept(run);
  }

  TEST_CASE("Ctrl-C ends a run early; it is judged, and says what the server could not do") {
    const TemporaryFolder folder;
    const seriatim::embedded::EmbeddedServer server(
        {folder.path() / "server", {"fsync=off", "max_prepared_transactions=0"}, {}});
    Process process({SERIATIM_PROGRAM, "torture", "--json", "--database", server.url(), "--minutes",
                     "60", "--seed", seed()});
    process.wait_for_errors("s: committed", 60s);
    process.signal(SIGINT);
    const auto ended = process.wait(5min);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(ended.err.find("schema seriatim is not there: installing it") != std::string::npos);
    const Run run{ended, boost::json::parse(ended.out).as_object()};
    check_clean(run);
    CHECK(run.report.at("interrupted").as_bool());
    CHECK_FALSE(run.report.at("transactions").as_object().contains("two_phase"));
    CHECK(ended.out.find("max_prepared_transactions is 0") != std::string::npos);
  }

  TEST_CASE("without the fence rows are lost, and the checker names them") {
    const auto run = torture_broken(
        "no_fence", {"--database", "embedded", "--minutes", "0.1", "--seed", seed()});
    CHECK(run.ended.code == 1);
    CHECK(run.verdict() == "broken");
    CHECK(run.number("lost") > 0);
    const auto folder = kept_folder(run);
    CHECK(any_calls_in(folder));  // of each stream that is not clean
    CHECK(std::filesystem::exists(folder / "relay-0.log"));
    remove_kept(run);
  }
}
