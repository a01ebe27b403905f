#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "postgres/lane_fixture.hpp"

namespace seriatim::testing {

/// A row behind the cursor, as old as the first.
inline constexpr const char* late_row =
    "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE SELECT 50, created_at, "
    "'{}' FROM bookings WHERE id = 1";

/// What a lane's cursor says once the auditor has halted it.
struct Halted {
  std::string reason;
  std::string row_id;
  std::string detail;
  unsigned lane = 0;
};

inline std::optional<Halted> halted(TestDatabase& database) {
  const auto rows = database.run(
      "SELECT reason, coalesce(failed_id, ''), detail, lane FROM seriatim.cursor WHERE state = "
      "'halted' ORDER BY lane LIMIT 1");
  if (rows.empty()) return std::nullopt;
  const auto& row = rows[0];
  return Halted{*row[0], *row[1], *row[2], static_cast<unsigned>(std::stoul(*row[3]))};
}

inline std::string halts_in_journal(TestDatabase& database) {
  return database.value(
      "SELECT concat_ws('|', who, row_id) FROM seriatim.journal WHERE act = 'halt' ORDER BY id "
      "DESC "
      "LIMIT 1");
}

/// The auditor of a relay instance that runs no lane of its own here: `holder` holds them.
struct TestAuditor {
  Waker waker;
  std::unique_ptr<AuditorSession> session;

  explicit TestAuditor(TestDatabase& database, const SourceConfig& source,
                       const std::string& holder = "relay")
      : TestAuditor(database.url(), source, holder) {}
  TestAuditor(const std::string& url, const SourceConfig& source,
              const std::string& holder = "relay") {
    ProcessConfig config;
    config.name = "process";
    session = postgres_source(url, source)->open_auditor(config, holder, waker);
  }

  /// Checks in turns until a lane is halted, or `enough`.
  template <class Enough>
  std::optional<Halted> audit_until(TestDatabase& database, Enough&& enough) {
    for (;;) {
      const auto due = session->check();
      if (auto found = halted(database)) return found;
      if (enough()) return std::nullopt;
      session->wait_until(
          std::min(due, std::chrono::steady_clock::now() + std::chrono::milliseconds{10}));
    }
  }
};

/// What the auditor of "relay" finds within `patience`.
inline std::optional<Halted> audited(TestDatabase& database, const SourceConfig& source,
                                     std::chrono::milliseconds patience = std::chrono::seconds{
                                         20}) {
  TestAuditor auditor(database, source);
  const auto end = std::chrono::steady_clock::now() + patience;
  return auditor.audit_until(database, [&] { return std::chrono::steady_clock::now() > end; });
}

/// What a whole pass finds that checks everything, whoever holds the lanes.
inline std::optional<Halted> audit_fully(TestDatabase& database, const SourceConfig& source) {
  database.run("UPDATE seriatim.cursor SET holder = NULL");
  TestAuditor(database, source).session->check_all([] { return false; });
  return halted(database);
}

}  // namespace seriatim::testing
