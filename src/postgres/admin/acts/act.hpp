#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/store/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "seriatim/position.hpp"

namespace seriatim::postgres {

// What the acts of a person are made of.

/// "lane 0"
[[nodiscard]] std::string lane_name(const LaneRow& lane);
/// "after row 4711", "before the first row"
[[nodiscard]] std::string after_row(const std::optional<Position>& position);
/// Who acts, in a sentence.
[[nodiscard]] std::string name_of(const Actor& actor);

/// All lanes of a process, in this act's turn. Error if it cannot be had, or if the process is not
/// known or was renamed.
[[nodiscard]] std::vector<LaneRow> take_turn(Act& act);

/// As text for a statement; absent: before the first row.
[[nodiscard]] std::optional<std::string> at(const std::optional<Position>& position);
[[nodiscard]] std::optional<std::string> id(const std::optional<Position>& position);

// What a lane's row becomes.

/// "position" → position_at, position_id
void set_place(Columns& set, const std::string& name, const std::optional<Position>& position);
/// A new epoch: what the holder was about to do is refused, and it reads anew.
[[nodiscard]] std::string next_epoch(const LaneRow& lane);
/// Whatever the lane waited for is over. A holder that is found dead did not die of the row
/// that the lane is at, so the next claim must not count a crash.
[[nodiscard]] Columns tries_again(const LaneRow& lane);
/// … and the next row is another one. A paused lane stays paused.
[[nodiscard]] Columns starts_anew(const LaneRow& lane);

}  // namespace seriatim::postgres
