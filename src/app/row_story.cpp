#include "app/row_story.hpp"

#include <cstdint>

#include "app/log.hpp"
#include "app/reports.hpp"
#include "app/text.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

using postgres::LaneReport;
using State = RowReport::State;

std::string id_of(const RowReport& row) {
  return "row " + printable(row.id, id_bytes_max);
}

std::string lane_of(const RowReport& row) {
  return "lane " + std::to_string(row.lane->lane.lane);
}

std::string count(std::size_t number, const std::string& noun) {
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

std::string by_whom(const RowReport::Act& act) {
  return "by " + printable(act.who) + " at " + act.at +
         (act.why.empty() ? "" : ": " + printable(act.why));
}

// --- rows that wait -----------------------------------------------------------------------------

/// Why the row a lane is at does not move.
std::string stall(const RowReport& row) {
  const auto& report = *row.lane;
  switch (report.lane.state) {
    case LaneState::halted:
    case LaneState::retrying: return explanations(report.lane).front();
    case LaneState::paused:
      return row.act ? "paused " + by_whom(*row.act) : "paused by an operator";
    case LaneState::fenced: return "behind the fence: " + printable(report.lane.detail);
    case LaneState::standby:
      return report.wait ? printable(report.wait->text) : "nobody runs this process";
    default: break;
  }
  if (report.wait && report.wait->cause != postgres::LaneWait::Cause::handler) {
    return printable(report.wait->text);
  }
  if (report.called_for) return call_in_flight(report);
  if (report.barrier && report.barrier->reached)
    return "behind " + barrier_in_force(*report.barrier);
  if (row.ripens_in > milliseconds{0}) {
    return "younger than insert_latency, goes out in " + human_duration(row.ripens_in);
  }
  if (!report.lane.detail.empty()) return printable(report.lane.detail);
  return "nothing holds it, goes out at the next poll";
}

std::vector<std::string> ways_out(const LaneReport& report) {
  const auto& lane = report.lane;
  const auto process = shell_word(lane.process);
  const auto wait = report.wait ? std::vector<std::string>{printable(report.wait->remedy)}
                                : std::vector<std::string>{};
  switch (lane.state) {
    case LaneState::halted: return {explanations(lane).back()};
    case LaneState::paused: return {"go on with: seriatim resume " + process};
    case LaneState::retrying: return {"try at once: seriatim retry " + process};
    case LaneState::standby:
      return report.wait ? wait : std::vector<std::string>{"start it: seriatim run " + process};
    case LaneState::fenced: return explanations(lane);
    default: break;
  }
  if (report.wait) return wait;
  if (report.barrier && report.barrier->reached) return {barrier_remedy(report)};
  return {};
}

RowStory next_story(const RowReport& row) {
  return {id_of(row) + " is the one " + lane_of(row) + " is at: " + stall(row),
          ways_out(*row.lane),
          {}};
}

RowStory waiting_story(const RowReport& row) {
  if (!row.lane) return {id_of(row) + " cannot be read, so its lane is not known", {}, {}};
  const auto before = row.rows_before.value_or(0);
  const auto more = before >= LaneReport::lag_records_max ? " or more" : "";
  auto answer = id_of(row) + " waits behind " +
                (row.rows_before ? count(before, "row") + more : "an unknown number of rows") +
                " of " + lane_of(row);
  if (row.lane->next_id)
    answer += ", which is at row " + printable(*row.lane->next_id, id_bytes_max);
  return {answer + ": " + stall(row), ways_out(*row.lane), {}};
}

// --- rows behind, or outside --------------------------------------------------------------------

RowStory filtered_story(const RowReport& row) {
  if (row.ignored) {
    return {id_of(row) + " is left out: its event type \"" + printable(*row.ignored, id_bytes_max) +
                "\" is in source.ignore",
            {"taken out of `ignore`, rows of that type go out from the cursor on; what becomes of "
             "those "
             "behind it you decide then: seriatim adopt --source-changed"},
            {}};
  }
  return {
      id_of(row) + " is left out: `where` is " + (row.matches ? "false" : "NULL") + " for it",
      {"a row that is changed to match before the cursor reaches it is delivered; behind the "
       "cursor insert a new one",
       "if `where` is changed: what becomes of rows behind the cursor you decide then: seriatim "
       "adopt --source-changed"},
      {{"where", printable(row.where)}}};
}

RowStory unplaced_story(const RowReport& row) {
  const auto process = shell_word(row.process);
  return {id_of(row) +
              " has no place in the order, its created_at is NULL or infinite: its lane halts as "
              "BAD_PAYLOAD once nothing else waits",
          {"correct its created_at, or delete it, then: seriatim retry " + process},
          {}};
}

RowStory passed_story(const RowReport& row) {
  return {id_of(row) +
              " is behind the cursor, where the ledger keeps no ids: it was delivered, unless it "
              "came there later (stamped back, or changed to match `where`)",
          {"its receiver knows: the idempotency key is " + printable(row.process + ':' + row.id)},
          {}};
}

RowStory late_story(const RowReport& row) {
  RowStory story{
      id_of(row) + " came late: it is behind the cursor, neither delivered nor set aside", {}, {}};
  if (row.lane->lane.state == LaneState::halted) {
    story.answer += "; its lane is " + explanations(row.lane->lane).front();
    story.next_steps = ways_out(*row.lane);
  } else if (row.created_at_us.value_or(INT64_MIN) >= row.lane->late_from_us.value_or(INT64_MAX)) {
    story.answer += ", and goes out late: " + stall(row);
    story.next_steps = ways_out(*row.lane);
  } else {
    story.next_steps = {"the audit halts its lane with LATE_ROW, and then says what may be done"};
  }
  return story;
}

RowStory parked_story(const RowReport& row) {
  const auto& parked = *row.parked;
  const auto process = shell_word(row.process);
  const auto id = shell_word(row.id);
  const auto& retry_at = parked.head ? parked.retry_at : parked.first_retry_at;
  const bool held = !retry_at.empty();
  RowStory story{
      id_of(row) + (held ? " is held since " : " is parked since ") + parked.parked_at, {}, {}};
  if (parked.head) {
    story.answer +=
        ", after " + count(parked.attempts, "attempt") + ": " + printable(parked.detail);
  } else {
    story.answer += " behind row " + printable(parked.first_id.value_or("?"), id_bytes_max) +
                    " of its key, which failed: " + printable(parked.first_detail);
  }
  if (parked.redriven) {
    story.answer += "; it goes out again as soon as its lane can";
    if (row.lane) story.next_steps = ways_out(*row.lane);
    return story;
  }
  if (held) story.answer += "; tried again by itself, at " + retry_at;
  const auto* others = parked.holds_key ? ", with all of its key" : "";
  story.next_steps = {
      std::string("hand it over again") + others + ": seriatim parked redrive " + process + ' ' +
          id,
      "or set it aside for good: seriatim parked discard --reason TEXT " + process + ' ' + id};
  return story;
}

std::string deleted(const RowReport& row) {
  return row.in_table ? "" : ", and is no longer in the table";
}

// --- a row that cannot be seen ------------------------------------------------------------------

RowStory absent_story(const RowReport& row) {
  if (row.lane && row.lane->lane.row_id == row.id) {
    return {id_of(row) + ", at which " + lane_of(row) + " " + to_string(row.lane->lane.state) +
                ", is no longer in the table: it was deleted",
            {"let the lane go on: seriatim retry " + shell_word(row.process)},
            {}};
  }
  if (row.never_drawn) {
    return {id_of(row) + " was never inserted: the table's sequence has drawn no id above " +
                *row.last_drawn,
            {},
            {}};
  }
  if (row.writers.empty()) {
    return {id_of(row) +
                " is not in the table, and no open transaction writes the table: it was rolled "
                "back, deleted, or never inserted here",
            {},
            {}};
  }
  return {id_of(row) +
              " is not in the table: it was rolled back, deleted, never inserted, or is not "
              "committed yet; " +
              count(row.writers.size(), "open transaction") + " may still commit it",
          {"ask again when they have ended"},
          {}};
}

RowStory passed_over_story(const RowReport& row) {
  const auto act = row.act ? "`" + row.act->kind + "`, " + by_whom(*row.act)
                           : std::string("an act that is in the journal");
  return {id_of(row) + " was not delivered" + deleted(row) + ": it was passed over by " + act,
          {"to deliver it, and all rows after it once more: seriatim rewind " +
           shell_word(row.process) + " --to " + shell_word(row.id)},
          {}};
}

RowStory unknown_story(const RowReport& row) {
  RowStory story{
      id_of(row) + " is somewhere that cannot be read now: " + printable(row.not_read), {}, {}};
  for (const auto& report : row.lanes) {
    if (!report.wait) continue;
    story.next_steps.push_back("lane " + std::to_string(report.lane.lane) + " " +
                               wait_text(*report.wait));
  }
  if (story.next_steps.empty()) story.next_steps.push_back("ask again in a moment");
  return story;
}

RowStory state_story(const RowReport& row) {
  switch (row.state) {
    case State::absent: return absent_story(row);
    case State::filtered: return filtered_story(row);
    case State::unplaced: return unplaced_story(row);
    case State::delivered:
      return {id_of(row) + " was delivered" +
                  (row.journal_hidden ? ", or set aside by an operator (the journal knows)" : "") +
                  deleted(row),
              {},
              {}};
    case State::parked: return parked_story(row);
    case State::set_aside:
      if (row.passed_over) return passed_over_story(row);
      return {id_of(row) + " was set aside" + deleted(row) + ", " + by_whom(*row.act), {}, {}};
    case State::passed: return passed_story(row);
    case State::late: return late_story(row);
    case State::next: return next_story(row);
    case State::waiting: return waiting_story(row);
    case State::unknown: return unknown_story(row);
  }
  return {};
}

// --- evidence -----------------------------------------------------------------------------------

void add_row(RowStory& story, const RowReport& row) {
  const auto add = [&](const char* name, std::string fact) {
    story.evidence.emplace_back(name, std::move(fact));
  };
  if (row.created_at_us) add("created_at", rfc3339(*row.created_at_us));
  if (row.key) add("key", printable(*row.key, id_bytes_max));
  if (row.same_id > 1)
    add("same_id", count(row.same_id, "row") + " share this id; the latest is shown");
  if (!row.unreadable.empty())
    add("unreadable", printable(row.unreadable) + ": its lane halts at it");
  if (row.sequence) add("sequence", std::to_string(*row.sequence));
  if (row.noted) {
    add("ledger",
        "noted in lane " + std::to_string(row.noted->lane) +
            (row.noted->bucket.empty() ? ", in the open bucket"
                                       : ", in the bucket closed at " + row.noted->closed_at +
                                             " with sequence " + row.noted->bucket));
  }
  if (row.last_drawn) add("last_drawn", "the sequence's last id is " + *row.last_drawn);
  if (row.behind_cursor) add("hole", "the cursor has passed this id: it is not waited for");
  std::string writers;
  for (const auto& writer : row.writers)
    writers += (writers.empty() ? "" : ", ") + describe(writer);
  if (!writers.empty()) add("writers", std::move(writers));
}

void add_lane(RowStory& story, const LaneReport& report) {
  const auto& lane = report.lane;
  const auto position = lane.position ? "after row " + printable(lane.position->id, id_bytes_max) +
                                            " of " + rfc3339(lane.position->created_at_us)
                                      : std::string("before the first row");
  auto cursor = "lane " + std::to_string(lane.lane) + ' ' + position + ", sequence " +
                std::to_string(lane.sequence) + ", epoch " + std::to_string(lane.epoch);
  if (!report.updated_at.empty()) cursor += ", changed at " + report.updated_at;
  story.evidence.emplace_back("cursor", std::move(cursor));
  story.evidence.emplace_back("holder", short_holder(report));
  if (report.unread) story.evidence.emplace_back("unread", unread_text(*report.unread, &lane));
  if (report.barrier)
    story.evidence.emplace_back("barrier", "no row goes out beyond " +
                                               barrier_in_force(*report.barrier) + "; " +
                                               barrier_remedy(report));
}

}  // namespace

const char* to_string(State state) {
  switch (state) {
    case State::absent: return "absent";
    case State::filtered: return "filtered";
    case State::unplaced: return "unplaced";
    case State::delivered: return "delivered";
    case State::parked: return "parked";
    case State::set_aside: return "set_aside";
    case State::passed: return "passed";
    case State::late: return "late";
    case State::next: return "next";
    case State::waiting: return "waiting";
    case State::unknown: return "unknown";
  }
  return "?";
}

RowStory story_of(const RowReport& row) {
  auto story = state_story(row);
  add_row(story, row);
  if (row.lane) add_lane(story, *row.lane);
  if (row.act)
    story.evidence.emplace_back("journal", "entry " + row.act->number + ", " + by_whom(*row.act));
  if (row.journal_hidden) {
    story.evidence.emplace_back("journal",
                                "hidden from this role; docs/roles.sql grants it: GRANT SELECT ON "
                                "seriatim.journal");
  }
  return story;
}

std::string row_text(const RowReport& row) {
  const auto story = story_of(row);
  std::string text = printable(row.process) + ": " + story.answer + '\n';
  for (const auto& step : story.next_steps) text += "    " + step + '\n';
  for (const auto& [name, fact] : story.evidence) {
    text += "  " + name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + fact + '\n';
  }
  return text;
}

}  // namespace seriatim::app
