#include "postgres/admin/acts/repartition.hpp"

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "core/fence.hpp"
#include "postgres/admin/acts/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/position_lookup.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

using Place = std::optional<Position>;

std::string with_key_of(const std::string& seen, const std::string& noted) {
  auto identity = boost::json::parse(noted).as_object();
  identity["key"] = boost::json::parse(seen).at("key");
  return serialize(identity);
}

class Repartition {
 public:
  Repartition(Connection& connection, const Target& target, unsigned lanes, const Actor& actor,
              KeepWaiting keep_waiting)
      : connection_(connection),
        target_(target),
        lanes_(lanes),
        actor_(actor),
        keep_waiting_(std::move(keep_waiting)),
        table_(resolve_table(connection, target.source)),
        seen_(read_identity(connection, table_, target.source)) {}

  void refuse_other_key(std::size_t lanes) const {
    // The place of each lane was found by the key that is noted.
    const auto changes = read_identity_changes(connection_, target_.process.name, seen_);
    if (const auto mismatch = judge_identity(changes, static_cast<unsigned>(lanes))) {
      throw Error("process \"" + target_.process.name + "\": " + mismatch->what +
                  "; nothing was changed");
    }
  }

  /// At the furthest place a lane has delivered, or has tried and so given a number to.
  void set_barrier() {
    Act act(connection_, target_.process.name, actor_, keep_waiting_);
    const auto lanes = take_turn(act);
    Place furthest;
    for (const auto& lane : lanes) {
      furthest = later(furthest, lane.cursor.position);
      if (lane.cursor.attempts > 0) furthest = later(furthest, next_row(lane));
      if (lane.cursor.ahead.to) furthest = later(furthest, lane.cursor.ahead.to);
    }
    write_barrier(act, furthest, lanes);
  }

  /// False: there was none.
  bool remove_barrier() {
    Act act(connection_, target_.process.name, actor_);
    const auto lanes = take_turn(act);
    const bool was_set = std::any_of(lanes.begin(), lanes.end(), [](const auto& lane) {
      return lane.cursor.barrier.has_value();
    });
    if (was_set) write_barrier(act, std::nullopt, lanes);
    return was_set;
  }

  /// Rows up to the barrier that some lane has still to deliver, in words; empty: none.
  std::string left() {
    std::string text;
    for (const auto& lane : read_lanes(connection_, target_.process.name)) {
      const auto rows = rows_left(lane);
      if (rows == 0) continue;
      text += (text.empty() ? "" : ", ") + lane_name(lane) + ": " + std::to_string(rows) +
              (rows == 1 ? " row" : " rows") + state_of(lane);
    }
    return text;
  }

  /// Nothing when a lane has rows left after all, or began where there was nothing to set a barrier
  /// at: then there is now.
  std::optional<ActResult> cut() {
    {
      Act act(connection_, target_.process.name, actor_, keep_waiting_);
      const auto lanes = take_turn(act);
      const bool moved = std::any_of(lanes.begin(), lanes.end(), [&](const auto& lane) {
        const bool began = lane.cursor.position || lane.cursor.attempts > 0;
        return lane.cursor.barrier != barrier_ || rows_left(lane) > 0 || (!barrier_ && began);
      });
      if (!moved) return exchange(act, lanes);
    }
    if (!barrier_) set_barrier();
    return std::nullopt;
  }

 private:
  ActResult exchange(Act& act, const std::vector<LaneRow>& lanes) {
    const auto now = static_cast<unsigned>(lanes.size());
    for (const auto& lane : lanes) {  // so that the ledger of each reaches there
      if (!barrier_) break;
      connection_.run(sql::acts::close_bucket, {act.process(), std::to_string(lane.id.lane),
                                                at(barrier_), id(barrier_), "true"});
    }
    const auto shared = connection_.run(sql::acts::what_lanes_share, {act.process()})[0];
    identity_ = with_key_of(seen_, lanes.front().identity);
    const auto detail = serialize(boost::json::object{{"from", now}, {"to", lanes_}});
    std::vector<LaneChange> changes;
    for (const auto& lane : lanes) {
      const bool gone = lane.id.lane >= lanes_;
      auto set = gone ? Columns() : kept(lane, shared);
      changes.push_back({lane.id.lane, std::move(set), {}, detail, gone});
    }
    for (const auto& lane : new_lanes(now)) {
      auto set = lane_at_barrier(shared);
      set["sequence"] = set["ledger_start"] = lane["number"].as<std::string>();
      set["created_at"] = shared["created_at"].as<std::string>();
      changes.push_back({lane["lane"].as<unsigned>(), std::move(set), {}, detail});
    }
    act.change("lanes", changes);
    connection_.run(sql::acts::forget_begun, {act.process(), std::nullopt});
    connection_.run(sql::acts::move_late_rows, {act.process(), std::to_string(lanes_)});
    act.commit();
    return {"cut from " + std::to_string(now) + " into " + std::to_string(lanes_) + " lanes " +
                after_row(barrier_),
            "relays configured with another number are halted now: start them again with lanes = " +
                std::to_string(lanes_)};
  }

  pqxx::result new_lanes(unsigned now) {
    return connection_.run(sql::acts::numbers_used,
                           {target_.process.name, std::to_string(now), std::to_string(lanes_ - 1)});
  }

  Columns lane_at_barrier(const pqxx::row& shared) const {
    Columns set{{"lanes", std::to_string(lanes_)},
                {"identity", identity_},
                {"epoch", shared["epoch"].as<std::string>()},
                {"bucket_ids", "{}"},
                {"bucket_ranges", "{}"},
                {"bucket_newest_at", {}},
                {"ahead", {}}};
    const auto looked_at = shared["looked_at"];
    set["looked_at"] =
        looked_at.is_null() ? std::nullopt : std::optional(looked_at.as<std::string>());
    set_place(set, "position", barrier_);
    set_place(set, "bucket", barrier_);
    set_place(set, "barrier", std::nullopt);
    return set;
  }

  Columns kept(const LaneRow& lane, const pqxx::row& shared) const {
    auto set = lane_at_barrier(shared);
    for (const auto& [column, value] : starts_anew(lane)) set[column] = value;
    const auto& cursor = lane.cursor;
    const auto given = std::max(cursor.handed_to, cursor.ahead.numbered_to);
    if (cursor.ahead != RowsAhead{} && given > cursor.sequence) {  // they stay unused
      const auto unused = given - cursor.sequence;
      set["sequence"] = std::to_string(given);
      set["set_aside"] = std::to_string(cursor.set_aside + unused);
      set["redriven"] = std::to_string(lane.redriven + unused);
    }
    for (const auto* column : {"holder", "holder_pid", "holder_started", "lease_until"}) {
      set[column] = std::nullopt;
    }
    return set;
  }

  Place later(const Place& a, const Place& b) const {
    if (!a || !b) return a ? a : b;
    return precedes(*a, *b) ? b : a;
  }

  [[nodiscard]] bool precedes(const Position& a, const Position& b) const {
    return core::comes_after(b, a, target_.source.order_by);
  }

  Place next_row(const LaneRow& lane) {
    WaitingRows rows(connection_, table_, lane.id);
    const auto row = rows.first(lane.cursor.position);
    if (!row) return std::nullopt;
    return Position{row->created_at_us.value_or(0), row->id};
  }

  /// The epoch grows, so that a batch that reaches beyond is refused.
  void write_barrier(Act& act, const Place& place, const std::vector<LaneRow>& lanes) {
    std::vector<LaneChange> changes;
    for (const auto& lane : lanes) {
      changes.push_back({lane.id.lane, {{"epoch", next_epoch(lane)}}, id(place)});
      set_place(changes.back().set, "barrier", place);
    }
    act.change(place ? "barrier" : "barrier removed", changes);
    act.commit();
    barrier_ = place;
  }

  std::uint64_t rows_left(const LaneRow& lane) {
    PositionLookup places(connection_, table_, lane.id);
    return places.between(lane.cursor.position, barrier_);
  }

  static std::string state_of(const LaneRow& lane) {
    if (lane.cursor.state == Cursor::State::halted) return ", halted: `retry` or `skip`";
    if (lane.cursor.state == Cursor::State::paused) return ", paused: `resume`";
    return lane.holder_alive ? "" : ", nobody runs it";
  }

  Connection& connection_;
  const Target& target_;
  unsigned lanes_;
  const Actor& actor_;
  KeepWaiting keep_waiting_;
  Table table_;
  std::string seen_;  ///< the identity, read before any lock: a refusal would end the transaction
  Place barrier_;
  std::string identity_;  ///< of the lanes that come: cut by the key as it is configured now
};

}  // namespace

ActResult recut_lanes(Connection& connection, const Target& target, unsigned lanes,
                      const Actor& actor, const KeepWaiting& act_waits,
                      const KeepWaiting& keep_waiting) {
  const auto now = read_lanes(connection, target.process.name).size();
  Repartition repartition(connection, target, lanes, actor, act_waits);
  if (now == lanes) {
    if (repartition.remove_barrier())
      return {"the barrier was taken away; the lanes stay as they are"};
    throw Error("process \"" + target.process.name + "\" has " + std::to_string(lanes) +
                " lanes already; nothing was changed");
  }
  if (lanes > 1 && target.source.key.empty()) {
    throw Error("process \"" + target.process.name +
                "\" has no key, so every row belongs to lane 0; nothing was changed: set `key` in "
                "[process.source] first");
  }
  repartition.refuse_other_key(now);
  repartition.set_barrier();
  try {
    for (;;) {
      const auto left = repartition.left();
      if (left.empty()) {
        if (const auto done = repartition.cut()) return *done;
      } else if (!keep_waiting(left)) {
        break;
      }
    }
  } catch (const ActRefused&) {
    repartition.remove_barrier();
    throw;
  }
  repartition.remove_barrier();
  return {"given up; the barrier was taken away and the lanes stay as they were"};
}

}  // namespace seriatim::postgres
