#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune.hpp"
#include "postgres/desk.hpp"

namespace seriatim::testing {

using postgres::PruneChoice;
using postgres::PrunePause;
using postgres::PruneReport;
using std::chrono::microseconds;

inline bool go_on(std::uint64_t, microseconds) {
  return true;
}

inline PruneChoice everything() {
  PruneChoice choice;
  choice.older_than = std::chrono::milliseconds{0};
  return choice;
}

/// 300 rows, all delivered.
struct Delivered : Desk {
  explicit Delivered(OrderBy order = OrderBy::created_at, const std::string& key = {})
      : Desk(order) {
    database.run(
        "INSERT INTO bookings (customer, payload) SELECT n, '{}' FROM generate_series(4, 300) n");
    target.source.key = key;
    targets = {target};
    deliver("process", 300);
  }

  /// By another process, or by one lane of several.
  void deliver(const std::string& process, unsigned rows, LaneId lane = {"", 0, 1}) {
    lane.process = process;
    TestLane relay(database, target.source, "relay of " + process, lane);
    REQUIRE(relay.claim());
    for (unsigned done = 0; done < rows;) {
      const auto ids = relay.deliver(std::min(16U, rows - done));
      if (ids.empty()) break;
      done += static_cast<unsigned>(ids.size());
    }
    relay.session->release(relay.cursor.epoch, false);
  }

  Target another(const std::string& process) {
    auto other = target;
    other.process.name = process;
    return other;
  }

  PruneReport prune(const PruneChoice& choice = everything(), const PrunePause& pause = go_on) {
    const auto reports = postgres::prune(database.url(), targets, choice, alice, pause);
    REQUIRE(reports.size() == 1);
    return reports.front();
  }

  std::string left() {
    return database.value(
        "SELECT string_agg(id::text, ' ' ORDER BY created_at, id) FROM (SELECT * FROM bookings "
        "ORDER BY created_at, id LIMIT 5) AS b");
  }
  std::string count() { return database.value("SELECT count(*) FROM bookings"); }
  postgres::LaneAudit audit(const Target& of) {
    return admin.audit(of, true, [](std::uint64_t) {}).front();
  }
  postgres::LaneAudit audit() { return audit(target); }
  void seal() {
    database.run(
        "UPDATE seriatim.ledger SET hash = coalesce(hash, seriatim.ledger_hash(ids, ranges)), ids "
        "= NULL, ranges = NULL");
  }

  std::vector<Target> targets;
};

}  // namespace seriatim::testing
