#include "postgres/reader/fence_reader.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "core/crash_point.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// Of lock_holders.sql, which always answers one.
struct HolderRow {
  bool same_table = false;
  bool policed = false;
  std::optional<std::string> virtualtransaction;
  std::optional<std::string> pid;
};

HolderRow holder_row(const pqxx::row& row) {
  const auto text = [&](const char* column) {
    return row[column].is_null() ? std::nullopt : std::optional(row[column].as<std::string>());
  };
  return {row["same_table"].as<bool>(), row["policed"].as<bool>(), text("virtualtransaction"),
          text("pid")};
}

HolderRow holder_row(const Answer& answer, std::size_t row) {
  return {answer.value(row, "same_table") == "t", answer.value(row, "policed") == "t",
          answer.value(row, "virtualtransaction"), answer.value(row, "pid")};
}

/// With its pid, because virtual transaction ids begin again when the server does, which a session
/// through a pooler may live through: an ordinary transaction must not pass for the prepared one,
/// or the dead one, that had its number.
std::string transaction_of(const HolderRow& row) {
  return row.pid ? *row.virtualtransaction + '@' + *row.pid : *row.virtualtransaction;
}

void refuse_another_table(const HolderRow& row, const Table& table) {
  if (!row.same_table) {
    throw SourceBroken(HaltReason::source_changed,
                       "table " + table.name + " was dropped, renamed or replaced");
  }
  if (row.policed != table.policed) {
    throw SourceBroken(HaltReason::source_changed,
                       "row-level security of table " + table.name + " was switched " +
                           (table.policed ? "off" : "on") + " for this role");
  }
}

/// False where the row only says that there are none.
bool take(const HolderRow& row, const Table& table, std::vector<core::Holder>& found) {
  refuse_another_table(row, table);
  if (!row.virtualtransaction) return false;
  found.push_back({transaction_of(row), !row.pid});
  return true;
}

}  // namespace

Blocker blocker_from(const pqxx::row& row) {
  Blocker blocker;
  blocker.pid = row["pid"].as<int>(0);
  blocker.gid = row["gid"].as<std::string>("");
  blocker.application = row["application_name"].as<std::string>("");
  blocker.user = row["usename"].as<std::string>("");
  blocker.state = row["state"].as<std::string>("");
  blocker.age = milliseconds{row["age_ms"].as<std::int64_t>(0)};
  blocker.statement_age = milliseconds{row["statement_age_ms"].as<std::int64_t>(0)};
  blocker.ours = blocker.application.rfind("seriatim/", 0) == 0;
  return blocker;
}

std::vector<core::Holder> read_lock_holders(Connection& connection, const Table& table) {
  std::vector<core::Holder> found;
  core::crash_point("before", "locks");
  const auto rows = connection.run_prepared(sql::reader::lock_holders, {table.name, table.oid});
  core::crash_point("after", "locks");
  for (const auto& row : rows) take(holder_row(row), table, found);
  return found;
}

/// A tenth of the wall of a poll is saved by one round trip for clock and locks
/// (bench/profiles.md). Where a poll is stopped between them, for a test, the clock is read by
/// then, and the rows are not.
ClockAndHolders read_clock_and_holders(Connection& connection, const Table& table,
                                       const std::optional<Statement>& rows) {
  std::vector<Statement> statements{{sql::wire::clock, {}},
                                    {sql::reader::lock_holders, {table.name, table.oid}}};
  if (rows) statements.push_back(*rows);
  std::function<void(std::size_t)> before;
  if (core::has_crash_points) {
    before = [](std::size_t number) {
      core::crash_point(number == 1 ? "before" : "after", "locks");
    };
  }
  auto answers = connection.run_together(statements, before);
  if (!rows) core::crash_point("after", "locks");
  ClockAndHolders found{std::stoll(answers[0].value(0, "clock_us").value()), {}, std::nullopt};
  for (std::size_t row = 0; row < answers[1].size(); ++row) {
    take(holder_row(answers[1], row), table, found.holders);
  }
  if (rows) found.rows = std::move(answers[2]);
  return found;
}

ClockAndHolders read_clock_and_transactions(Connection& connection) {
  ClockAndHolders found{connection.run_prepared(sql::wire::clock, {})[0][0].as<OrderKey>(), {}, {}};
  for (const auto& row : connection.run_prepared(sql::reader::virtual_transactions, {})) {
    found.holders.push_back({row["transaction"].as<std::string>(), row["prepared"].as<bool>()});
  }
  return found;
}

Writers read_writers(Connection& connection, const Table& table) {
  static const auto statement =
      fill(sql::reader::writers, {{"lock_holders", sql::reader::lock_holders}});
  Writers found;
  for (const auto& row : connection.run_prepared(statement, {table.name, table.oid})) {
    if (take(holder_row(row), table, found.holders)) found.blockers.push_back(blocker_from(row));
  }
  return found;
}

bool WriterNames::all_known(const std::set<std::string>& transactions) const {
  const auto known = std::count_if(
      known_.holders.begin(), known_.holders.end(),
      [&](const core::Holder& holder) { return transactions.contains(holder.transaction); });
  return static_cast<std::size_t>(known) == transactions.size();
}

std::vector<Blocker> WriterNames::of(const std::set<std::string>& transactions,
                                     Clock::time_point now) {
  if (transactions.empty()) return {};
  if (now >= read_at_ + known_for || !all_known(transactions)) {
    known_ = read_writers(connection_, table_);
    read_at_ = now;
  }
  const auto since = std::chrono::duration_cast<milliseconds>(now - read_at_);
  std::vector<Blocker> blockers;
  for (std::size_t i = 0; i < known_.holders.size(); ++i) {
    if (!transactions.contains(known_.holders[i].transaction)) continue;
    auto blocker = known_.blockers[i];
    if (blocker.age > milliseconds{0}) blocker.age += since;
    if (blocker.statement_age > milliseconds{0}) blocker.statement_age += since;
    blockers.push_back(std::move(blocker));
  }
  return blockers;
}

}  // namespace seriatim::postgres
