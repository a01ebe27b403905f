#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "postgres/store/recount.hpp"

namespace seriatim::postgres {

/// Why a lane must halt.
struct AuditFinding {
  HaltReason reason = HaltReason::late_row;
  std::string row_id;
  std::string detail;
};

/// What is behind the cursor of one lane, step by step: the newest rows, then a walk over all
/// buckets that have ids, then those of former lanes. A step checks about a thousand rows.
class AuditPass {
 public:
  AuditPass(Connection& connection, const Table& table, const SourceConfig& config,
            const LaneId& lane);

  /// Where the lane is. Rows from `window_start` on are the lane's own: it delivers late ones.
  struct Place {
    Position cursor;
    std::optional<OrderKey> window_start;
  };
  [[nodiscard]] std::optional<AuditFinding> check_newest(const Place& place);
  /// One step of the walk.
  [[nodiscard]] std::optional<AuditFinding> walk_on(const Place& place);

  /// Checks once more what was found last. Nothing if it was delivered or went away since.
  [[nodiscard]] std::optional<AuditFinding> check_again(const Place& place);

  /// Seals some old buckets that the walk went through; whether there were any.
  bool seal(const Place& place);

  /// Something may have changed: a pass that is complete begins anew.
  void prompt();
  /// All was checked, and nothing changed since the walk began.
  [[nodiscard]] bool complete() const { return complete_; }
  /// How many walks came to their end.
  [[nodiscard]] std::uint64_t walks() const { return walks_; }

 private:
  using Check = std::function<std::optional<AuditFinding>(const Place&)>;

  [[nodiscard]] std::optional<AuditFinding> made(Check check, const Place& place);
  [[nodiscard]] std::optional<AuditFinding> late_in(Recount& rows, const NotedRange& range,
                                                    const Place& place);
  [[nodiscard]] std::optional<AuditFinding> named_late(const std::vector<Position>& late,
                                                       const Place& place) const;
  [[nodiscard]] std::optional<AuditFinding> ids_begun_again(const std::optional<Position>& last);
  Recount& walker() { return walk_ == 0 ? late_rows_ : former_[walk_ - 1]; }
  void read_former_lanes();

  Connection& connection_;
  Table table_;
  SourceConfig config_;
  LaneId lane_;
  Recount late_rows_;
  std::string began_again_;  ///< statement; empty in created_at order

  Check found_by_;
  bool prompted_ = false;  ///< since the walk began
  bool complete_ = false;
  std::uint64_t walks_ = 0;
  std::vector<Recount> former_;  ///< our rows in lanes of before the process was cut anew
  std::size_t walk_ = 0;         ///< 0: through our own buckets, else those of a former lane
  std::int64_t walked_ = -1;     ///< number of the last bucket checked there
  std::int64_t looked_at_ = -1;  ///< … of our own, in this walk or the one that just ended
  std::optional<Position> last_cursor_;
};

}  // namespace seriatim::postgres
