#include "postgres/admin/acts/parked_acts.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

constexpr std::size_t key_bytes_max = 200;  ///< in the journal

std::string name_of(const ParkedChoice& choice) {
  if (choice.id) return "row " + *choice.id;
  if (choice.key) return "any row of key \"" + *choice.key + '"';
  return "any row";
}

[[noreturn]] void nothing_chosen(const Act& act, const ParkedChoice& choice) {
  throw Error("process \"" + act.process() + "\" has not parked " + name_of(choice) +
              "; nothing was changed: seriatim parked list " + shell_word(act.process()));
}

Params chosen(const LaneRow& lane, const ParkedChoice& choice) {
  return {lane.id.process,
          std::to_string(lane.id.lane),
          std::to_string(lane.id.lanes),
          choice.id,
          choice.key,
          choice.id || choice.key ? "false" : "true"};
}

LaneChange read_again(const LaneRow& lane, const ParkedChoice& choice, std::uint64_t rows) {
  boost::json::object detail{{"rows", rows}};
  if (choice.key) detail["key"] = storable_text(*choice.key, key_bytes_max);
  return {lane.id.lane, {{"epoch", next_epoch(lane)}}, choice.id, serialize(detail)};
}

std::string counted(std::uint64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

/// What was done so far is undone.
void refuse_other_count(const Act& act, const ParkedChoice& choice, std::uint64_t rows) {
  const auto& expected = act.actor().expected_rows;
  if (!expected || *expected == rows) return;
  throw NotAsExpected("process \"" + act.process() + "\" has parked " + counted(rows) +
                          " of what was chosen (" + name_of(choice) + "), not " +
                          std::to_string(*expected) + "; nothing was changed: check again",
                      rows);
}

void refuse_other_plan(Act& act, const ParkedChoice& choice, ParkedAct what) {
  const auto& expected = act.actor().expected_plan;
  if (!expected) return;
  const auto now = plan_parked(act.connection(), act.process(), choice, what);
  if (now.plan == *expected) return;
  throw NotAsExpected("the parked rows of process \"" + act.process() +
                          "\" are not those that the preview counted; nothing was changed: "
                          "read it again",
                      now.rows);
}

/// Why rows that are due do not go out yet.
std::string stall(const LaneRow& lane) {
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

}  // namespace

ParkedPlan plan_parked(Connection& connection, const std::string& process,
                       const ParkedChoice& choice, ParkedAct act) {
  const auto row =
      connection.run(sql::reports::plan_parked,
                     {process, choice.id, choice.key, choice.id || choice.key ? "false" : "true",
                      act == ParkedAct::redrive ? "true" : "false"})[0];
  return {row["rows"].as<std::uint64_t>(), row["plan"].as<std::string>()};
}

ActResult redrive_parked(Act& act, const ParkedChoice& choice) {
  ActResult result;
  std::uint64_t total = 0;
  std::vector<LaneChange> changes;
  const auto lanes = take_turn(act);
  refuse_other_plan(act, choice, ParkedAct::redrive);
  for (const auto& lane : lanes) {
    const auto rows = act.connection()
                          .run(sql::acts::redrive_parked, chosen(lane, choice))[0][0]
                          .as<std::uint64_t>();
    if (rows == 0) continue;
    total += rows;
    changes.push_back(read_again(lane, choice, rows));
    result.push_back(lane_name(lane) + ": " + counted(rows) +
                     " handed over again, in the order parked" + stall(lane));
  }
  refuse_other_count(act, choice, total);
  if (changes.empty()) nothing_chosen(act, choice);
  act.change("redrive", changes);
  act.commit();
  return result;
}

/// A lane that is at one of them goes on.
ActResult discard_parked(Act& act, const ParkedChoice& choice) {
  if (!stored_reason(act.actor())) {
    throw Error("discard needs a reason for the journal; nothing was discarded: --reason \"…\"");
  }
  ActResult result;
  std::uint64_t total = 0;
  std::vector<LaneChange> changes;
  const auto lanes = take_turn(act);
  refuse_other_plan(act, choice, ParkedAct::discard);
  for (const auto& lane : lanes) {
    auto params = chosen(lane, choice);
    params.insert(params.end(), {stored_who(act.actor()), stored_reason(act.actor())});
    const auto gone = act.connection().run(sql::acts::discard_parked, params)[0];
    const auto rows = gone["rows"].as<std::uint64_t>();
    if (rows == 0) continue;
    total += rows;
    auto change = read_again(lane, choice, rows);
    const bool begun = gone["begun"].as<bool>();
    const auto sequence = lane.cursor.sequence;
    const auto unused = begun ? std::max(lane.cursor.handed_to, sequence + 1) - sequence : 0;
    if (gone["waits_at"].as<bool>()) {
      for (const auto& [column, value] : starts_anew(lane)) change.set[column] = value;
    } else if (begun) {
      change.set["attempts"] = change.set["crashes"] = "0";
    }
    change.set["sequence"] = std::to_string(sequence + unused);
    change.set["set_aside"] = std::to_string(lane.cursor.set_aside + unused);
    change.set["redriven"] = std::to_string(lane.redriven + unused);
    changes.push_back(std::move(change));
    result.push_back(lane_name(lane) + ": " + counted(rows) + " discarded: set aside for good");
  }
  refuse_other_count(act, choice, total);
  if (changes.empty()) nothing_chosen(act, choice);
  act.change("discard", changes);
  act.connection().run(sql::acts::promote_heads, {act.process()});
  act.commit();
  return result;
}

}  // namespace seriatim::postgres
