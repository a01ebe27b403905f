#include "postgres/admin/acts/adopt.hpp"

#include <algorithm>

#include "postgres/admin/acts/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

constexpr milliseconds settle_max{10'000};

/// What the process reads now.
struct Reading {
  Table table;
  std::string identity;
};

Reading read_now(Connection& connection, const Target& target) {
  auto table = resolve_table(connection, target.source);
  auto identity = read_identity(connection, table, target.source);
  return {std::move(table), std::move(identity)};
}

std::string after_row(const LaneRow& lane) {
  const auto& position = lane.cursor.position;
  return position ? "after row " + position->id : "before the first row";
}

/// "timeline 00000001 → 00000002, table_oid 16402 → 16571"
std::string in_words(const std::vector<IdentityChange>& changes) {
  std::string text;
  for (const auto& [key, noted, seen] : changes) {
    text += text.empty() ? "" : ", ";
    text += key;
    text += " " + noted + " → ";
    text += seen;
  }
  return text;
}

std::string begins_after(const StartFinder::Places& places) {
  std::string text;
  for (const auto& place : places) {
    text += text.empty() ? "" : ", ";
    text += place ? "after row " + place->id : "before the first row";
  }
  return text;
}

ActResult adopt_new(Connection& connection, const Target& target, const Reading& seen,
                    const Actor& actor) {
  const auto& process = target.process.name;
  const auto places = find_start(connection, seen.table, target, settle_max);
  if (!begin_process(connection, {process, target.source.start}, places, seen.identity,
                     {"adopt", stored_who(actor), stored_reason(actor)})) {
    throw Error("process \"" + process + "\" got a cursor meanwhile; nothing was done: look again");
  }
  return {"noted as a new process, which begins " + begins_after(places) + " (start = \"" +
          target.source.start + "\")"};
}

/// What the act says where there is nothing to do.
std::string why_not(const LaneRow& lane) {
  auto text = lane_name(lane) + ": nothing differs from what was noted";
  if (lane.cursor.state == Cursor::State::halted) {
    text += "; what it halted for is something else: see `seriatim status`";
  }
  return text;
}

/// Refuses another order while rows wait that lie before the cursor in it; says what comes again.
std::string judge_order(Connection& connection, const Table& table, const LaneRow& lane,
                        const std::vector<IdentityChange>& changes) {
  const auto& at = lane.cursor.position;
  const auto order = std::find_if(changes.begin(), changes.end(),
                                  [](const auto& change) { return change.key == "order_by"; });
  const bool other_table = std::any_of(changes.begin(), changes.end(), [](const auto& change) {
    return change.key == "table_oid" || change.key == "id" || change.key == "created_at";
  });
  if (order == changes.end() || other_table || !at) return "";
  const auto row = connection.run(
      statement_for(sql::acts::order_changes, table, lane.id),
      {timestamp_text(at->created_at_us), at->id, order->noted == "id" ? "true" : "false"})[0];
  if (row["passed_over"].as<int>() > 0) {
    throw Error(lane_name(lane) + ": " + row["passed_over"].as<std::string>() +
                " rows that wait in the order of " + order->noted +
                " lie before the cursor in the other order and would never be sent; nothing was "
                "adopted: set order_by = \"" +
                order->noted + "\" again, `seriatim run --drain`, then change it");
  }
  const auto repeated = row["repeated"].as<std::string>();
  return repeated == "0" ? "" : "; " + repeated + " rows sent before come again";
}

std::string adopt_lane(Connection& connection, const LaneRow& lane, const std::string& identity,
                       const std::string& words, const Actor& actor) {
  const auto changed = change(connection, sql::acts::adopt_lane, lane, actor, {identity, words});
  const bool goes_on =
      changed[0]["stood_for_it"].as<bool>() || lane.cursor.state == Cursor::State::running;
  return lane_name(lane) + ": adopted " + words + "; " + (goes_on ? "goes on " : "still stands ") +
         after_row(lane);
}

}  // namespace

ActResult adopt_source(Connection& connection, const Target& target, const Actor& actor) {
  const auto& process = target.process.name;
  const auto [table, identity] = read_now(connection, target);
  if (read_lanes(connection, process).empty()) {
    return adopt_new(connection, target, {table, identity}, actor);
  }
  ActResult result;
  ActResult refused;
  for (const auto& lane : lock_lanes(connection, process)) {
    const auto changes = read_identity_changes(connection, process, identity, lane.id.lane);
    if (changes.empty()) {
      refused.push_back(why_not(lane));
      continue;
    }
    const auto again = judge_order(connection, table, lane, changes);
    result.push_back(adopt_lane(connection, lane, identity, in_words(changes), actor) + again);
  }
  if (result.empty()) throw Error("process \"" + process + "\": " + refused.front());
  connection.commit();
  result.insert(result.end(), refused.begin(), refused.end());
  return result;
}

namespace {

/// A name that was given up to `from` may be taken back from it, no other that has a cursor.
void refuse_own_cursor(Connection& connection, const std::string& process,
                       const std::string& from) {
  const auto lanes = read_lanes(connection, process);
  if (lanes.empty()) return;
  if (lanes.front().renamed_to == from) {
    connection.run(sql::acts::forget_retired, {process, from});
    return;
  }
  refuse_retired(lanes);
  throw Error("process \"" + process + "\" has a cursor of its own; nothing was taken over");
}

void retire(Connection& connection, const LaneRow& lane, const std::string& to,
            const Actor& actor) {
  const auto& from = lane.id.process;
  connection.run(
      sql::acts::retire_lane,
      {from, std::to_string(lane.id.lane), to,
       "process \"" + from + "\" was renamed to \"" + to + "\"", stored_who(actor),
       stored_reason(actor),
       "set name = \"" + to + "\" in the configuration; or take it back: seriatim adopt " +
           shell_word(from) + " --from " + shell_word(to)});
}

}  // namespace

ActResult take_over(Connection& connection, const Target& target, const std::string& from,
                    const Actor& actor) {
  const auto& process = target.process;
  const auto identity = read_now(connection, target).identity;
  const auto lanes = lock_lanes(connection, from);
  refuse_own_cursor(connection, process.name, from);
  if (lanes.size() != process.lanes) {
    throw Error("process \"" + from + "\" has " + std::to_string(lanes.size()) + " lanes, \"" +
                process.name + "\" is configured with " + std::to_string(process.lanes) +
                "; nothing was taken over: set `lanes` to the same number");
  }
  ActResult result;
  for (const auto& lane : lanes) {
    if (lane.holder_alive) {
      throw Error(lane_name(lane) + " of process \"" + from + "\" is held by " + lane.holder +
                  "; nothing was taken over: stop that relay first");
    }
    change(connection, sql::acts::take_over_lane, lane, actor, {process.name, identity});
    retire(connection, lane, process.name, actor);
    result.push_back(lane_name(lane) + ": taken over from " + from + ", stands " + after_row(lane));
  }
  connection.commit();
  return result;
}

}  // namespace seriatim::postgres
