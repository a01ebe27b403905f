#include "postgres/admin/acts/rewind.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <thread>

#include "core/fence.hpp"
#include "postgres/admin/acts/act.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "postgres/store/id_list.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/store/rows_ahead.hpp"
#include "postgres/table/position_lookup.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds settle_interval{50};

OrderKey order_key_of(const Position& position, OrderBy order) {
  if (order == OrderBy::created_at) return position.created_at_us;
  OrderKey id = 0;
  std::from_chars(position.id.data(), position.id.data() + position.id.size(), id);
  return id;
}

bool goes_forward(const std::optional<Position>& from, const std::optional<Position>& to,
                  OrderBy order) {
  if (!to) return false;
  return !from || core::comes_after(*to, *from, order);
}

std::string writers(const Writers& holders) {
  std::string text;
  for (const auto& blocker : holders.blockers) {
    text += text.empty() ? "" : ", ";
    text += blocker.pid == 0 ? "prepared '" + blocker.gid + "'"
                             : "pid " + std::to_string(blocker.pid) + ' ' + blocker.application;
  }
  return text;
}

/// Returns once no row at or below `last` can still be committed.
void wait_until_settled(Act& act, const Target& target, const Table& table, const Position& last,
                        milliseconds settle_max) {
  auto& connection = act.connection();
  const auto order = target.source.order_by;
  const OrderKey mark = order_key_of(last, order);
  core::Fence fence(order_key_min);
  for (const auto deadline = Clock::now() + settle_max;;) {
    const auto clock = connection.run(sql::wire::clock)[0][0].as<OrderKey>();
    const OrderKey latency = std::chrono::microseconds(target.source.insert_latency).count();
    const OrderKey f = order == OrderBy::id ? mark + 1 : clock - latency;
    const auto holders = read_writers(connection, table);
    if (core::is_settled(mark, fence.settle(f, holders.holders))) return;
    if (Clock::now() > deadline) {
      throw Error("rows before row " + last.id + " may still come from open transactions" +
                  (holders.blockers.empty() ? "" : ": " + writers(holders)) +
                  "; nothing was changed: try again when they have ended");
    }
    act.waits_for("open transactions, which may still insert rows before row " + last.id);
    std::this_thread::sleep_for(settle_interval);
  }
}

/// What the ledger keeps of a lane when its cursor goes back.
struct Remainder {
  std::optional<std::string> first_bucket_gone;
  std::optional<std::string> from_at, from_id;  ///< where the open bucket begins
  NotedIds noted;                               ///< … what is in it
  std::uint64_t rows = 0;                       ///< … so many rows
  std::optional<std::string> newest_at;         ///< … and the newest created_at of that
};

std::optional<std::string> text_of(const pqxx::field& field) {
  return field.is_null() ? std::nullopt : std::optional(field.as<std::string>());
}

class Rewind {
 public:
  Rewind(Connection& connection, const Target& target, const RewindPlace& place)
      : connection_(connection),
        target_(target),
        place_(place),
        table_(resolve_table(connection, target.source)) {}

  std::vector<RewindStep> plan(const std::vector<LaneRow>& lanes) try {
    if (place_.kind == RewindPlace::Kind::row) {
      row_ = place_of_row(connection_, table_, place_.text);
    }
    std::vector<RewindStep> steps;
    for (const auto& lane : lanes) {
      PositionLookup places(connection_, table_, lane.id);
      steps.push_back(step_to(lane, destination(places)));
    }
    return steps;
  } catch (const SourceBroken& broken) {
    if (broken.reason() != HaltReason::bad_payload) throw;  // else: text that is no id, no time
    throw Error("\"" + place_.text + "\" is no place in table " + table_.name + ": " +
                broken.what() + "; nothing was changed: --to start, end, a row's id or a time");
  }

  void settle(Act& act, const std::vector<RewindStep>& steps, milliseconds settle_max) {
    for (const auto& step : steps) {
      if (step.forward) wait_until_settled(act, target_, table_, *step.to, settle_max);
    }
  }

  /// The step as planned, from where the lane is now. A lane that has meanwhile passed the
  /// place it was to jump to stays: going back is another act.
  RewindStep from_here(const LaneRow& lane, const RewindStep& planned) {
    const auto step = step_to(lane, planned.to);
    return planned.forward && !step.forward ? stay(step) : step;
  }

  RewindStep carry_out(Act& act, const LaneRow& lane, const RewindStep& planned) {
    auto step = step_to(lane, planned.to);
    if (planned.forward && !step.forward) return stay(step);
    auto set = step.forward ? jump(lane, step) : go_back(lane, step);
    set_place(set, "position", step.to);
    set["sequence"] = std::to_string(step.sequence_to);
    set["epoch"] = next_epoch(lane);
    set["looked_at"] = set["position_at"];
    if (!step.forward) set["ahead"] = numbers_given(lane);
    for (const auto& [column, value] : starts_anew(lane)) set[column] = value;
    boost::json::object detail{{"forwards", step.forward}, {"rows", step.rows}};
    if (step.newer > 0) detail["newer"] = step.newer;
    const auto entry =
        act.change("rewind", {{lane.id.lane, std::move(set), id(step.to), serialize(detail)}});
    if (step.forward) {
      connection_.run(sql::acts::note_passed_over,
                      of(lane, {std::to_string(step.sequence_from),
                                std::to_string(step.sequence_to), std::to_string(entry.at(0))}));
    } else {
      connection_.run(statement_for(sql::acts::come_again, table_, lane.id),
                      {lane.id.process, at(step.to), id(step.to)});
    }
    connection_.run(sql::acts::forget_begun, of(lane));
    return step;
  }

 private:
  static Params of(const LaneRow& lane, const Params& more = {}) {
    Params params{lane.id.process, std::to_string(lane.id.lane)};
    params.insert(params.end(), more.begin(), more.end());
    return params;
  }

  /// Rows up to there are accounted for in buckets of their own, after the open one.
  Columns jump(const LaneRow& lane, RewindStep& step) {
    forget_aside(lane, step.from, step.to);
    step.rows = PositionLookup(connection_, table_, lane.id).jump(step.from, *step.to);
    step.sequence_to = step.sequence_from + step.rows;
    connection_.run(sql::acts::close_bucket, of(lane, {at(step.from), id(step.from), "false"}));
    Columns set{{"set_aside", std::to_string(lane.cursor.set_aside + step.rows)},
                {"bucket_ids", "{}"},
                {"bucket_ranges", "{}"},
                {"bucket_newest_at", {}}};
    set_place(set, "bucket", step.to);
    return set;
  }

  /// The ledger forgets what will be delivered again.
  Columns go_back(const LaneRow& lane, RewindStep& step) {
    const auto rest = remainder(lane, step);
    connection_.run(statement_for(sql::acts::forget_horizon, table_, {}),
                    of(lane, {at(step.to), id(step.to)}));
    forget_aside(lane, step.to, std::nullopt);
    const auto kept = connection_.run(sql::acts::undo_buckets, of(lane, {rest.first_bucket_gone}));
    if (table_.by_id && step.to) {
      step.newer = connection_
                       .run(statement_for(sql::acts::take_over_times, table_, lane.id),
                            of(lane, {id(step.to)}))[0][0]
                       .as<std::uint64_t>();
    }
    const auto counted = kept[0]["rows"].as<std::uint64_t>() + rest.rows + lane.redriven;
    // More rows may come again than were delivered, if ids began again or some are late. The
    // numbers of those that stay behind the place are not given to others.
    step.sequence_to =
        std::max(step.sequence_to, kept[0]["ledger_start"].as<std::uint64_t>() + counted);
    Columns set{{"bucket_ids", array_text(rest.noted.listed)},
                {"bucket_ranges", rest.noted.ranges},
                {"bucket_at", rest.from_at},
                {"bucket_id", rest.from_id},
                {"bucket_newest_at", rest.newest_at}};
    set["ledger_start"] = std::to_string(step.sequence_to - std::min(step.sequence_to, counted));
    return set;
  }

  /// What is done after the cursor is delivered again, too. If several calls may be in flight rows
  /// get numbers after those that were given, because within a key they must grow.
  [[nodiscard]] std::optional<std::string> numbers_given(const LaneRow& lane) const {
    RowsAhead ahead;
    if (target_.process.in_flight > 1) {
      ahead.numbered_to = std::max(lane.cursor.handed_to, lane.cursor.ahead.numbered_to);
    }
    return json_of(ahead);
  }

  static RewindStep stay(RewindStep step) {
    step.to = step.from;
    step.rows = 0;
    step.sequence_to = step.sequence_from;
    return step;
  }

  /// Gone back over, a row has as many numbers fewer as there are rows: so a row that comes after
  /// the redelivered ones gets a number no row ever had, whatever was deleted meanwhile.
  RewindStep step_to(const LaneRow& lane, const std::optional<Position>& to) {
    PositionLookup places(connection_, table_, lane.id);
    RewindStep step;
    step.lane = lane.id.lane;
    step.from = lane.cursor.position;
    step.to = to;
    step.forward = goes_forward(step.from, to, target_.source.order_by);
    step.rows = step.forward ? places.between(step.from, to) : places.between(to, step.from);
    if (!step.forward) step.pruned = pruned_after(lane, to);
    step.sequence_from = lane.cursor.sequence;
    step.sequence_to = step.forward ? step.sequence_from + step.rows
                                    : step.sequence_from - std::min(step.sequence_from, step.rows);
    return step;
  }

  std::uint64_t pruned_after(const LaneRow& lane, const std::optional<Position>& to) {
    return connection_
        .run(statement_for(sql::acts::pruned_after, table_, lane.id),
             of(lane, {at(to), id(to)}))[0][0]
        .as<std::uint64_t>();
  }

  /// Rows after this place: they come again where they are, or are jumped over. Rows that were set
  /// aside while several calls were in flight may come after the place that is jumped to.
  void forget_aside(const LaneRow& lane, const std::optional<Position>& place,
                    const std::optional<Position>& up_to) {
    connection_.run(
        statement_for(sql::acts::forget_aside, table_, {}),
        of(lane, {at(place), id(place), std::to_string(lane.id.lanes), at(up_to), id(up_to)}));
    connection_.run(sql::acts::promote_heads, {lane.id.process});
  }

  std::optional<Position> destination(PositionLookup& places) const {
    switch (place_.kind) {
      case RewindPlace::Kind::start: return std::nullopt;
      case RewindPlace::Kind::end: return places.at_end();
      case RewindPlace::Kind::time: return places.before_time(place_.text);
      case RewindPlace::Kind::row: break;
    }
    return places.before_row(*row_);
  }

  Remainder remainder(const LaneRow& lane, const RewindStep& step) {
    const auto cut = connection_.run(statement_for(sql::acts::ledger_cut, table_, {}),
                                     of(lane, {at(step.to), id(step.to)}));
    const auto bucket = cut.empty() ? connection_.run(sql::acts::open_bucket, of(lane))[0] : cut[0];
    Remainder rest;
    if (!cut.empty()) rest.first_bucket_gone = text_of(bucket["number"]);
    if (!step.to) return rest;
    if (bucket["ids"].is_null()) {  // sealed: what is left of it is no longer known by name
      rest.from_at = at(step.to);
      rest.from_id = id(step.to);
      return rest;
    }
    rest.from_at = text_of(bucket["from_at"]);
    rest.from_id = text_of(bucket["from_id"]);
    const auto left = connection_.run(statement_for(sql::acts::ids_up_to, table_, {}),
                                      {text_of(bucket["ids"]), at(step.to), id(step.to)})[0];
    const auto ids = ids_from_json(left["ids"].as<std::string>());
    rest.noted = noted_ids(ids, table_.integer_id());
    rest.rows = ids.size();
    rest.newest_at = text_of(left["newest_at"]);
    return rest;
  }

  Connection& connection_;
  const Target& target_;
  const RewindPlace& place_;
  Table table_;
  std::optional<Position> row_;
};

}  // namespace

std::vector<RewindStep> plan_rewind(Connection& connection, const Target& target,
                                    const RewindPlace& place) {
  const auto lanes = read_lanes(connection, target.process.name);
  refuse_retired(lanes);
  return Rewind(connection, target, place).plan(lanes);
}

std::vector<RewindStep> rewind_lanes(Act& act, const Target& target, const RewindPlace& place,
                                     milliseconds settle_max, const ApproveRewind& approve) {
  if (!stored_reason(act.actor())) {
    throw Error("rewind needs a reason for the journal; nothing was changed: --reason \"…\"");
  }
  auto& connection = act.connection();
  Rewind rewind(connection, target, place);
  const auto planned = rewind.plan(read_lanes(connection, target.process.name));
  rewind.settle(act, planned, settle_max);
  const auto lanes = take_turn(act);
  connection.run(
      sql::acts::lock_retention);  // no row that is counted now is pruned before this is done
  if (lanes.size() != planned.size()) throw Error("the lanes were cut anew meanwhile: check again");
  if (approve) {
    std::vector<RewindStep> steps;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      steps.push_back(rewind.from_here(lanes[i], planned[i]));
    }
    approve(steps);
  }
  std::vector<RewindStep> done;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    done.push_back(rewind.carry_out(act, lanes[i], planned[i]));
  }
  act.commit();
  return done;
}

}  // namespace seriatim::postgres
