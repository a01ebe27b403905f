#include "app/reports.hpp"

#include <algorithm>
#include <sstream>

#include "app/log.hpp"
#include "app/output.hpp"
#include "app/text.hpp"

namespace seriatim::app {

namespace {

using postgres::Finding;
using postgres::LaneReport;
using postgres::PeekedRow;

constexpr std::size_t id_bytes_max = 64;
constexpr std::size_t payload_bytes_max = 4'000;

std::string lag(const LaneReport& report) {
  if (report.lag_records == 0) return "none";
  const bool more = report.lag_records > LaneReport::lag_records_max;
  return std::to_string(std::min(report.lag_records, LaneReport::lag_records_max)) +
         (more ? "+" : "") + (report.lag_records == 1 ? " row, " : " rows, ") +
         human_duration(report.lag_age);
}

std::string position(const LaneStatus& lane) {
  return lane.position ? printable(lane.position->id, id_bytes_max) : "before the first row";
}

/// "host:pid:random" without what only tells runs apart.
std::string holder(const LaneReport& report) {
  if (report.holder.empty()) return "nobody";
  const auto name = printable(report.holder.substr(0, report.holder.rfind(':')), id_bytes_max);
  return report.holder_alive ? name : name + " (gone)";
}

/// A word the shell takes as it is.
std::string shell_word(const std::string& text) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/@%+=,";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + '\'';
}

std::string halt_explanation(const LaneStatus& lane) {
  std::string text = "halted";
  if (lane.reason) text += std::string(" ") + to_string(*lane.reason);
  if (lane.row_id) text += " at row " + printable(*lane.row_id, id_bytes_max);
  return text + (lane.detail.empty() ? "" : ": " + printable(lane.detail));
}

std::string halt_remedy(const LaneStatus& lane) {
  const auto process = shell_word(lane.process);
  if (!lane.row_id) return "mend what it names, then: seriatim retry " + process;
  const auto id = shell_word(printable(*lane.row_id, id_bytes_max));
  const auto* guard = lane.row_id->rfind('-', 0) == 0 ? " -- " : " ";
  return "mend the row or its receiver, then: seriatim retry " + process +
         "; or set the row aside: seriatim skip --reason TEXT" + guard + process + ' ' + id;
}

/// The first line mends; others, one each, say what else would.
std::string mend_lines(const std::string& mend) {
  std::string text;
  std::istringstream lines(mend);
  for (std::string line; std::getline(lines, line);) {
    text += (text.empty() ? "           mend: " : "           ") + printable(line, 1'000) + '\n';
  }
  return text;
}

}  // namespace

std::vector<std::string> explanations(const LaneStatus& lane) {
  std::vector<std::string> lines;
  if (lane.state == LaneState::halted) {
    lines = {halt_explanation(lane), halt_remedy(lane)};
  } else if (lane.state == LaneState::paused) {
    lines = {"paused" + (lane.detail.empty() ? "" : ": " + printable(lane.detail)) +
             "; go on with: seriatim resume " + shell_word(lane.process)};
  } else if (lane.state == LaneState::retrying) {
    lines = {"attempt " + std::to_string(lane.attempts) + " failed" +
             (lane.row_id ? " at row " + printable(*lane.row_id, id_bytes_max) : "") + ": " +
             printable(lane.detail) + "; again in " + human_duration(lane.retry_in)};
  }
  for (const auto& blocker : lane.blockers) {
    lines.push_back("waits for " + describe(blocker) +
                    (blocker.pid == 0 ? "; end it with COMMIT PREPARED or ROLLBACK PREPARED"
                                      : "; rows after it could still appear"));
  }
  return lines;
}

std::string lanes_table(const LaneReports& lanes, bool terminal) {
  Table table({"PROCESS", "LANE", "STATE", "LAG", "AT ROW", "SEQUENCE", "HOLDER"});
  for (const auto& report : lanes) {
    const auto& lane = report.lane;
    table.row({printable(lane.process), std::to_string(lane.lane), to_string(lane.state),
               lag(report), position(lane), std::to_string(lane.sequence), holder(report)});
    for (auto& line : explanations(lane)) table.note(std::move(line));
  }
  return table.text(terminal);
}

std::string findings_text(const std::string& process, const Findings& findings) {
  std::string text = process + '\n';
  for (const auto& finding : findings) {
    const char* word = finding.severity == Finding::Severity::ok        ? "  ok       "
                       : finding.severity == Finding::Severity::warning ? "  warning  "
                                                                        : "  REFUSED  ";
    text += word + printable(finding.what, 1'000) + '\n';
    text += mend_lines(finding.mend);
  }
  return text;
}

std::string rows_table(const std::vector<PeekedRow>& rows, bool payload, bool terminal) {
  if (rows.empty()) return "nothing waits\n";
  Table table({"ID", "CREATED AT", "SETTLED", "KEY", "TYPE", "PAYLOAD"});
  for (const auto& [record, settled] : rows) {
    table.row({printable(record.id(), id_bytes_max), iso_time(record.position.created_at_us),
               settled ? "yes" : "no", printable(record.key.value_or("-"), id_bytes_max),
               printable(record.event_type.value_or("-"), id_bytes_max),
               record.payload ? human_bytes(record.payload->size()) : "NULL"});
    if (payload && record.payload) table.note(printable(*record.payload, payload_bytes_max));
  }
  return table.text(terminal);
}

}  // namespace seriatim::app
