#include "postgres/store/identity_guard.hpp"

#include <utility>

#include "postgres/store/lane_rows.hpp"
#include "postgres/store/old_rows.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

IdentityGuard::IdentityGuard(Connection& connection, const Table& table, SourceConfig config,
                             LaneId lane)
    : connection_(connection), table_(table), config_(std::move(config)), lane_(std::move(lane)) {}

/// Once a session, for a connection leads to one server; a pooler may lead it to another any time.
/// What was refused may have been adopted since.
void IdentityGuard::compare(std::uint64_t epoch) {
  if (!seen_.empty() && !mismatch_ && connection_.direct()) return;
  seen_ = read_identity(connection_, table_, config_);
  mismatch_ = judge();
  if (mismatch_) return;
  connection_.run(sql::table::note_identity,
                  {lane_.process, std::to_string(lane_.lane), std::to_string(epoch), seen_});
}

std::optional<IdentityMismatch> IdentityGuard::judge() {
  const auto changes = read_identity_changes(connection_, lane_.process, seen_, lane_.lane);
  if (auto mismatch = judge_identity(changes, lane_.lanes)) {
    mismatch->what += mismatch->confirmable ? "; nothing is sent until `seriatim adopt` confirms it"
                                            : "; nothing is sent until then";
    return mismatch;
  }
  const auto* change = find_change(changes, "filter");
  if (change == nullptr) return std::nullopt;
  std::optional<Position> cursor;
  for (const auto& lane : read_lanes(connection_, lane_.process)) {
    if (lane.id.lane == lane_.lane) cursor = lane.cursor.position;
  }
  const auto old = find_old_rows(connection_, table_, lane_, cursor,
                                 former_filter(connection_, table_, changes), 1);
  if (old.empty()) return std::nullopt;
  return IdentityMismatch{HaltReason::config_changed, old_rows_text(*change, lane_.process,
                                                                    "row " + old.front().id +
                                                                        " behind the cursor, and "
                                                                        "perhaps others,")};
}

void IdentityGuard::refuse_mismatch() const {
  if (mismatch_) throw SourceBroken(mismatch_->reason, mismatch_->what);
}

}  // namespace seriatim::postgres
