#include "app/reports.hpp"

#include <algorithm>
#include <sstream>

#include "app/log.hpp"
#include "app/output.hpp"
#include "app/text.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

using postgres::Finding;
using postgres::LaneReport;

constexpr std::size_t payload_bytes_max = 4'000;

std::string position(const LaneStatus& lane) {
  return lane.position ? printable(lane.position->id, id_bytes_max) : "before the first row";
}

std::string halt_explanation(const LaneStatus& lane) {
  std::string text = "halted";
  if (lane.reason) text += std::string(" ") + to_string(*lane.reason);
  if (lane.row_id) text += " at row " + printable(*lane.row_id, id_bytes_max);
  return text + (lane.detail.empty() ? "" : ": " + printable(lane.detail));
}

std::string halt_remedy(const LaneStatus& lane) {
  const auto process = shell_word(lane.process);
  const auto names = [&](const char* command) {
    return lane.detail.find(command) != std::string::npos;
  };
  // The reason alone does not say which command helps; some of them are refused.
  if (names("seriatim adopt ") || names("seriatim rewind ") || names("seriatim lanes ")) {
    return "do as it says; or undo the change, then: seriatim retry " + process;
  }
  if (lane.reason == HaltReason::source_changed || lane.reason == HaltReason::config_changed) {
    return "fix what it names, then: seriatim retry " + process +
           "; or, if the change was meant: seriatim adopt --reason TEXT " + process;
  }
  if (!lane.row_id) return "fix what it names, then: seriatim retry " + process;
  const auto id = shell_word(printable(*lane.row_id, id_bytes_max));
  const auto* guard = lane.row_id->rfind('-', 0) == 0 ? " -- " : " ";
  return "fix the row or its receiver, then: seriatim retry " + process +
         "; or set the row aside: seriatim skip --reason TEXT" + guard + process + ' ' + id;
}

/// What ends the wait for a transaction. Waiting is always right: nothing is lost by it.
std::string remedy(const Blocker& blocker) {
  if (blocker.pid == 0) {
    return "end it, in the same database, with COMMIT PREPARED or ROLLBACK PREPARED";
  }
  const auto pid = std::to_string(blocker.pid);
  if (blocker.ours) {
    return "self-block: a handler, a delivered_at_column or a prune of ours wrote this table and "
           "has not committed; if it does not end, pg_terminate_backend(" +
           pid + ")";
  }
  return "it may still commit an earlier row; goes on when it ends, or now: pg_terminate_backend(" +
         pid + "), which undoes its work";
}

/// The first line is the remedy; each further line is another one.
std::string remedy_lines(const std::string& remedy) {
  std::string text;
  std::istringstream lines(remedy);
  for (std::string line; std::getline(lines, line);) {
    text += (text.empty() ? "           fix: " : "           ") + printable(line, 1'000) + '\n';
  }
  return text;
}

}  // namespace

std::vector<std::string> explanations(const LaneStatus& lane) {
  std::vector<std::string> lines;
  if (lane.state == LaneState::halted) {
    lines = {halt_explanation(lane), halt_remedy(lane)};
  } else if (lane.state == LaneState::paused) {
    lines = {"paused" + (lane.detail.empty() ? "" : ": " + printable(lane.detail)) +
             "; go on with: seriatim resume " + shell_word(lane.process)};
  } else if (lane.state == LaneState::retrying) {
    lines = {"attempt " + std::to_string(lane.attempts) + " failed" +
             (lane.row_id ? " at row " + printable(*lane.row_id, id_bytes_max) : "") + ": " +
             printable(lane.detail) + "; again in " + human_duration(lane.retry_in)};
  }
  for (const auto& blocker : lane.blockers) {
    lines.push_back("waits for " + describe(blocker) + "; " + remedy(blocker));
  }
  return lines;
}

namespace {

/// "host:pid:random" without what only distinguishes runs.
std::string short_name(const std::string& holder) {
  return printable(holder.substr(0, holder.rfind(':')), id_bytes_max);
}

std::string instances_note(const std::vector<postgres::InstanceReport>& instances) {
  auto text = std::to_string(instances.size()) +
              (instances.size() == 1 ? " instance runs it:" : " instances share its lanes:");
  for (const auto& one : instances) {
    text += (&one == &instances.front() ? " " : ", ") + short_name(one.holder) + " holds " +
            std::to_string(one.held);
  }
  return text;
}

}  // namespace

std::string short_holder(const LaneReport& report) {
  if (report.holder.empty()) return "nobody";
  const auto name = short_name(report.holder);
  return report.holder_alive ? name : name + " (gone)";
}

std::string call_in_flight(const LaneReport& report) {
  return "its handler was called with row " +
         printable(report.next_id.value_or("?"), id_bytes_max) + ' ' +
         human_duration(report.called_for.value_or(milliseconds{0})) + " ago, attempt " +
         std::to_string(report.lane.attempts) + ", and has not answered yet";
}

std::string wait_text(const postgres::LaneWait& wait) {
  return "waits: " + printable(wait.text) + "; " + printable(wait.remedy);
}

std::string barrier_in_force(const LaneReport::Barrier& barrier) {
  auto text = "the barrier at row " + printable(barrier.position.id, id_bytes_max);
  if (!barrier.who.empty()) text += ", set by " + printable(barrier.who) + " at " + barrier.since;
  return text;
}

std::string barrier_remedy(const LaneReport& report) {
  return "`seriatim lanes` exchanges the lanes once all have delivered up to there; if it was "
         "interrupted, run it again, or take the barrier away: seriatim lanes " +
         shell_word(report.lane.process) + ' ' + std::to_string(report.barrier->lanes);
}

std::string unread_text(const postgres::UnreadRow& unread, const LaneStatus* lane) {
  const std::string code = to_string(unread.reason);
  const bool at_a_row = unread.reason == HaltReason::bad_payload;
  auto text = (unread.id  ? "row " + printable(*unread.id, id_bytes_max) + " cannot be read: "
               : at_a_row ? "a row that waits cannot be read: "
                          : "its rows cannot be read: ") +
              printable(unread.error) + "; ";
  if (lane && lane->state == LaneState::halted && (!unread.id || lane->row_id == unread.id)) {
    return text + "the lane is halted and hands nothing over";
  }
  if (!at_a_row) return text + "the lane hands nothing over and halts with " + code;
  const auto before = unread.rows_before;
  if (before && *before > 0) {
    text += std::to_string(*before) + (*before == 1 ? " row goes" : " rows go") +
            " out before it, then ";
  }
  return text + "the lane halts there with " + code +
         ". Correct the row, or the expression that fails on it";
}

std::string late_order_note(const Blocker& open) {
  return "late rows may go out after rows of transactions that began once theirs had committed, "
         "while a transaction is open for so long: " +
         describe(open);
}

std::string lag_text(const LaneReport& report) {
  if (report.without_cursor || !report.not_read.empty()) return "unknown";
  const auto age = report.lag_age ? ", " + human_duration(*report.lag_age) : std::string();
  if (!report.lag_records) return "unknown" + age;
  const auto records = *report.lag_records;
  if (records == 0) return "none";
  const auto late = report.late_records.value_or(0);
  return std::to_string(std::min(records, LaneReport::lag_records_max)) +
         (report.lag_more ? "+" : "") + (records == 1 ? " row" : " rows") +
         (late > 0 ? " (" + std::to_string(late) + " late)" : "") + age;
}

/// While rows wait: perhaps for it.
std::string limits_note(const LaneReport& report) {
  if (report.lag_records == 0U) return "";
  const auto text_of = [](const RateLimit& limit, const char* what) {
    const auto unit = limit.per == std::chrono::seconds(1)   ? std::string("second")
                      : limit.per == std::chrono::minutes(1) ? std::string("minute")
                      : limit.per == std::chrono::hours(1)   ? std::string("hour")
                                                             : human_duration(limit.per);
    return limit.rows == 0 ? "" : std::to_string(limit.rows) + " a " + unit + what;
  };
  const auto all = text_of(report.rate_limit, " (rate_limit)");
  const auto of_key = text_of(report.key_rate_limit, " of each key (key_rate_limit)");
  if (all.empty() && of_key.empty()) return "";
  return "no more rows go out than " + all + (all.empty() || of_key.empty() ? "" : " and ") +
         of_key;
}

std::vector<std::string> notes_of(const LaneReport& report) {
  const auto& lane = report.lane;
  auto notes = explanations(lane);
  if (report.without_cursor) notes.resize(1);  // says itself what to do
  if (report.unread) notes.push_back(unread_text(*report.unread, &lane));
  if (!report.not_read.empty()) notes.push_back(printable(report.not_read));
  if (report.wait && report.wait->cause == postgres::LaneWait::Cause::handler &&
      report.called_for) {
    notes.push_back(call_in_flight(report) + "; " + printable(report.wait->remedy));
  } else if (report.wait) {
    notes.push_back(wait_text(*report.wait));
  } else if (lane.state == LaneState::standby && !report.without_cursor) {
    notes.push_back("nobody holds it: start `seriatim run " + shell_word(lane.process) +
                    "`, or see the log of an instance that should hold it");
  }
  if (lane.in_flight + report.done_ahead > 0) {
    const auto calls = lane.in_flight == 1 ? " call is in flight or begins next; "
                                           : " calls are in flight or begin next; ";
    notes.push_back(std::to_string(lane.in_flight) + calls + std::to_string(report.done_ahead) +
                    (report.done_ahead == 1 ? " row" : " rows") +
                    " after the cursor done or set aside");
  }
  if (report.audit_age > LaneReport::audit_age_max) {
    notes.push_back("late rows: its last complete audit was " + human_duration(*report.audit_age) +
                    " ago; a row behind the cursor would not have been found since");
  }
  if (const auto& barrier = report.barrier) {
    notes.push_back((barrier->reached ? "its rows wait behind " : "delivers up to ") +
                    barrier_in_force(*barrier) + "; " + barrier_remedy(report));
  }
  if (auto limits = limits_note(report); !limits.empty()) notes.push_back(std::move(limits));
  if (lane.lane > 0) return notes;  // what follows is the process's
  if (report.long_transaction) notes.push_back(late_order_note(*report.long_transaction));
  if (!report.instances.empty()) notes.push_back(instances_note(report.instances));
  if (report.instances_hidden) {
    notes.emplace_back(
        "which instances run it is unknown: this role may not read seriatim.instance");
  }
  if (report.parked.rows > 0) notes.push_back(parked_note(lane.process, report.parked));
  if (report.parked.held_keys > 0) notes.push_back(held_note(lane.process, report.parked));
  return notes;
}

std::string lanes_table(const LaneReports& lanes, bool terminal) {
  Table table({"PROCESS", "LANE", "STATE", "LAG", "AT ROW", "SEQUENCE", "HOLDER"});
  for (const auto& report : lanes) {
    const auto& lane = report.lane;
    table.row({printable(lane.process), std::to_string(lane.lane), to_string(lane.state),
               lag_text(report), position(lane), std::to_string(lane.sequence),
               short_holder(report)});
    for (auto& note : notes_of(report)) table.note(std::move(note));
  }
  return table.text(terminal);
}

std::string parked_note(const std::string& process, const postgres::ParkedCount& count) {
  auto text = std::to_string(count.rows) + (count.rows == 1 ? " row is" : " rows are") +
              " parked, behind " + std::to_string(count.heads) + " that failed";
  if (count.redriven > 0) text += ", " + std::to_string(count.redriven) + " to go out again";
  return text + ", the first at " + count.since + ": seriatim parked list " + shell_word(process);
}

std::string held_note(const std::string& process, const postgres::ParkedCount& count) {
  return std::to_string(count.held_keys) + (count.held_keys == 1 ? " key is" : " keys are") +
         " held, with " + std::to_string(count.held_rows) +
         (count.held_rows == 1 ? " row" : " rows") +
         (count.held_since.empty() ? "" : ", the first since " + count.held_since) +
         "; tried again by itself: seriatim parked list " + shell_word(process);
}

std::string parked_text(const std::string& process, const std::vector<postgres::ParkedRow>& rows,
                        const postgres::ParkedCount& count, bool terminal) {
  if (rows.empty())
    return count.rows + count.held_rows == 0 ? "nothing is parked\n"
                                             : "no row of that key is parked\n";
  Table table({"ID", "KEY", "PARKED AT", "ATTEMPTS", "STATE", "WHY"});
  for (const auto& row : rows) {
    const auto state = row.redriven           ? "goes out again"
                       : !row.head            ? "queues"
                       : row.retry_at.empty() ? "failed"
                                              : "held until " + row.retry_at;
    table.row({printable(row.position.id, id_bytes_max),
               row.key ? printable(*row.key, id_bytes_max) : "", row.parked_at,
               std::to_string(row.attempts), state, printable(row.detail)});
  }
  auto text = table.text(terminal);
  if (rows.size() < count.rows + count.held_rows) {
    const auto note = count.rows > 0 ? parked_note(process, count) : held_note(process, count);
    text += "… " + note + " --rows N\n";
  }
  return text;
}

std::string plan_text(const std::vector<postgres::PlannedChange>& plan) {
  std::string text;
  for (const auto& change : plan) {
    text += printable(change.process) + ": " + printable(change.what, 1'000) + '\n';
    if (!change.command.empty()) text += "    " + printable(change.command, 1'000) + '\n';
  }
  return text;
}

std::string findings_text(const std::string& process, const Findings& findings) {
  std::string text = process + '\n';
  for (const auto& finding : findings) {
    const char* word = finding.severity == Finding::Severity::ok        ? "  ok       "
                       : finding.severity == Finding::Severity::warning ? "  warning  "
                                                                        : "  REFUSED  ";
    text += word + printable(finding.what, 1'000) + '\n';
    text += remedy_lines(finding.remedy);
  }
  return text;
}

std::string rows_table(const postgres::Peeked& peeked, bool payload, bool terminal) {
  const auto& rows = peeked.rows;
  const auto end = peeked.unread ? unread_text(*peeked.unread, nullptr) + '\n' : std::string();
  if (rows.empty()) return peeked.unread ? end : "nothing waits\n";
  Table table({"ID", "CREATED AT", "SETTLED", "KEY", "TYPE", "PAYLOAD"});
  for (const auto& [record, settled, queues] : rows) {
    table.row({printable(record.id(), id_bytes_max), rfc3339(record.position.created_at_us),
               queues        ? "queues"
               : record.late ? "late"
               : settled     ? "yes"
                             : "no",
               printable(record.key.value_or("-"), id_bytes_max),
               printable(record.event_type.value_or("-"), id_bytes_max),
               record.payload ? human_bytes(record.payload->size()) : "NULL"});
    if (payload && record.payload) table.note(printable(*record.payload, payload_bytes_max));
  }
  return table.text(terminal) + end;
}

bool Preview::sound() const {
  return !unread &&
         std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.problem.empty(); });
}

std::string unrendered_text(const PreviewedRow& row, OnPoison on_poison) {
  const auto* fate = on_poison == OnPoison::halt          ? "its lane will halt"
                     : on_poison == OnPoison::dead_letter ? "it will be parked"
                                                          : "it will be parked, and its key";
  return "row " + printable(row.row.record.id(), id_bytes_max) +
         " cannot be rendered: " + printable(row.problem) + "; " + fate;
}

namespace {

std::string lines_of(const std::vector<Header>& headers) {
  std::string text;
  for (const auto& [name, value] : headers) {
    text += "    " + printable(name) + ": " + printable(value, payload_bytes_max) + '\n';
  }
  return text;
}

std::string request_text(const PreviewedRow& row) {
  const auto& record = row.row.record;
  auto text = "row " + printable(record.id(), id_bytes_max) + ", sequence " +
              std::to_string(record.sequence) + ", epoch " + std::to_string(record.epoch) +
              ", attempt " + std::to_string(record.attempt);
  if (record.late) text += ", late";
  if (!row.row.settled) text += ", not settled: an earlier row can still appear";
  const auto& [envelope, headers, body] = *row.request;
  text += '\n' + lines_of(envelope);
  if (!headers.empty()) text += '\n' + lines_of(headers);
  if (body) text += "\n    " + printable(*body, payload_bytes_max) + '\n';
  return text + '\n';
}

}  // namespace

std::string preview_text(const Preview& preview) {
  std::string text;
  for (const auto& row : preview.rows) {
    if (row.request) {
      text += request_text(row);
    } else if (row.row.queues) {
      text += "row " + printable(row.row.record.id(), id_bytes_max) +
              " is not sent: its key is parked, so it will be set aside\n\n";
    } else {
      text += unrendered_text(row, preview.on_poison) + "\n\n";
    }
  }
  if (preview.unread) return text + unread_text(*preview.unread, nullptr) + '\n';
  return text.empty() ? "nothing waits\n" : text;
}

namespace {

std::string place(const std::optional<Position>& position) {
  if (!position) return "before the first row";
  return "after row " + printable(position->id, id_bytes_max) + " (" +
         rfc3339(position->created_at_us) + ")";
}

std::string consequence(const postgres::RewindStep& step, bool done) {
  if (step.from == step.to) return done ? "stays" : "would stay";
  const auto rows = std::to_string(step.rows) + (step.rows == 1 ? " row " : " rows ");
  const std::string verb = done ? "" : "would ";
  if (step.forward) return rows + verb + (done ? "set aside" : "be set aside, never delivered");
  return rows + (done ? "to be delivered again" : "would be delivered again");
}

}  // namespace

std::string rewind_text(const std::string& process, const std::vector<postgres::RewindStep>& steps,
                        bool done) {
  std::string text;
  for (const auto& step : steps) {
    text += process + " lane " + std::to_string(step.lane) + ": from " + place(step.from) + " to " +
            place(step.to) + ": " + consequence(step, done) + " (sequence " +
            std::to_string(step.sequence_from) + " -> " + std::to_string(step.sequence_to) + ")\n";
    if (step.pruned > 0) {
      text += "  " + std::to_string(step.pruned) +
              " rows there were pruned and cannot be delivered again\n";
    }
    if (step.newer > 0) {
      text += "  " + std::to_string(step.newer) +
              " rows up to there were created after the delivery of their ids; they count as "
              "delivered now. If they were not, go back to the first of them\n";
    }
  }
  return done ? text : text + "nothing was changed; with --yes and --reason TEXT it is done\n";
}

}  // namespace seriatim::app
