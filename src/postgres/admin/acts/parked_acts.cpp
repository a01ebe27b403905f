#include "postgres/admin/acts/parked_acts.hpp"

#include <algorithm>
#include <utility>

#include "postgres/admin/acts/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/wire/shell_word.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

std::string name_of(const ParkedChoice& choice) {
  if (choice.id) return "row " + *choice.id;
  if (choice.key) return "any row of key \"" + *choice.key + '"';
  return "any row";
}

[[noreturn]] void nothing_chosen(const Target& target, const ParkedChoice& choice) {
  throw Error("process \"" + target.process.name + "\" has not parked " + name_of(choice) +
              "; nothing was changed: seriatim parked list " + shell_word(target.process.name));
}

/// The same statement for each lane, in one transaction; answers how many rows it named in each.
std::vector<std::uint64_t> act(Connection& connection, std::string_view statement,
                               const std::vector<LaneRow>& lanes, const ParkedChoice& choice,
                               const Actor& actor) {
  std::vector<std::uint64_t> rows;
  for (const auto& lane : lanes) {
    const auto changed = change(connection, statement, lane, actor,
                                {choice.id, choice.key, choice.id || choice.key ? "false" : "true",
                                 std::to_string(lane.id.lanes)});
    rows.push_back(changed[0]["rows"].as<std::uint64_t>());
  }
  return rows;
}

std::string counted(std::uint64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// Why rows that are due do not go out yet.
std::string standstill(const LaneRow& lane) {
  const auto& process = lane.id.process;
  switch (lane.cursor.state) {
    case Cursor::State::halted: return "; the lane is halted: they go out after `retry` or `skip`";
    case Cursor::State::paused:
      return "; the lane is paused: seriatim resume " + shell_word(process);
    case Cursor::State::running:
    case Cursor::State::retrying: break;
  }
  return lane.holder_alive ? "" : "; nobody runs this process: seriatim run " + shell_word(process);
}

ActResult tell(const std::vector<LaneRow>& lanes, const std::vector<std::uint64_t>& rows,
               const std::function<std::string(const LaneRow&, std::uint64_t)>& what) {
  ActResult result;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (rows[i] > 0) result.push_back(lane_name(lanes[i]) + ": " + what(lanes[i], rows[i]));
  }
  return result;
}

}  // namespace

ActResult redrive_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor) {
  const auto lanes = lock_lanes(connection, target.process.name);
  const auto rows = act(connection, sql::acts::redrive_parked, lanes, choice, actor);
  auto result = tell(lanes, rows, [](const LaneRow& lane, std::uint64_t count) {
    return counted(count) + " handed over again, in the order parked" + standstill(lane);
  });
  if (result.empty()) nothing_chosen(target, choice);
  connection.commit();
  return result;
}

ActResult discard_parked(Connection& connection, const Target& target, const ParkedChoice& choice,
                         const Actor& actor) {
  if (!stored_reason(actor)) {
    throw Error("discard needs a reason for the journal; nothing was discarded: --reason \"…\"");
  }
  const auto lanes = lock_lanes(connection, target.process.name);
  const auto rows = act(connection, sql::acts::discard_parked, lanes, choice, actor);
  auto result = tell(lanes, rows, [](const LaneRow&, std::uint64_t count) {
    return counted(count) + " discarded: set aside for good";
  });
  if (result.empty()) nothing_chosen(target, choice);
  connection.run(sql::acts::promote_heads, {target.process.name});
  connection.commit();
  return result;
}

}  // namespace seriatim::postgres
