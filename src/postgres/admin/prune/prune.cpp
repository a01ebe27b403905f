#include "postgres/admin/prune/prune.hpp"

#include <algorithm>

#include "core/crash_point.hpp"
#include "core/prune_pace.hpp"
#include "postgres/admin/acts/act.hpp"
#include "postgres/admin/prune/prune_judge.hpp"
#include "postgres/admin/prune/prune_partitions.hpp"
#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/prune.hpp"
#include "sql/table.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// Below the server's deadlock_timeout (1 s): in a deadlock it is always we who give up.
constexpr milliseconds lock_timeout{200};
constexpr std::string_view outbox = "seriatim.outbox";
constexpr unsigned refusals_max = 4;     ///< of one batch, some three seconds; then the next one
constexpr unsigned passed_over_max = 3;  ///< in a row: then it is not about single rows

/// One table, from its oldest row on.
class Pruner {
 public:
  Pruner(Connection& connection, const ConfiguredReader& first,
         const std::vector<ConfiguredReader>& configured, const PruneChoice& choice,
         const Actor& actor, const PrunePause& pause)
      : connection_(connection),
        table_(first.table),
        readers_(connection, table_, configured),
        choice_(choice),
        actor_(actor),
        pause_(pause),
        pace_(choice.batch_rows),
        judge_(connection, table_, readers_, choice, report_) {
    report_.table = table_.name;
    report_.readers = readers_.names();
    for (const auto& reader : readers_.all()) {
      if (reader.configured != nullptr) continue;
      report_.notes.push_back(
          "process " + reader.process +
          " is not in this configuration: nothing from its cursors on is deleted, but what is "
          "deleted does not leave its ledger, and its audit will call it deleted");
    }
    delete_ = fill(sql::prune::rows, {{"table", table_.name},
                                      {"id", table_.id},
                                      {"id_type", table_.id_type},
                                      {"created_at", table_.created_at},
                                      {"below", readers_.below()},
                                      {"free", readers_.free()},
                                      {"leave_ledger", sql::prune::leave_ledger}});
  }

  PruneReport run() {
    const auto clock = connection_.run(sql::wire::clock)[0][0].as<std::int64_t>();
    report_.older_than_us = clock - microseconds(choice_.older_than).count();
    if (!choice_.dry_run) begin();
    if (partitioned() && !partitions()) return finish();
    std::optional<Position> after;
    bool held = false;
    while (!report_.interrupted) {
      const auto segment = judge_.judge(after);
      held = held || segment.held;
      if (!segment.last) break;
      take(segment.due);
      if (!segment.any_below) break;
      after = segment.last;
    }
    if (held) report_.held_by = readers_.lowest();
    return finish();
  }

 private:
  PruneReport finish() {
    if (!choice_.dry_run) move_horizons();
    if (journalled_) note("pruned", report_.rows);
    return std::move(report_);
  }

  /// Drops the buckets of which no row is left. Locked ones wait for the next prune.
  void move_horizons() {
    for (const auto& reader : readers_.all()) {
      if (reader.configured != nullptr) move_horizon(reader);
    }
  }

  void move_horizon(const Reader& reader) try {
    connection_.begin(sql::prune::hold_retention);
    const auto moved =
        connection_.attempt(statement_for(sql::prune::horizon, reader.configured->table, {}),
                            {reader.process, timestamp_text(report_.older_than_us),
                             std::to_string(reader.lookback.count())});
    const auto* refusal = std::get_if<Connection::Refusal>(&moved);
    if (refusal == nullptr) return connection_.commit();
    connection_.rollback();
    if (is_lock_trouble(refusal->sqlstate)) return;
    throw Error("the ledger of process " + reader.process + " could not be shortened: " +
                refusal->message + " (SQLSTATE " + refusal->sqlstate + "); " +
                std::to_string(report_.rows) + " rows were pruned, and the next prune tries again");
  } catch (const SessionLost& lost) {
    if (!is_lock_trouble(lost.sqlstate())) throw;
    connection_.rollback();
  }

  bool partitioned() {
    return connection_.run(sql::prune::rights, {table_.oid})[0]["partitioned"].as<bool>();
  }

  bool partitions() {
    if (!choice_.dry_run && table_.name == outbox) {
      try {
        report_.created = create_partitions(connection_);
      } catch (const Error& failed) {
        connection_.rollback();
        report_.notes.push_back(std::string("no partitions were created: ") + failed.what());
      }
    }
    PrunePartitions partitions(connection_, table_, readers_, choice_, report_, pause_);
    const bool done = partitions.run();
    if (!choice_.dry_run && !report_.partitions.empty()) begin_journal();
    return done;
  }

  void begin_journal() {
    if (!std::exchange(journalled_, true)) note("prune", std::nullopt);
  }

  void begin() {
    const auto rights = connection_.run(sql::prune::rights, {table_.oid})[0];
    if (!rights["may_delete"].as<bool>()) {
      const std::string role = rights["role"].c_str();
      throw Error("role " + role + " may not delete from " + table_.name +
                  "; nothing was pruned: GRANT DELETE ON " + table_.name + " TO " + role);
    }
    for (const auto& reader : readers_.all()) {
      if (reader.configured == nullptr) continue;
      connection_.run(sql::prune::close_buckets,
                      {reader.process, timestamp_text(report_.older_than_us)});
    }
  }

  void take(const std::vector<PrunableRow>& due) {
    if (choice_.dry_run) {
      report_.rows += due.size();
      report_.interrupted = !pause_(report_.rows, microseconds{0});
      return;
    }
    auto next = due.begin();
    while (next != due.end() && !report_.interrupted) {
      const auto rows = std::min<std::ptrdiff_t>(pace_.rows(), due.end() - next);
      next = batch(next, next + rows) ? next + rows : next;
    }
  }

  using Rows = std::vector<PrunableRow>::const_iterator;

  /// False where others' locks were in the way: then once more, after a while.
  bool batch(Rows first, Rows last) {
    begin_journal();
    const auto began = Clock::now();
    const auto gone = delete_rows(first, last);
    const auto time = std::chrono::duration_cast<microseconds>(Clock::now() - began);
    const auto pause = gone ? pace_.took(time) : pace_.refused();
    if (!gone && pace_.refusals() % refusals_max == 0) return pass_over(last - first, pause);
    if (gone) {
      report_.rows += *gone;
      report_.changed += static_cast<std::uint64_t>(last - first) - *gone;
      report_.batches += 1;
      report_.longest_us =
          std::max<std::uint64_t>(report_.longest_us, static_cast<std::uint64_t>(time.count()));
    }
    report_.interrupted = !pause_(report_.rows, pause);
    return gone.has_value();
  }

  /// Rows locked for long are left to the next prune.
  bool pass_over(std::ptrdiff_t rows, microseconds pause) {
    if (pace_.refusals() >= refusals_max * passed_over_max) {
      throw Error("rows of " + table_.name + " are locked by others for long; " +
                  std::to_string(report_.rows) + " rows were pruned: try again later");
    }
    report_.changed += static_cast<std::uint64_t>(rows);
    report_.interrupted = !pause_(report_.rows, pause);
    return true;
  }

  static Params parameters(Rows first, Rows last) {
    std::vector<std::string> ids;
    std::vector<std::string> noted, processes, lanes, numbers;
    std::int64_t from = INT64_MAX;
    std::int64_t to = INT64_MIN;
    for (auto row = first; row != last; ++row) {
      ids.push_back(row->id);
      from = std::min(from, row->created_at_us);
      to = std::max(to, row->created_at_us);
      for (const auto& note : row->notes) {
        noted.push_back(row->id);
        processes.push_back(*note.process);
        lanes.push_back(note.lane);
        numbers.push_back(note.number);
      }
    }
    return {array_text(ids),       timestamp_text(from), timestamp_text(to), array_text(noted),
            array_text(processes), array_text(lanes),    array_text(numbers)};
  }

  std::optional<std::uint64_t> delete_rows(Rows first, Rows last) {
    const auto params = parameters(first, last);
    try {
      connection_.begin(sql::prune::hold_retention);
      core::crash_point("before prune");
      const auto answer = connection_.attempt(delete_, params);
      if (const auto* refusal = std::get_if<Connection::Refusal>(&answer)) {
        connection_.rollback();
        if (is_lock_trouble(refusal->sqlstate)) return std::nullopt;
        throw Error("rows of " + table_.name + " could not be deleted: " + refusal->message +
                    " (SQLSTATE " + refusal->sqlstate + "); " + std::to_string(report_.rows) +
                    " rows were pruned before");
      }
      core::crash_point("during prune");
      connection_.commit();
      return std::get<pqxx::result>(answer)[0][0].as<std::uint64_t>();
    } catch (const SessionLost& lost) {
      if (!is_lock_trouble(lost.sqlstate())) throw;
      connection_.rollback();
      return std::nullopt;
    }
  }

  void note(const std::string& act, std::optional<std::uint64_t> rows) {
    const auto detail = connection_.run(sql::prune::detail,
                                        {table_.name, timestamp_text(report_.older_than_us),
                                         rows ? std::optional(std::to_string(*rows)) : std::nullopt,
                                         array_text(report_.partitions)})[0][0];
    connection_.run(sql::prune::journal, {array_text(report_.readers), act, stored_who(actor_),
                                          stored_reason(actor_), detail.as<std::string>()});
  }

  Connection& connection_;
  const Table& table_;
  PruneReaders readers_;
  const PruneChoice& choice_;
  const Actor& actor_;
  const PrunePause& pause_;
  core::PrunePace pace_;
  PruneReport report_;
  PruneJudge judge_;
  std::string delete_;
  bool journalled_ = false;
};

/// The configured process by which each table to be pruned is read; one a table.
std::vector<const ConfiguredReader*> chosen(Connection& connection,
                                            const std::vector<ConfiguredReader>& configured,
                                            const PruneChoice& choice) {
  std::optional<std::string> oid;
  if (choice.table) {
    const auto found = connection.run(sql::table::table_identity, {*choice.table});
    if (found.empty()) throw Error("there is no table " + *choice.table + " in this database");
    oid = found[0]["oid"].as<std::string>();
  }
  std::vector<const ConfiguredReader*> readers;
  for (const auto& one : configured) {
    if (choice.process && one.target->process.name != *choice.process) continue;
    if (oid && one.table.oid != *oid) continue;
    const bool known = std::any_of(readers.begin(), readers.end(), [&](const auto* other) {
      return other->table.oid == one.table.oid;
    });
    if (!known) readers.push_back(&one);
  }
  if (readers.empty()) {
    throw Error("no process of this configuration reads table " + choice.table.value_or("?") +
                ", so nobody can say what of it was delivered; nothing was pruned");
  }
  return readers;
}

}  // namespace

std::vector<PruneReport> prune(const std::string& url, const std::vector<Target>& configured,
                               const PruneChoice& choice, const Actor& actor,
                               const PrunePause& pause) {
  Connection connection(url, {.application = "seriatim/prune",
                              .statement_timeout = milliseconds{600'000},
                              .lock_timeout = lock_timeout});
  std::vector<ConfiguredReader> readers;
  for (const auto& target : configured) {
    readers.push_back({&target, resolve_table(connection, target.source)});
  }
  std::vector<PruneReport> reports;
  for (const auto* one : chosen(connection, readers, choice)) {
    reports.push_back(Pruner(connection, *one, readers, choice, actor, pause).run());
    if (reports.back().interrupted) break;
  }
  return reports;
}

}  // namespace seriatim::postgres
