// Does something cut old rows, whether they were read or not?
#include <algorithm>

#include "postgres/admin/check/check_table.hpp"
#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/waiting_rows.hpp"
#include "seriatim/error.hpp"
#include "sql/check.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

/// Nothing where the relation is not there, is not ours to read, or is of another shape.
pqxx::result query(TableCheck& check, const std::string& relation, std::string_view sql) {
  try {
    if (!check.connection.run(sql::check::may_read_relation, {relation})[0][0].as<bool>())
      return {};
    return check.connection.run(sql, {check.oid});
  } catch (const SourceBroken&) {
    return {};
  }
}

/// "the oldest row not read yet is 125 min old"
std::string oldest_unread(TableCheck& check) {
  std::optional<std::int64_t> oldest;
  try {
    const auto table = resolve_table(check.connection, check.target.source);
    for (const auto& lane : all_lanes(check.connection, check.target)) {
      WaitingRows rows(check.connection, table, lane.id);
      const auto first = rows.first(lane.cursor.position);
      if (first && first->created_at_us)
        oldest = std::min(oldest.value_or(*first->created_at_us), *first->created_at_us);
    }
  } catch (const SourceBroken&) {  // reported by the other checks
    return "which rows were not read yet could not be seen";
  }
  if (!oldest) return "every row is read now";
  const auto now = check.connection.run(sql::wire::clock)[0][0].as<std::int64_t>();
  const auto minutes = std::max<std::int64_t>(0, (now - *oldest) / 60'000'000);
  return "the oldest row not read yet is " + std::to_string(minutes) + " min old";
}

/// Where our own partitions were not created in time rows go to the default one.
void check_partitions(TableCheck& check) {
  const auto rows = query(check, "seriatim.partitioning", sql::check::partitions);
  if (rows.empty()) return;
  const auto ahead = rows[0]["created_ahead"].as<int>();
  if (ahead == 0) {
    check.findings.warn(
        "no partition of " + check.name +
            " is created for the time after the current one: rows then go to its "
            "default partition, from which they are pruned one by one",
        "seriatim prune, or seriatim run with EXECUTE on seriatim.create_partitions()");
  } else {
    check.findings.ok("partitions: " + std::to_string(ahead) + " ahead, " +
                      rows[0]["step"].as<std::string>());
  }
  if (rows[0]["default_used"].as<bool>()) {
    check.findings.warn("the default partition of " + check.name +
                            " holds rows: their partitions were not created in time",
                        "seriatim prune deletes them once they are delivered; creation goes on "
                        "with the next range it holds no row of");
  }
}

}  // namespace

void check_retention(TableCheck& check) {
  check_partitions(check);
  std::vector<std::string> cutters;
  for (const auto& row : query(check, "partman.part_config", sql::check::partman)) {
    cutters.push_back("pg_partman takes partitions older than " +
                      std::string(row["retention"].c_str()) + " from " + check.name);
  }
  for (const auto& row : query(check, "cron.job", sql::check::cron)) {
    cutters.push_back("job " + std::string(row["jobid"].c_str()) + " of pg_cron (" +
                      row["schedule"].c_str() + ") takes rows from " + check.name);
  }
  if (cutters.empty()) return;
  const auto unread = oldest_unread(check);
  for (const auto& cutter : cutters) {
    check.findings.warn(
        cutter + ", read or not: a row it takes first is lost; " + unread,
        "seriatim prune in its place, which never takes a row that was not read\nor: keep rows for "
        "longer than a lane may ever wait, and raise an alarm on its lag well before\nor: "
        "take only rows behind position_at and position_id of "
        "every lane of process " +
            check.target.process.name + " in seriatim.cursor");
  }
}

}  // namespace seriatim::postgres
