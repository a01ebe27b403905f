#include "postgres/admin/reports/full_disk.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "postgres/admin/reports/lane_report.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

/// Rows wait, or it is not known, and nobody is seen at work on them. A full disk looks like this:
/// claims fail, or a statement cannot be settled.
bool may_lack_room(const LaneReport& report) {
  if (report.lane.state == LaneState::halted || report.lane.state == LaneState::paused)
    return false;
  using Cause = LaneWait::Cause;
  const bool still = report.wait && (report.wait->cause == Cause::silent ||
                                     report.wait->cause == Cause::statement);
  const bool waits = !report.lag_records || *report.lag_records > 0;
  return waits && !report.called_for && ((!report.holder_alive && !report.wait) || still);
}

/// The server's words if it has no room to write to.
std::optional<std::string> why_no_room(Connection& connection) {
  try {
    connection.run(sql::reports::spill);
  } catch (const SessionLost& lost) {
    const bool full = lost.sqlstate() == "53100";
    if (!full && !is_held_up(lost)) throw;
    connection.rollback();
    if (full) return lost.what();
  } catch (const SourceBroken&) {  // temp_file_limit, or a right is missing: nothing is known
  }
  return std::nullopt;
}

}  // namespace

void name_full_disk(Connection& connection, std::vector<LaneReport>& reports) {
  if (std::none_of(reports.begin(), reports.end(), may_lack_room)) return;
  const auto why = why_no_room(connection);
  if (!why) return;
  for (auto& report : reports) {
    if (!may_lack_room(report)) continue;
    report.wait =
        LaneWait{LaneWait::Cause::disk_full,
                 report.wait ? report.wait->lasted : report.lag_age.value_or(milliseconds{0}),
                 "the server's disk is full: " + *why,
                 "make room on the server's volumes (its data folder, or where "
                 "temp_tablespaces points); a lane that waits for it then goes on by itself",
                 {}};
  }
}

}  // namespace seriatim::postgres
