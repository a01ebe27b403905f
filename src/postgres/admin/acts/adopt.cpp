#include "postgres/admin/acts/adopt.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

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

namespace json = boost::json;

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
    text += after_row(place);
  }
  return text;
}

ActResult adopt_new(Act& act, const Target& target, const Reading& seen) {
  const auto& process = target.process.name;
  const auto& actor = act.actor();
  const auto places = find_start(act.connection(), seen.table, target, settle_max);
  if (!begin_process(act.connection(), {process, target.source.start}, places, seen.identity,
                     {"adopt", stored_who(actor), stored_reason(actor)})) {
    throw Error("process \"" + process + "\" got a cursor meanwhile; nothing was done: look again");
  }
  return {"noted as a new process, which begins " + begins_after(places) + " (start = \"" +
          target.source.start + "\")"};
}

bool stood_for_it(const Cursor& cursor) {
  return cursor.state == Cursor::State::halted && (cursor.reason == HaltReason::source_changed ||
                                                   cursor.reason == HaltReason::config_changed);
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

/// What is seen now replaces what was noted; what cannot be seen now stays.
std::string merged(const std::string& noted, const std::string& seen) {
  auto identity = json::parse(noted).as_object();
  const auto now = json::parse(seen);
  for (const auto& [part, value] : now.as_object()) identity[part] = value;
  return json::serialize(identity);
}

/// A lane that halted because it was another source goes on.
LaneChange adopted(const LaneRow& lane, const std::string& identity, const std::string& words) {
  auto set = stood_for_it(lane.cursor) ? tries_again(lane) : Columns();
  set["identity"] = merged(lane.identity, identity);
  return {lane.id.lane, std::move(set), {}, json::serialize(json::object{{"change", words}})};
}

}  // namespace

ActResult adopt_source(Act& act, const Target& target) {
  auto& connection = act.connection();
  const auto& process = target.process.name;
  const auto [table, identity] = read_now(connection, target);
  if (read_lanes(connection, process).empty()) return adopt_new(act, target, {table, identity});
  ActResult result;
  ActResult refused;
  std::vector<LaneChange> changes;
  for (const auto& lane : take_turn(act)) {
    const auto differs = read_identity_changes(connection, process, identity, lane.id.lane);
    if (differs.empty()) {
      refused.push_back(why_not(lane));
      continue;
    }
    const auto again = judge_order(connection, table, lane, differs);
    const auto words = in_words(differs);
    changes.push_back(adopted(lane, identity, words));
    const bool goes_on = stood_for_it(lane.cursor) || lane.cursor.state == Cursor::State::running;
    result.push_back(lane_name(lane) + ": adopted " + words + "; " +
                     (goes_on ? "goes on " : "still stands ") + after_row(lane.cursor.position) +
                     again);
  }
  if (result.empty()) throw Error("process \"" + process + "\": " + refused.front());
  act.change("adopt", changes);
  act.commit();
  result.insert(result.end(), refused.begin(), refused.end());
  return result;
}

namespace {

/// A name that was given up to `from` may be taken back from it, no other that has a cursor.
void free_name(Act& act, const std::string& process) {
  const auto lanes = read_lanes(act.connection(), process);
  if (lanes.empty()) return;
  if (lanes.front().renamed_to != act.process()) {
    refuse_retired(lanes);
    throw Error("process \"" + process + "\" has a cursor of its own; nothing was taken over");
  }
  std::vector<LaneChange> changes;
  for (const auto& lane : lanes) changes.push_back({.lane = lane.id.lane, .gone = true});
  act.change("adopt", process, changes);
}

/// What a renamed process leaves behind, so that nobody begins again under its name.
LaneChange retired(const LaneRow& lane, const std::string& to, const Actor& actor,
                   const std::string& now) {
  const auto& from = lane.id.process;
  const auto why = stored_reason(actor);
  const auto detail = "process \"" + from + "\" was renamed to \"" + to + "\" at " + now + " by " +
                      name_of(actor) + (why ? " (" + *why + ")" : "") + ": set name = \"" + to +
                      "\" in the configuration; or take it back: seriatim adopt " +
                      shell_word(from) + " --from " + shell_word(to);
  Columns set{{"lanes", std::to_string(lane.id.lanes)},
              {"sequence", std::to_string(lane.cursor.sequence)},
              {"set_aside", std::to_string(lane.cursor.set_aside)},
              {"epoch", next_epoch(lane)},
              {"identity", lane.identity},
              {"created_at", lane.created_at},
              {"state", "retired"},
              {"renamed_to", to},
              {"reason", to_string(HaltReason::config_changed)},
              {"detail", detail}};
  set_place(set, "position", lane.cursor.position);
  return {.lane = lane.id.lane, .set = std::move(set)};
}

/// The epoch grows, so that nobody goes on under the old name.
LaneChange renamed(const LaneRow& lane, const std::string& to, const std::string& identity) {
  Columns set{{"process_name", to},
              {"identity", merged(lane.identity, identity)},
              {"epoch", next_epoch(lane)}};
  for (const auto* column : {"holder", "holder_pid", "holder_started", "lease_until"}) {
    set[column] = std::nullopt;
  }
  return {
      lane.id.lane, std::move(set), {}, json::serialize(json::object{{"from", lane.id.process}})};
}

}  // namespace

ActResult take_over(Act& act, const Target& target) {
  auto& connection = act.connection();
  const auto& process = target.process;
  const auto& from = act.process();
  const auto identity = read_now(connection, target).identity;
  const auto lanes = take_turn(act);
  free_name(act, process.name);
  if (lanes.size() != process.lanes) {
    throw Error("process \"" + from + "\" has " + std::to_string(lanes.size()) + " lanes, \"" +
                process.name + "\" is configured with " + std::to_string(process.lanes) +
                "; nothing was taken over: set `lanes` to the same number");
  }
  const auto now = connection.run(sql::acts::now)[0][0].as<std::string>();
  ActResult result;
  std::vector<LaneChange> names;
  std::vector<LaneChange> left;
  for (const auto& lane : lanes) {
    if (lane.holder_alive) {
      throw Error(lane_name(lane) + " of process \"" + from + "\" is held by " + lane.holder +
                  "; nothing was taken over: stop that relay first");
    }
    names.push_back(renamed(lane, process.name, identity));
    left.push_back(retired(lane, process.name, act.actor(), now));
    result.push_back(lane_name(lane) + ": taken over from " + from + ", stands " +
                     after_row(lane.cursor.position));
  }
  act.change("adopt", names);
  act.change("retire", left);
  connection.run(sql::acts::rename_ledger, {from, process.name});
  act.commit();
  return result;
}

}  // namespace seriatim::postgres
