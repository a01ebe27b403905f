#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What the lanes of some processes do, for somebody who asks again and again: on a connection that
/// is kept. It remembers the writers of the read before, so only the first read waits to
/// distinguish short transactions from long ones.
///
/// Threads: one. Errors: SessionLost; the next read opens another connection.
class StatusReader {
 public:
  StatusReader(std::string url, std::vector<Target> targets);

  /// By process, in the order of the targets, and lane.
  std::vector<LaneReport> read();

 private:
  std::string url_;
  std::vector<Target> targets_;
  std::optional<Connection> connection_;
  std::vector<ReportMemory> memory_;  ///< by target
};

/// A connection for reports, which wait for nobody.
[[nodiscard]] Connection::Options report_options();

}  // namespace seriatim::postgres
