#include "postgres/admin/acts/operator_acts.hpp"

#include "postgres/admin/acts/act.hpp"
#include "postgres/admin/acts/parked_acts.hpp"
#include "postgres/admin/reports/parked_report.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/row_search.hpp"
#include "postgres/store/aside.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/store/recount.hpp"
#include "postgres/store/rows_ahead.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "postgres/wire/shell_word.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/acts.hpp"

namespace seriatim::postgres {

namespace {

/// The auditor searches for them once more.
void forget_late_rows(Act& act, const std::vector<LaneChange>& changes) {
  for (const auto& change : changes) {
    act.connection().run(sql::acts::forget_late,
                         {act.process(), std::to_string(change.lane), std::nullopt});
  }
}

/// An act on the state of every lane it applies to.
struct StateAct {
  const char* name;  ///< "pause"
  const char* done;  ///< "paused"
  bool (*applies)(Cursor::State);
  std::string (*why_not)(const std::string& lane, Cursor::State);
  Columns (*set)(const LaneRow& lane, const Actor& actor);
};

ActResult act_on_lanes(Act& act, const StateAct& on_state) {
  ActResult result;
  std::vector<LaneChange> changes;
  std::string why_not;
  for (const auto& lane : take_turn(act)) {
    const auto& cursor = lane.cursor;
    if (!on_state.applies(cursor.state)) {
      why_not += (why_not.empty() ? "" : "; ") + on_state.why_not(lane_name(lane), cursor.state);
      continue;
    }
    changes.push_back({lane.id.lane, on_state.set(lane, act.actor()), cursor.row_id});
    result.push_back(lane_name(lane) + ": " + on_state.done + " " + after_row(cursor.position));
  }
  if (result.empty()) throw Error("process \"" + act.process() + "\": " + why_not);
  act.change(on_state.name, changes);
  if (std::string_view(on_state.name) == "retry") forget_late_rows(act, changes);
  act.commit();
  if (!why_not.empty()) result.push_back(why_not);
  return result;
}

std::string why_no_pause(const std::string& lane, Cursor::State state) {
  if (state == Cursor::State::paused) return lane + " is paused already";
  return lane + " is halted already; `retry` or `skip` let it go on";
}

std::string why_no_resume(const std::string& lane, Cursor::State state) {
  if (state == Cursor::State::halted) {
    return lane + " is halted, not paused: `retry` tries its row again, `skip` sets it aside";
  }
  return lane + " is not paused";
}

std::string why_no_retry(const std::string& lane, Cursor::State state) {
  if (state == Cursor::State::paused) return lane + " is paused: `resume` lets it go on";
  return lane + " is neither halted nor waiting to retry";
}

// --- skip ---------------------------------------------------------------------------------------

bool failed_with(const LaneRow& lane, const std::string& id) {
  return lane.cursor.row_id == id && (lane.cursor.state == Cursor::State::halted ||
                                      lane.cursor.state == Cursor::State::retrying);
}

/// A row that was attempted was settled. Any other might still get an earlier neighbour, which a
/// cursor moved past it would never see: so might a late one that was given a new place.
void refuse_unsettled(Connection& connection, const Target& target, const Table& table,
                      const LaneRow& lane, const std::string& id) {
  if (failed_with(lane, id) && lane.cursor.reason != HaltReason::late_row) return;
  PollSource source(connection, table, target.source, lane.id);
  const auto round = source.poll(lane.cursor.position, 1);
  const bool settled = round.records.empty() ? round.unreadable && round.unreadable->row_id == id
                                             : round.records.front().id() == id;
  if (settled) return;
  std::string writers;
  for (const auto& blocker : round.blockers) {
    writers +=
        (writers.empty() ? ": " : ", ") + (blocker.pid == 0 ? "prepared '" + blocker.gid + "'"
                                                            : "pid " + std::to_string(blocker.pid));
  }
  throw Error("row " + id +
              " was not attempted yet, and an earlier row may still come from open "
              "transactions" +
              writers + "; nothing was skipped: try again when they have ended");
}

/// The cursor goes to `place`, and the row has the number after the cursor's.
std::string set_aside(Act& act, const LaneRow& lane, const std::string& row,
                      const std::optional<Position>& place,
                      const std::vector<std::string>& open_ids, std::int64_t created_at_us) {
  const auto sequence = std::to_string(lane.cursor.sequence + 1);
  auto set = starts_anew(lane);
  set_place(set, "position", place);
  set["sequence"] = sequence;
  set["set_aside"] = std::to_string(lane.cursor.set_aside + 1);
  set["epoch"] = next_epoch(lane);
  auto ahead = lane.cursor.ahead;
  std::erase_if(ahead.open, [&](const RowsAhead::Open& open) { return open.id == row; });
  set["ahead"] = json_of(ahead);
  act.change("skip", {{lane.id.lane, std::move(set), row}});
  const auto number = std::to_string(lane.id.lane);
  act.connection().run(sql::acts::note_in_open_bucket, {act.process(), number, array_text(open_ids),
                                                        timestamp_text(created_at_us)});
  act.connection().run(sql::acts::forget_late, {act.process(), number, row});
  return "row " + row + " (sequence " + sequence + ")";
}

std::string set_aside_next(Act& act, const LaneRow& lane, const WaitingRows::Row& row,
                           OrderBy order) {
  if (!row.created_at_us && order == OrderBy::created_at) {
    throw Error("row " + row.id +
                " has no place in the order, its created_at is infinite: correct "
                "or delete it, then `retry`");
  }
  // In id order a row without a time takes the cursor's: it decides nothing there.
  const auto& position = lane.cursor.position;
  const auto at = row.created_at_us.value_or(position ? position->created_at_us : 0);
  return lane_name(lane) + ": skipped " +
         set_aside(act, lane, row.id, Position{at, row.id}, {row.id}, at);
}

/// A row behind the cursor that halted the lane, or of a batch that goes on: the cursor stays, the
/// row is accounted for. Nothing if it is not late.
std::optional<std::string> set_aside_late(Act& act, const Table& table, const LaneRow& lane,
                                          const std::string& id) {
  const auto& position = lane.cursor.position;
  if (!position) return std::nullopt;
  Recount late_rows(act.connection(), table, lane.id);
  const auto late = late_rows.one(*position, id);
  if (!late) return std::nullopt;
  return lane_name(lane) + ": skipped late " +
         set_aside(act, lane, id, position, late_rows.note({*late}), late->created_at_us);
}

/// The row a lane is at, which is the one that `skip` sets aside.
struct FirstRow {
  WaitingRows::Row row;
  bool begun = false;  ///< the next one of a batch that goes on, so it is settled; else the first
                       ///< after the cursor
};

/// Rows that were parked are not the cursor's, also if they go out again.
std::optional<FirstRow> first_row(Connection& connection, WaitingRows& rows, const LaneRow& lane) {
  for (const auto& due : read_due_rows(connection, lane.id, batch_max).rows) {
    const bool ours = due.begun && !due.redriven && due.created_at_us;
    if (ours && rows.exists(due.id)) return FirstRow{{due.id, due.created_at_us}, true};
  }
  auto row = rows.first(lane.cursor.position);
  return row ? std::optional(FirstRow{std::move(*row)}) : std::nullopt;
}

/// One sentence on where a lane is, for who named another row.
std::string place_of(WaitingRows& rows, const LaneRow& lane, const std::optional<FirstRow>& first) {
  const auto& failed = lane.cursor.row_id;
  auto at = first ? lane_name(lane) + " is at row " + first->row.id
                  : lane_name(lane) + " has no row waiting";
  if (!failed || (first && first->row.id == *failed)) return at;
  if (lane.cursor.reason == HaltReason::late_row) return at + "; row " + *failed + " is late";
  if (rows.exists(*failed)) {
    return at + "; row " + *failed + ", which failed, is elsewhere now: `retry` suffices";
  }
  return at + "; row " + *failed + ", which failed, is no longer in the table: `retry` suffices";
}

/// `skip` would leave it behind the cursor, where the audit cannot judge it either.
[[noreturn]] void refuse_unjudged(Connection& connection, const Target& target, const Table& table,
                                  const LaneRow& lane, const SourceBroken& broken) {
  if (broken.reason() != HaltReason::bad_payload) throw SourceBroken(broken);
  RowSearch search(connection, table, lane.id);
  const auto unread = search.survey(lane.cursor.position).unread;
  if (!unread) throw SourceBroken(broken);
  throw Error("row " + unread->id.value_or("?") + " cannot be judged by `where` or `key`: " +
              unread->error + "; nothing was skipped: correct or delete the row, or correct the " +
              "expression, then: seriatim retry " + shell_word(target.process.name));
}

std::optional<std::string> skip_in(Act& act, const Target& target, const Table& table,
                                   const LaneRow& lane, const std::string& id,
                                   std::string& places) try {
  auto& connection = act.connection();
  if (failed_with(lane, id) || lane.cursor.reason == HaltReason::late_row) {
    if (auto late = set_aside_late(act, table, lane, id)) return late;
  }
  const auto& ahead = lane.cursor.ahead;
  const auto contains = [&](const std::vector<std::string>& ids) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  if (contains(ahead.set_aside)) {
    throw Error("row " + id + " is set aside already: seriatim parked list " +
                shell_word(target.process.name));
  }
  if (contains(ahead.done)) {
    throw Error("row " + id + " is delivered already; nothing was skipped");
  }
  WaitingRows rows(connection, table, lane.id);
  const auto first = first_row(connection, rows, lane);
  if (!first || first->row.id != id) {
    places += "; " + place_of(rows, lane, first);
    return std::nullopt;
  }
  if (!first->begun) {
    refuse_unsettled(connection, target, table, lane, id);
  } else if (auto late = set_aside_late(act, table, lane, id)) {
    return late;
  }
  return set_aside_next(act, lane, first->row, target.source.order_by);
} catch (const SourceBroken& broken) {
  refuse_unjudged(act.connection(), target, table, lane, broken);
}

}  // namespace

ActResult pause_lanes(Act& act) {
  const auto applies = [](Cursor::State state) {
    return state == Cursor::State::running || state == Cursor::State::retrying;
  };
  const auto set = [](const LaneRow&, const Actor& actor) {
    const auto why = stored_reason(actor);
    return Columns{{"state", "paused"},
                   {"reason", {}},
                   {"next_attempt_at", {}},
                   {"detail", "paused by " + name_of(actor) + (why ? ": " + *why : "")}};
  };
  return act_on_lanes(act, {"pause", "paused", applies, why_no_pause, set});
}

ActResult resume_lanes(Act& act) {
  const auto applies = [](Cursor::State state) { return state == Cursor::State::paused; };
  const auto set = [](const LaneRow& lane, const Actor&) { return tries_again(lane); };
  return act_on_lanes(act, {"resume", "resumed", applies, why_no_resume, set});
}

/// Attempts go on counting.
ActResult retry_lanes(Act& act) {
  const auto applies = [](Cursor::State state) {
    return state == Cursor::State::halted || state == Cursor::State::retrying;
  };
  const auto set = [](const LaneRow& lane, const Actor&) {
    auto again = tries_again(lane);
    again["crashes"] = "0";
    return again;
  };
  return act_on_lanes(act, {"retry", "tries again", applies, why_no_retry, set});
}

ActResult skip_row(Act& act, const Target& target, const std::string& id) {
  if (!stored_reason(act.actor())) {
    throw Error("skip needs a reason for the journal; nothing was skipped: --reason \"…\"");
  }
  auto& connection = act.connection();
  const auto table = resolve_table(connection, target.source);
  const auto lanes = take_turn(act);
  std::string places;
  for (const auto& lane : lanes) {
    if (const auto done = skip_in(act, target, table, lane, id, places)) {
      act.commit();
      return {*done};
    }
  }
  if (find_parked(connection, target.process.name, id)) {
    const auto words = shell_word(target.process.name) + ' ' + shell_word(id);
    throw Error("row " + id + " is parked, no lane is at it; nothing was changed: seriatim " +
                "parked discard --reason TEXT " + words + ", or seriatim parked redrive " + words);
  }
  throw Error("no lane of process \"" + target.process.name + "\" is at row " + id +
              ", so nothing was skipped" + places);
}

}  // namespace seriatim::postgres
