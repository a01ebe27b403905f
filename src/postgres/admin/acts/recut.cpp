#include "postgres/admin/acts/recut.hpp"

#include <algorithm>

#include "core/fence.hpp"
#include "postgres/admin/acts/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/table/lane_places.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

using Place = std::optional<Position>;

std::optional<std::string> at(const Place& place) {
  return place ? std::optional(timestamp_text(place->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const Place& place) {
  return place ? std::optional(place->id) : std::nullopt;
}

class Recut {
 public:
  Recut(Connection& connection, const Target& target, unsigned lanes, const Actor& actor)
      : connection_(connection),
        target_(target),
        lanes_(lanes),
        actor_(actor),
        table_(resolve_table(connection, target.source)) {}

  /// At the furthest place a lane has delivered, or has tried and so given a number to.
  void set_barrier() {
    const auto lanes = lock_lanes(connection_, target_.process.name);
    Place furthest;
    for (const auto& lane : lanes) {
      furthest = later(furthest, lane.cursor.position);
      if (lane.cursor.attempts > 0) furthest = later(furthest, next_row(lane));
    }
    stand_at(furthest, lanes);
  }

  /// False: there was none.
  bool remove_barrier() {
    const auto lanes = lock_lanes(connection_, target_.process.name);
    const bool stands = std::any_of(lanes.begin(), lanes.end(), [](const auto& lane) {
      return lane.cursor.barrier.has_value();
    });
    if (stands) stand_at(std::nullopt, lanes);
    connection_.rollback();
    return stands;
  }

  /// Rows up to the barrier that some lane has still to deliver, in words; empty: none.
  std::string left() {
    std::string text;
    for (const auto& lane : read_lanes(connection_, target_.process.name)) {
      const auto rows = rows_left(lane);
      if (rows == 0) continue;
      text += (text.empty() ? "" : ", ") + lane_name(lane) + ": " + std::to_string(rows) +
              (rows == 1 ? " row" : " rows") + standing(lane);
    }
    return text;
  }

  /// Nothing when a lane has rows left after all, or began where there was nothing to set a barrier
  /// at: then there is now.
  std::optional<ActResult> cut() {
    const auto lanes = lock_lanes(connection_, target_.process.name);
    const bool moved = std::any_of(lanes.begin(), lanes.end(), [&](const auto& lane) {
      const bool began = lane.cursor.position || lane.cursor.attempts > 0;
      return lane.cursor.barrier != barrier_ || rows_left(lane) > 0 || (!barrier_ && began);
    });
    if (moved) {
      connection_.rollback();
      if (!barrier_) set_barrier();
      return std::nullopt;
    }
    connection_.run(sql::acts::recut_lanes,
                    {target_.process.name, std::to_string(lanes_), at(barrier_), id(barrier_),
                     stored_who(actor_), stored_reason(actor_)});
    connection_.commit();
    return ActResult{"cut from " + std::to_string(lanes.size()) + " into " +
                         std::to_string(lanes_) + " lanes " +
                         (barrier_ ? "after row " + barrier_->id : "before the first row"),
                     "relays configured with another number stand still now: start them again "
                     "with lanes = " +
                         std::to_string(lanes_)};
  }

 private:
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

  void stand_at(const Place& place, const std::vector<LaneRow>& lanes) {
    for (const auto& lane : lanes) {
      change(connection_, sql::acts::set_barrier, lane, actor_, {at(place), id(place)});
    }
    connection_.commit();
    barrier_ = place;
  }

  std::uint64_t rows_left(const LaneRow& lane) {
    LanePlaces places(connection_, table_, lane.id);
    return places.between(lane.cursor.position, barrier_);
  }

  static std::string standing(const LaneRow& lane) {
    if (lane.cursor.state == Cursor::State::halted) return ", halted: `retry` or `skip`";
    if (lane.cursor.state == Cursor::State::paused) return ", paused: `resume`";
    return lane.holder_alive ? "" : ", nobody runs it";
  }

  Connection& connection_;
  const Target& target_;
  unsigned lanes_;
  const Actor& actor_;
  Table table_;
  Place barrier_;
};

}  // namespace

ActResult recut_lanes(Connection& connection, const Target& target, unsigned lanes,
                      const Actor& actor,
                      const std::function<bool(const std::string&)>& keep_waiting) {
  const auto now = read_lanes(connection, target.process.name).size();
  Recut recut(connection, target, lanes, actor);
  if (now == lanes) {
    if (recut.remove_barrier()) return {"the barrier was taken away; the lanes stay as they are"};
    throw Error("process \"" + target.process.name + "\" has " + std::to_string(lanes) +
                " lanes already; nothing was changed");
  }
  if (lanes > 1 && target.source.key.empty()) {
    throw Error("process \"" + target.process.name +
                "\" has no key, so every row belongs to lane 0; nothing was changed: set `key` in "
                "[process.source] first");
  }
  recut.set_barrier();
  for (;;) {
    const auto left = recut.left();
    if (left.empty()) {
      if (const auto done = recut.cut()) return *done;
    } else if (!keep_waiting(left)) {
      recut.remove_barrier();
      return {"given up; the barrier was taken away and the lanes stay as they were"};
    }
  }
}

}  // namespace seriatim::postgres
