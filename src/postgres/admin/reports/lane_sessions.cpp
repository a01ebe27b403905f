#include "postgres/admin/reports/lane_sessions.hpp"

#include <algorithm>
#include <utility>

#include "core/lane.hpp"
#include "postgres/reader/fence_reader.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reports.hpp"

namespace seriatim::postgres {

namespace {

milliseconds time_in(const pqxx::row& row, const char* column) {
  return milliseconds{std::max<std::int64_t>(0, row[column].as<std::int64_t>(0))};
}

LaneSession session_from(const pqxx::row& row) {
  LaneSession session;
  session.open = !row["pid"].is_null();
  session.state = row["state"].as<std::string>("");
  session.wait_type = row["wait_event_type"].as<std::string>("");
  session.wait_event = row["wait_event"].as<std::string>("");
  session.in_state = time_in(row, "for_ms");
  session.in_call = row["in_call"].as<bool>(false);
  session.called = time_in(row, "called_ms");
  session.heard = time_in(row, "heard_ms");
  session.auditing = row["auditing"].as<bool>();
  return session;
}

/// The lanes whose blockers are asked for, by what names the waiter in lock_queue.sql.
struct Waiters {
  std::map<std::string, unsigned> by_pid;
  std::map<std::string, unsigned> by_transaction;  ///< that has the cursor row locked

  [[nodiscard]] bool none() const { return by_pid.empty() && by_transaction.empty(); }
};

std::string names_of(const std::map<std::string, unsigned>& waiters) {
  std::vector<std::string> names;
  names.reserve(waiters.size());
  for (const auto& [name, lane] : waiters) names.push_back(name);
  return array_text(names);
}

/// Through a pooler the holder has no session that is known, but its name.
bool is_own_session(const Blocker& blocker, const std::string& process, unsigned lane) {
  return blocker.application == "seriatim/" + process + "/" + std::to_string(lane);
}

void add_blockers(Connection& connection, const std::string& process, const Waiters& waiters,
                  std::map<unsigned, LaneSession>& sessions) {
  if (waiters.none()) return;
  const auto rows = connection.run(sql::reports::lock_queue,
                                   {names_of(waiters.by_pid), names_of(waiters.by_transaction)});
  for (const auto& row : rows) {
    const auto waiter = row["waiter"].as<std::string>();
    const auto space = waiter.find(' ') + 1;
    const auto name = waiter.substr(space);
    if (waiter.starts_with("pid ")) {
      auto& session = sessions[waiters.by_pid.at(name)];
      session.queue.push_back(blocker_from(row));
      session.relations = row["relations"].as<std::string>("");
      continue;
    }
    const auto lane = waiters.by_transaction.at(name);
    auto blocker = blocker_from(row);
    if (!is_own_session(blocker, process, lane)) sessions[lane].lockers.push_back(blocker);
  }
}

std::string seconds_text(milliseconds time) {
  if (time < milliseconds{1'000}) return std::to_string(time.count()) + " ms";
  return std::to_string(time.count() / 1000) + " s";
}

std::string list_of(const std::vector<Blocker>& blockers) {
  auto text = words(blockers.front());
  if (blockers.size() > 1) text += ", and behind it " + words(blockers[1]);
  if (blockers.size() > 2) text += " and " + std::to_string(blockers.size() - 2) + " more";
  return text;
}

std::string how_to_end(const Blocker& blocker) {
  if (blocker.pid == 0) {
    return "end it, in the same database, with COMMIT PREPARED or ROLLBACK PREPARED";
  }
  return "goes on when it ends, or now: pg_terminate_backend(" + std::to_string(blocker.pid) +
         "), which undoes its work";
}

LaneWait cursor_locked(const LaneSession& session) {
  const auto& first = session.lockers.front();
  return {LaneWait::Cause::cursor_locked, first.age,
          "its cursor row is locked by " + list_of(session.lockers) +
              ": nobody can take the lane or settle a row",
          how_to_end(first), session.lockers};
}

LaneWait waits_for_lock(const LaneSession& session) {
  const auto what = session.relations.empty() ? "a lock" : "a lock on " + session.relations;
  return {LaneWait::Cause::lock, session.in_state,
          "its statement waits for " + what + ", held by " + list_of(session.queue),
          how_to_end(session.queue.front()), session.queue};
}

LaneWait waits_for_standby(const LaneSession& session) {
  return {LaneWait::Cause::standby,
          session.in_state,
          "its COMMIT waits for a synchronous standby (synchronous_standby_names), and none "
          "answers",
          "bring the standby back; or, if it is given up, take it out of "
          "synchronous_standby_names and reload the server",
          {}};
}

LaneWait works_long(const LaneSession& session) {
  const auto at = session.wait_type.empty()
                      ? std::string(" of computing")
                      : " (" + session.wait_type + ": " + session.wait_event + ")";
  return {LaneWait::Cause::statement,
          session.in_state,
          "its statement has run for " + seconds_text(session.in_state) + at,
          "see what the server is busy with: its disks, an index that is missing (seriatim check)",
          {}};
}

LaneWait waits_for_handler(const LaneRow& lane, const LaneSession& session,
                           const ProcessConfig& config) {
  const auto called = "its handler was called " + seconds_text(session.called) + " ago";
  const auto deadline = seconds_text(config.handler_deadline);
  if (session.called <= config.handler_deadline + core::Lane::call_begin_max) {
    return {LaneWait::Cause::handler,
            session.called,
            called + " and has not answered yet",
            "its deadline (handler_deadline) is " + deadline + " after the call",
            {}};
  }
  return {LaneWait::Cause::handler,
          session.called,
          called + ", and its deadline of " + deadline + " is over: it ignores it, or " +
              lane.holder + " is frozen",
          "see the log of " + lane.holder + "; end that program with kill -9, and another goes on",
          {}};
}

LaneWait says_nothing(const LaneRow& lane, milliseconds since) {
  return {LaneWait::Cause::silent,
          since,
          lane.holder + " has said nothing for " + seconds_text(since) +
              ", though its session is open: the program is frozen (SIGSTOP, a debugger), cannot "
              "write, or the network to it is cut",
          "another instance takes the lane once the lease is over; to hurry, end that program with "
          "kill -9",
          {}};
}

LaneWait is_hidden(const LaneRow& lane, milliseconds since) {
  return {LaneWait::Cause::silent,
          since,
          lane.holder + " has not renewed its lease for " + seconds_text(since) +
              "; this role may not see what its session does",
          "ask as a role with pg_read_all_stats",
          {}};
}

/// A lane at rest asks for rows, and renews its lease, at least this often.
milliseconds silence_max(const LaneRow& lane) {
  return std::max(core::Lane::hinted_interval, lane.lease.length / 3) + named_after;
}

/// What is seen of a session that is at a statement.
std::optional<LaneWait> wait_of_statement(const LaneRow& lane, const LaneSession& session,
                                          const ProcessConfig& config) {
  if (session.in_state < named_after) return std::nullopt;
  if (session.wait_type == "Lock") {
    if (session.queue.empty()) return std::nullopt;  // it has the lock by now
    return waits_for_lock(session);
  }
  if (session.wait_event == "SyncRep") return waits_for_standby(session);
  if (session.in_call) return waits_for_handler(lane, session, config);  // that runs a statement
  if (session.wait_type == "Client") return says_nothing(lane, session.in_state);
  return works_long(session);
}

std::optional<LaneWait> wait_of_session(const LaneRow& lane, const LaneSession& session,
                                        const ProcessConfig& config) {
  if (session.state == "active") return wait_of_statement(lane, session, config);
  if (session.in_call) {
    if (session.called < named_after) return std::nullopt;
    return waits_for_handler(lane, session, config);
  }
  if (session.auditing || !session.open) return std::nullopt;
  const bool hidden = session.state.empty();
  const auto silent = hidden ? session.heard : session.in_state;
  if (silent <= silence_max(lane)) return std::nullopt;
  return hidden ? is_hidden(lane, silent) : says_nothing(lane, silent);
}

}  // namespace

const char* to_string(LaneWait::Cause cause) {
  switch (cause) {
    case LaneWait::Cause::cursor_locked: return "cursor_locked";
    case LaneWait::Cause::lock: return "lock";
    case LaneWait::Cause::standby: return "standby";
    case LaneWait::Cause::statement: return "statement";
    case LaneWait::Cause::handler: return "handler";
    case LaneWait::Cause::silent: return "silent";
    case LaneWait::Cause::disk_full: return "disk_full";
  }
  return "?";
}

std::string words(const Blocker& blocker) {
  const auto seconds = seconds_text(blocker.age);
  if (blocker.pid == 0) return "prepared transaction '" + blocker.gid + "', " + seconds + " old";
  std::string text = "pid " + std::to_string(blocker.pid);
  if (!blocker.application.empty()) text += " " + blocker.application;
  if (!blocker.state.empty()) text += ", " + blocker.state;
  if (blocker.age > milliseconds{0}) text += ", " + seconds + " old";
  return text;
}

std::map<unsigned, LaneSession> read_sessions(Connection& connection, const std::string& process) {
  std::map<unsigned, LaneSession> sessions;
  Waiters waiters;
  for (const auto& row : connection.run(sql::reports::sessions, {process})) {
    const auto lane = row["lane"].as<unsigned>();
    const auto& session = sessions.insert_or_assign(lane, session_from(row)).first->second;
    if (session.wait_type == "Lock") waiters.by_pid.emplace(row["pid"].as<std::string>(), lane);
    if (!row["locked_by"].is_null()) {
      waiters.by_transaction.emplace(row["locked_by"].as<std::string>(), lane);
    }
  }
  add_blockers(connection, process, waiters, sessions);
  return sessions;
}

std::optional<LaneWait> wait_of(const LaneRow& lane, const LaneSession& session,
                                const ProcessConfig& config) {
  const auto& lockers = session.lockers;
  // A role that may not see how old a transaction is does not see its state either.
  if (!lockers.empty() && (lockers[0].state.empty() || lockers[0].age >= named_after)) {
    return cursor_locked(session);
  }
  const bool moves =
      lane.cursor.state == Cursor::State::running || lane.cursor.state == Cursor::State::retrying;
  if (!moves || !(session.open || lane.holder_alive)) return std::nullopt;
  return wait_of_session(lane, session, config);
}

}  // namespace seriatim::postgres
