#include "postgres/admin/acts/act.hpp"

#include "postgres/wire/sql_text.hpp"

namespace seriatim::postgres {

std::string lane_name(const LaneRow& lane) {
  return "lane " + std::to_string(lane.id.lane);
}

std::string after_row(const std::optional<Position>& position) {
  return position ? "after row " + position->id : "before the first row";
}

std::string name_of(const Actor& actor) {
  return stored_who(actor).value_or("an operator");
}

namespace {

/// There is no such process, or no such lane of it.
[[noreturn]] void refuse_no_such(const Act& act) {
  const auto lanes = read_lanes(act.connection(), act.process());
  if (lanes.empty()) refuse_unknown(act.connection(), act.process());
  throw Error("process \"" + act.process() + "\" has lanes 0 to " +
              std::to_string(lanes.size() - 1) + ", no lane " + std::to_string(*act.lane()) +
              "; nothing was changed");
}

}  // namespace

std::vector<LaneRow> take_turn(Act& act) {
  try {
    auto lanes = act.take_turn();
    if (lanes.empty()) refuse_no_such(act);
    refuse_retired(lanes);
    act.compare_expected();
    return lanes;
  } catch (const NotAsExpected&) {
    throw;
  } catch (const ActRefused& refused) {
    throw ActRefused("process \"" + act.process() + "\" is busy: " + refused.what() +
                     "; nothing was changed: try again, or stop what is in the way first");
  }
}

std::optional<std::string> at(const std::optional<Position>& position) {
  return position ? std::optional(timestamp_text(position->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const std::optional<Position>& position) {
  return position ? std::optional(position->id) : std::nullopt;
}

void set_place(Columns& set, const std::string& name, const std::optional<Position>& position) {
  set[name + "_at"] = at(position);
  set[name + "_id"] = id(position);
}

std::string next_epoch(const LaneRow& lane) {
  return std::to_string(lane.cursor.epoch + 1);
}

Columns tries_again(const LaneRow& lane) {
  Columns set{{"state", "running"}, {"reason", {}}, {"detail", {}}};
  set["failed_id"] = set["next_attempt_at"] = std::nullopt;
  if (!lane.holder_alive) set["holder"] = std::nullopt;
  return set;
}

Columns starts_anew(const LaneRow& lane) {
  const bool paused = lane.cursor.state == Cursor::State::paused;
  auto set = paused ? Columns{{"failed_id", {}}} : tries_again(lane);
  set["attempts"] = set["crashes"] = "0";
  return set;
}

}  // namespace seriatim::postgres
