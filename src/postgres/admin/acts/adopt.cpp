#include "postgres/admin/acts/adopt.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <climits>
#include <functional>
#include <span>
#include <utility>

#include "postgres/admin/acts/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/old_rows.hpp"
#include "postgres/store/recount.hpp"
#include "postgres/store/start_place.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

namespace json = boost::json;

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
  constexpr milliseconds settle_max{10'000};
  const auto places = find_start(act.connection(), seen.table, target, settle_max);
  if (!begin_process(act.connection(), {process, target.source.start}, places, seen.identity,
                     {"adopt", stored_who(actor), stored_reason(actor)})) {
    throw Error("process \"" + process +
                "\" got a cursor meanwhile; nothing was done: check again");
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

bool is_another_table(const std::vector<IdentityChange>& changes) {
  return find_change(changes, "table_oid") || find_change(changes, "id") ||
         find_change(changes, "created_at");
}

/// By another key a row may have another lane, whose cursor is beyond it or behind it.
void refuse_other_key(const LaneRow& lane, const std::vector<IdentityChange>& changes) {
  const auto* key = find_change(changes, "key");
  if (lane.id.lanes == 1 || key == nullptr || is_another_table(changes)) return;
  throw Error(lane_name(lane) + ": " + judge_identity({*key}, lane.id.lanes)->what +
              "; nothing was adopted");
}

/// Refuses another order while rows wait that lie before the cursor in it; says what comes again.
std::string judge_order(Connection& connection, const Table& table, const LaneRow& lane,
                        const std::vector<IdentityChange>& changes) {
  const auto& at = lane.cursor.position;
  const auto* order = find_change(changes, "order_by");
  if (order == nullptr || is_another_table(changes) || !at) return "";
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

/// … but for what decides which rows are the lane's. A change of that is for its next claim.
std::string merged_source(const std::string& noted, const std::string& seen) {
  auto now = json::parse(seen).as_object();
  const auto before = json::parse(noted);
  for (const auto* part : {"filter", "key", "payload"}) {
    if (before.as_object().contains(part)) now.erase(part);
  }
  return merged(noted, json::serialize(now));
}

/// A lane, and what becomes of it.
struct Adoption {
  LaneRow lane;
  std::vector<IdentityChange> differs;
  std::vector<Position> old;  ///< rows behind the cursor that match now
  std::string again;          ///< rows sent before that come again
};

Adoption read_adoption(Act& act, const Target& target, const Table& table, const LaneRow& lane,
                       std::vector<IdentityChange> differs,
                       const std::optional<std::string>& former, std::optional<OldRows> old_rows) {
  refuse_other_key(lane, differs);
  const auto* filter = find_change(differs, "filter");
  Adoption adoption{lane, {}, {}, judge_order(act.connection(), table, lane, differs)};
  if (filter != nullptr) {
    adoption.old =
        find_old_rows(act.connection(), table, lane.id, lane.cursor.position, former, INT_MAX);
    if (!adoption.old.empty() && lane.holder_alive && !stood_for_it(lane.cursor)) {
      throw Error(lane_name(lane) + " is held by " + lane.holder +
                  ", which has not halted over the change of the filter, so it reads by the former "
                  "one; nothing was adopted: start that relay again with the new configuration (or "
                  "resume the lane if it is paused), and adopt then");
    }
    if (!adoption.old.empty() && !old_rows) {
      throw Error(lane_name(lane) + ": " +
                  old_rows_text(*filter, target.process.name,
                                counted_rows(adoption.old.size()) + " behind the cursor"));
    }
  }
  adoption.differs = std::move(differs);
  return adoption;
}

/// A lane that halted because it was another source goes on. Another lane gets a new epoch, because
/// its holder may be about to halt over the change: that halt is refused. Rows that are passed over
/// have numbers, as rows have that were skipped by name.
LaneChange adopted(const Adoption& adoption, const std::string& identity,
                   std::optional<OldRows> old_rows) {
  const auto& [lane, differs, old, again] = adoption;
  const bool halted = stood_for_it(lane.cursor);
  auto set = halted ? tries_again(lane) : Columns();
  set["identity"] = merged(lane.identity, identity);
  json::object detail{{"change", in_words(differs)}};
  if (!halted || !old.empty()) set["epoch"] = next_epoch(lane);
  if (!old.empty()) {
    const bool skipped = old_rows == OldRows::skip;
    detail["old_rows"] = skipped ? "skip" : "deliver";
    detail["rows"] = old.size();
    if (skipped) {
      set["sequence"] = std::to_string(lane.cursor.sequence + old.size());
      set["set_aside"] = std::to_string(lane.cursor.set_aside + old.size());
    }
  }
  return {lane.id.lane, std::move(set), {}, json::serialize(detail)};
}

/// The rows of each part of a batch, as a statement takes them.
void each_part(const std::vector<Position>& rows,
               const std::function<void(std::span<const Position>)>& take) {
  constexpr std::size_t part_max = 4'096;  // as many as a bucket of a rewind has
  for (std::size_t i = 0; i < rows.size(); i += part_max) {
    take(std::span(rows).subspan(i, std::min(part_max, rows.size() - i)));
  }
}

std::vector<std::string> ids_of(std::span<const Position> rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.id);
  return ids;
}

void pass_over(Act& act, const Table& table, const Adoption& adoption, std::uint64_t entry) {
  Recount recount(act.connection(), table, adoption.lane.id);
  const auto lane = std::to_string(adoption.lane.id.lane);
  each_part(adoption.old, [&](std::span<const Position> rows) {
    const auto open = recount.note({rows.begin(), rows.end()});
    const auto newest = std::max_element(
        rows.begin(), rows.end(),
        [](const auto& a, const auto& b) { return a.created_at_us < b.created_at_us; });
    const auto newest_at = timestamp_text(newest->created_at_us);
    act.connection().run(sql::acts::note_in_open_bucket,
                         {act.process(), lane, array_text(open), newest_at});
    act.connection().run(sql::acts::pass_over,
                         {act.process(), lane, std::to_string(entry), array_text(ids_of(rows)),
                          timestamp_text(rows.back().created_at_us), rows.back().id});
  });
}

void make_due(Act& act, const Table& table, const Adoption& adoption) {
  const auto statement = statement_for(sql::acts::make_due, table, adoption.lane.id);
  each_part(adoption.old, [&](std::span<const Position> rows) {
    std::vector<std::string> times;
    for (const auto& row : rows) times.push_back(timestamp_text(row.created_at_us));
    act.connection().run(statement, {act.process(), std::to_string(adoption.lane.id.lane),
                                     array_text(ids_of(rows)), array_text(times)});
  });
}

std::string summary_of(const Adoption& adoption, std::optional<OldRows> old_rows) {
  const auto& [lane, differs, old, again] = adoption;
  const bool goes_on = stood_for_it(lane.cursor) || lane.cursor.state == Cursor::State::running;
  auto text = lane_name(lane) + ": adopted " + in_words(differs) + "; ";
  if (!old.empty()) {
    text += std::to_string(old.size()) + (old_rows == OldRows::skip
                                              ? " old rows passed over; "
                                              : " old rows go out late, in between new ones; ");
  }
  return text + (goes_on ? "goes on " : "still ") + after_row(lane.cursor.position) + again;
}

}  // namespace

ActResult adopt_source(Act& act, const Target& target, std::optional<OldRows> old_rows) {
  auto& connection = act.connection();
  const auto& process = target.process.name;
  const auto [table, identity] = read_now(connection, target);
  if (read_lanes(connection, process).empty()) return adopt_new(act, target, {table, identity});
  const auto former =
      former_filter(connection, table, read_identity_changes(connection, process, identity));
  ActResult result;
  ActResult refused;
  std::vector<Adoption> adoptions;
  std::vector<LaneChange> changes;
  for (const auto& lane : take_turn(act)) {
    auto differs = read_identity_changes(connection, process, identity, lane.id.lane);
    if (differs.empty()) {
      refused.push_back(why_not(lane));
      continue;
    }
    adoptions.push_back(
        read_adoption(act, target, table, lane, std::move(differs), former, old_rows));
    changes.push_back(adopted(adoptions.back(), identity, old_rows));
    result.push_back(summary_of(adoptions.back(), old_rows));
  }
  if (result.empty()) throw Error("process \"" + process + "\": " + refused.front());
  const auto entries = act.change("adopt", changes);
  for (std::size_t i = 0; i < adoptions.size(); ++i) {
    if (old_rows == OldRows::skip) pass_over(act, table, adoptions[i], entries.at(i));
    if (old_rows == OldRows::deliver) make_due(act, table, adoptions[i]);
  }
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
              {"identity", merged_source(lane.identity, identity)},
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
    result.push_back(lane_name(lane) + ": taken over from " + from + "; its cursor is " +
                     after_row(lane.cursor.position));
  }
  act.change("adopt", names);
  act.change("retire", left);
  connection.run(sql::acts::rename_ledger, {from, process.name});
  act.commit();
  return result;
}

}  // namespace seriatim::postgres
