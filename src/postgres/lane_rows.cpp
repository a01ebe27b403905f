#include "postgres/lane_rows.hpp"

#include "postgres/cursor_repository.hpp"
#include "postgres/sql_text.hpp"
#include "seriatim_sql.hpp"

namespace seriatim::postgres {

namespace {

std::string of_process(std::string_view statement, const std::string& process) {
  return fill(statement, {{"process", quote_literal(process)}});
}

std::vector<LaneRow> lanes_from(const std::string& process, const pqxx::result& rows) {
  std::vector<LaneRow> lanes;
  for (const auto& row : rows) {
    LaneRow lane;
    lane.id = {process, row["lane"].as<unsigned>(), row["lanes"].as<unsigned>()};
    lane.cursor = cursor_from(row);
    lane.holder = row["holder"].as<std::string>("");
    lane.holder_alive = row["holder_alive"].as<bool>();
    lane.updated_at = row["updated_at"].as<std::string>();
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

[[noreturn]] void refuse_unknown(Connection& connection, const std::string& process) {
  std::string known;
  for (const auto& row : connection.run(sql::process_names)) {
    known += (known.empty() ? "" : ", ") + row[0].as<std::string>();
  }
  throw Error("process \"" + process + "\" has no cursor in this database, so it never ran; " +
              (known.empty() ? "none did: start `seriatim run`" : "known are: " + known));
}

}  // namespace

std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process) {
  return lanes_from(process, connection.run(of_process(sql::lane_rows, process)));
}

std::vector<LaneRow> lock_lanes(Connection& connection, const std::string& process) {
  try {
    connection.begin(of_process(sql::lock_lanes, process));
    auto lanes = read_lanes(connection, process);
    if (lanes.empty()) refuse_unknown(connection, process);
    return lanes;
  } catch (const SessionLost& e) {
    if (e.sqlstate() != "55P03") throw;  // lock_not_available
    throw Error("a call of process \"" + process +
                "\" is in hand and longer than its deadline; nothing was changed: try again, or "
                "stop the relay first");
  }
}

}  // namespace seriatim::postgres
