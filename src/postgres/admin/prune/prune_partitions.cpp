#include "postgres/admin/prune/prune_partitions.hpp"

#include <algorithm>

#include "core/crash_point.hpp"
#include "core/prune_pace.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/admin.hpp"
#include "sql/check.hpp"
#include "sql/prune.hpp"

namespace seriatim::postgres {

namespace {

constexpr unsigned tries_max = 8;  ///< some ten seconds

}  // namespace

PrunePartitions::PrunePartitions(Connection& connection, const Table& table,
                                 const PruneReaders& readers, const PruneChoice& choice,
                                 PruneReport& report, const PrunePause& pause)
    : connection_(connection),
      table_(table),
      readers_(readers),
      choice_(choice),
      report_(report),
      pause_(pause) {}

bool PrunePartitions::run() {
  const auto newest =
      connection_.run(fill(sql::check::id_span, {{"id", table_.id}, {"table", table_.name}}))[0][0];
  const auto partitions = connection_.run(
      sql::prune::partitions,
      {table_.oid, table_.id_name, fold_identifier(table_.created_at),
       timestamp_text(report_.older_than_us),
       table_.integer_id() && !newest.is_null() ? std::optional(newest.as<std::string>())
                                                : std::nullopt});
  for (const auto& row : partitions) {
    if (!row["leaf"].as<bool>()) continue;
    const Partition partition{row["name"].as<std::string>(), row["oid"].as<std::string>()};
    const auto contents = read_contents(partition);
    if (report_.interrupted) return false;
    if (!contents || (contents->rows == 0 && row["by_id"].as<bool>())) continue;
    if (!row["owned"].as<bool>()) {
      report_.notes.push_back("partition " + partition.name +
                              " could go as a whole, but only its owner may drop it: its rows are "
                              "deleted one by one");
      continue;
    }
    if (choice_.dry_run) {
      report_.partitions.push_back(partition.name);
    } else if (!take_away(partition, *contents)) {
      return false;
    }
  }
  return true;
}

std::optional<PrunePartitions::Contents> PrunePartitions::read_contents(
    const Partition& partition) {
  auto part = table_;
  part.name = partition.name;
  PruneReport aside;  // the check of the whole table reports what stays
  aside.older_than_us = report_.older_than_us;
  PruneJudge judge(connection_, part, readers_, choice_, aside);
  Contents contents;
  for (std::optional<Position> after;;) {
    const auto segment = judge.judge(after);
    if (!segment.last) return contents;
    if (segment.due.size() != segment.checked) return std::nullopt;
    for (const auto& row : segment.due) {
      contents.rows += 1;
      contents.hash ^= row.hash;
      for (const auto& note : row.notes) {
        auto& [rows, hash] = contents.noted[{*note.process, note.lane, note.number}];
        rows += 1;
        hash ^= row.hash;
      }
    }
    after = segment.last;
    report_.interrupted = !pause_(report_.rows, std::chrono::microseconds{0});
    if (report_.interrupted) return std::nullopt;
  }
}

bool PrunePartitions::take_away(const Partition& partition, const Contents& contents) {
  core::PrunePace pace(1);
  for (;;) {
    const auto outcome = try_once(partition, contents);
    if (outcome == Try::changed) return true;
    if (outcome == Try::done) {
      report_.rows += contents.rows;
      report_.partitions.push_back(partition.name);
      return true;
    }
    const auto pause = pace.refused();
    if (pace.refusals() == tries_max) {
      report_.notes.push_back("partition " + partition.name + " lies below every cursor, but " +
                              in_the_way(partition) +
                              ": nothing was done to it; the next prune tries again");
      return false;
    }
    report_.interrupted = !pause_(report_.rows, pause);
    if (report_.interrupted) return false;
  }
}

/// Under a lock that lets no late row in, what was checked is checked again. Only the drop itself
/// asks for the lock that inserts and reads of the whole table wait for.
PrunePartitions::Try PrunePartitions::try_once(const Partition& partition,
                                               const Contents& contents) {
  const auto attempt = [&](const std::string& statement) {
    const auto answer = connection_.attempt(statement, {});
    const auto* refusal = std::get_if<Connection::Refusal>(&answer);
    if (refusal == nullptr) return true;
    connection_.rollback();
    if (is_lock_trouble(refusal->sqlstate)) return false;
    throw Error("partition " + partition.name + " could not be dropped: " + refusal->message +
                " (SQLSTATE " + refusal->sqlstate + "); nothing was done to it");
  };
  try {
    connection_.begin(sql::prune::hold_retention);
    if (!attempt(fill(sql::prune::lock_partition, {{"partition", partition.name}})))
      return Try::locked;
    const auto state =
        connection_.run(fill(sql::prune::partition_state, {{"partition", partition.name},
                                                           {"id", table_.id},
                                                           {"below", readers_.below()},
                                                           {"free", readers_.free()}}))[0];
    if (state["rows"].as<std::uint64_t>() != contents.rows ||
        state["hash"].as<std::int64_t>() != contents.hash || !state["free"].as<bool>()) {
      connection_.rollback();
      return Try::changed;
    }
    note(contents);
    const auto statement =
        fill(choice_.detach ? sql::prune::detach_partition : sql::prune::drop_partition,
             {{"table", table_.name}, {"partition", partition.name}});
    if (!attempt(statement)) return Try::locked;
    core::crash_point("during drop");
    connection_.commit();
    return Try::done;
  } catch (const SessionLost& lost) {
    if (!is_lock_trouble(lost.sqlstate())) throw;
    connection_.rollback();
    return Try::locked;
  }
}

void PrunePartitions::note(const Contents& contents) {
  std::vector<std::string> processes, lanes, numbers, rows, hashes;
  for (const auto& [bucket, sum] : contents.noted) {
    processes.push_back(std::get<0>(bucket));
    lanes.push_back(std::get<1>(bucket));
    numbers.push_back(std::get<2>(bucket));
    rows.push_back(std::to_string(sum.first));
    hashes.push_back(std::to_string(sum.second));
  }
  connection_.run(fill(sql::prune::partition_left, {{"leave_ledger", sql::prune::leave_ledger}}),
                  {array_text(processes), array_text(lanes), array_text(numbers), array_text(rows),
                   array_text(hashes)});
}

std::string PrunePartitions::in_the_way(const Partition& partition) {
  const auto rows = connection_.run(sql::prune::in_the_way, {table_.oid, partition.oid});
  if (rows.empty()) return "others' locks were in the way each time it was tried";
  return "pid " + std::string(rows[0]["pid"].c_str()) + " (" + rows[0]["application_name"].c_str() +
         ") has been using the table for " + std::string(rows[0]["seconds"].c_str()) + " s";
}

std::vector<std::string> create_partitions(Connection& connection) {
  const auto row = connection.run(sql::prune::may_create_partitions)[0];
  if (!row["planned"].as<bool>()) return {};
  if (!row["may_create"].as<bool>()) {
    throw Error(
        "this role may not have the next partitions of seriatim.outbox created: GRANT "
        "EXECUTE ON FUNCTION seriatim.create_partitions() TO it");
  }
  std::vector<std::string> names;
  for (const auto& created : connection.run(sql::prune::create_partitions)) {
    names.push_back("seriatim." + created["name"].as<std::string>());
  }
  return names;
}

}  // namespace seriatim::postgres

std::vector<std::string> seriatim::postgres::create_partitions(const std::string& url) {
  Connection connection(url, {.application = "seriatim/partitions"});
  if (!connection.run(sql::admin::migration_table_exists)[0][0].as<bool>()) return {};
  return create_partitions(connection);
}
