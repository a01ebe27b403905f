#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/admin/check/check.hpp"
#include "postgres/admin/check/plan.hpp"
#include "postgres/admin/prune/prune.hpp"
#include "postgres/admin/reports/row_report.hpp"
#include "seriatim/rendering.hpp"

namespace seriatim::app {

using LaneReports = std::vector<postgres::LaneReport>;
using Findings = std::vector<postgres::Finding>;

// What verbs report, for people (tables and sentences, each ending in a newline) and, with --json,
// as one JSON object on one line. Foreign text is made printable for people; JSON holds it as is,
// except bytes that are no UTF-8.

/// "42 rows (2 late), 3 s", "100000+ rows, 1 h", "none", "unknown"
[[nodiscard]] std::string lag_text(const postgres::LaneReport& report);
/// What an operator must know of a lane, a line each: what holds it up, and what ends that. With
/// lane 0 also what concerns the whole process.
[[nodiscard]] std::vector<std::string> notes_of(const postgres::LaneReport& report);
/// What holds a lane up, and what ends it.
[[nodiscard]] std::string wait_text(const postgres::LaneWait& wait);
[[nodiscard]] std::string lanes_table(const LaneReports& lanes, bool terminal);
[[nodiscard]] std::string lanes_json(const LaneReports& lanes);
/// One of its objects.
[[nodiscard]] std::string lane_json(const postgres::LaneReport& lane);
/// How lanes were left by a run: `{"lanes":[…]}` with the fields a status has, without lag.
[[nodiscard]] std::string lanes_json(const std::vector<LaneStatus>& lanes);

/// Why a lane waits and what to do, one sentence each; none if it moves.
[[nodiscard]] std::vector<std::string> explanations(const LaneStatus& lane);

/// "its handler was called with row 4711 12 s ago, attempt 2, and has not answered yet"
[[nodiscard]] std::string call_in_flight(const postgres::LaneReport& report);
/// "the barrier at row 4711, set by alice@desk at …", and what takes it away.
[[nodiscard]] std::string barrier_in_force(const postgres::LaneReport::Barrier& barrier);
[[nodiscard]] std::string barrier_remedy(const postgres::LaneReport& report);
/// "host:pid:random" without what only distinguishes runs; "nobody".
[[nodiscard]] std::string short_holder(const postgres::LaneReport& report);

/// The answer of `why`, its next steps and its evidence.
[[nodiscard]] std::string row_text(const postgres::RowReport& row);
/// `masked`: its payload as it may be shown, absent if none may; null: payloads are hidden.
[[nodiscard]] std::string row_json(const postgres::RowReport& row,
                                   const std::optional<std::string>* masked = nullptr);

[[nodiscard]] std::string plan_text(const std::vector<postgres::PlannedChange>& plan);
[[nodiscard]] std::string plan_json(const std::vector<postgres::PlannedChange>& plan);
[[nodiscard]] std::string findings_text(const std::string& process, const Findings& findings);
[[nodiscard]] std::string findings_json(const std::vector<std::pair<std::string, Findings>>& all);

/// "row 501 cannot be read: division by zero (SQLSTATE 22012); …", and what its lane will do.
[[nodiscard]] std::string unread_text(const postgres::UnreadRow& unread, const LaneStatus* lane);

[[nodiscard]] std::string rows_table(const postgres::Peeked& rows, bool payload, bool terminal);
/// `mask`: what may be seen of each payload.
using PayloadMask = std::function<std::optional<std::string>(std::string_view)>;
[[nodiscard]] std::string rows_json(const postgres::Peeked& rows, bool payload,
                                    const PayloadMask& mask = {});

/// A row that waits, and what its handler would send.
struct PreviewedRow {
  postgres::PeekedRow row;
  std::optional<Rendering> request;  ///< absent: see `problem`, or the row queues
  std::string problem;               ///< why it cannot be rendered
};
struct Preview {
  std::vector<PreviewedRow> rows;
  std::optional<postgres::UnreadRow> unread;
  OnPoison on_poison = OnPoison::halt;

  /// Each row was read, and can be rendered.
  [[nodiscard]] bool sound() const;
};
[[nodiscard]] std::string preview_text(const Preview& preview);
[[nodiscard]] std::string preview_json(const Preview& preview);
/// "row 17 cannot be rendered: …; its lane will halt"
[[nodiscard]] std::string unrendered_text(const PreviewedRow& row, OnPoison on_poison);

/// The proof: what each lane delivered, bucket by bucket, and a sentence on the whole.
[[nodiscard]] std::string audit_text(const std::vector<postgres::LaneAudit>& lanes, bool terminal);
[[nodiscard]] std::string audit_finding(const std::vector<postgres::LaneAudit>& lanes);
[[nodiscard]] std::string audit_json(const std::string& process,
                                     const std::vector<postgres::LaneAudit>& lanes);

/// Parked rows and how many there are.
[[nodiscard]] std::string parked_text(const std::string& process,
                                      const std::vector<postgres::ParkedRow>& rows,
                                      const postgres::ParkedCount& count, bool terminal);
[[nodiscard]] std::string parked_json(const std::string& process,
                                      const std::vector<postgres::ParkedRow>& rows,
                                      const postgres::ParkedCount& count,
                                      const std::optional<std::string>& next = std::nullopt);
/// "17 rows are parked, behind 2 that failed, the first at …: seriatim parked list PROCESS"
[[nodiscard]] std::string parked_note(const std::string& process,
                                      const postgres::ParkedCount& count);
/// "2 keys are held, with 17 rows, the first since …; tried again by itself: …"
[[nodiscard]] std::string held_note(const std::string& process, const postgres::ParkedCount& count);

/// What a rewind did, or, with `done` false, would do.
[[nodiscard]] std::string rewind_text(const std::string& process,
                                      const std::vector<postgres::RewindStep>& steps, bool done);
[[nodiscard]] std::string rewind_json(const std::string& process,
                                      const std::vector<postgres::RewindStep>& steps, bool done,
                                      const std::string& plan);
/// How many parked rows an act would take; `plan`: what to expect of it.
[[nodiscard]] std::string parked_plan_json(const std::string& process, std::uint64_t rows,
                                           const std::string& plan);

/// What `prune` took away of each table, what it left and why.
[[nodiscard]] std::string prune_text(const std::vector<postgres::PruneReport>& tables,
                                     bool dry_run);
[[nodiscard]] std::string prune_json(const std::vector<postgres::PruneReport>& tables,
                                     bool dry_run);

/// `{"applied":["001_schema"],"schema_version":1}`
[[nodiscard]] std::string init_json(const std::vector<std::string>& applied, int version,
                                    const std::vector<std::string>& partitions);
/// `{"process":"booking_sms","done":["lane 0: …"]}`
[[nodiscard]] std::string act_json(const std::string& process, const postgres::ActResult& done);
[[nodiscard]] std::string append_json(const std::string& id);
[[nodiscard]] std::string version_json(const std::string& version);

}  // namespace seriatim::app
