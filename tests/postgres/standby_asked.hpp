#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <string>

#include "support/postgres_fixture.hpp"

namespace seriatim::testing {

/// Whoever waits for commits then waits for a standby that is not there. The server's processes
/// hear of that in their own time, so a session commits until one of its commits waits.
struct StandbyAsked {
  explicit StandbyAsked(TestDatabase& on) : database(on) {
    database.run("CREATE TABLE probe (n int)");
    database.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    database.run("SELECT pg_reload_conf()");
    probing = std::async(std::launch::async, [this] {
      while (!heard) probe.run("INSERT INTO probe VALUES (1)");
    });
    const bool waits = waits_in("probe");
    heard = true;
    if (waits) return;
    let_go();
    FAIL("no commit waits for a standby");
  }
  ~StandbyAsked() { let_go(); }
  bool waits_in(const std::string& application) {
    return database.becomes_true(
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' "
        "AND application_name = '" +
        application + "' AND datname = current_database()");
  }
  void let_go() {
    heard = true;
    database.run("ALTER SYSTEM RESET synchronous_standby_names");
    database.run("SELECT pg_reload_conf()");
    if (probing.valid()) probing.get();
  }
  TestDatabase& database;
  SqlSession probe = database.connect("probe");
  std::atomic<bool> heard = false;
  std::future<void> probing;
};

}  // namespace seriatim::testing
