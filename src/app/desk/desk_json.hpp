#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/desk/orders.hpp"
#include "app/reports.hpp"
#include "postgres/admin/records/records_reader.hpp"

namespace seriatim::app {

// What only the pages of a relay receive, as JSON; docs/api.md has it all.

struct StatusTimes {
  std::chrono::system_clock::time_point looked_at;
  std::chrono::system_clock::time_point now;
};
/// `alerts_open`: absent if it could not be read.
[[nodiscard]] console::Desk::Snapshot snapshot_json(
    const LaneReports& lanes, const StatusTimes& times,
    const std::optional<std::uint64_t>& alerts_open);

/// `next`: absent on the last page.
[[nodiscard]] std::string journal_json(const std::vector<postgres::JournalEntry>& entries,
                                       const std::optional<std::string>& next);
[[nodiscard]] std::string history_json(const std::string& process,
                                       const std::vector<postgres::HistoryMinute>& minutes);
[[nodiscard]] std::string audits_json(const std::string& process,
                                      const std::vector<postgres::AuditReport>& reports);
[[nodiscard]] std::string alerts_json(const std::vector<postgres::AlertReport>& alerts,
                                      const std::optional<std::string>& next);
/// `own`: the name of the relay that answers.
[[nodiscard]] std::string relays_json(const std::vector<postgres::RelayReport>& relays,
                                      const std::string& own);

[[nodiscard]] std::string performed_json(const std::string& process, const Performed& done);
[[nodiscard]] std::string previewed_json(const std::string& process, const Previewed& preview);
[[nodiscard]] std::string revealed_json(const postgres::Revealed& shown);
[[nodiscard]] std::string recounted_json(const std::string& process,
                                         const std::vector<postgres::LaneAudit>& lanes);

}  // namespace seriatim::app
