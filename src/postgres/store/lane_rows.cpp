#include "postgres/store/lane_rows.hpp"

#include "postgres/store/cursor_repository.hpp"
#include "postgres/wire/sql_text.hpp"
#include "sql/store.hpp"

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
    lane.redriven = row["redriven"].as<std::uint64_t>();
    lane.lease = {row["epoch"].as<std::string>(), row["lease_until"].as<std::string>(""),
                  milliseconds{row["lease_ms"].as<std::int64_t>(0)}};
    lane.identity = row["identity"].as<std::string>("{}");
    lane.created_at = row["created_at"].as<std::string>();
    lane.updated_at = row["updated_at"].as<std::string>();
    if (!row["renamed_to"].is_null()) lane.renamed_to = row["renamed_to"].as<std::string>();
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

}  // namespace

std::vector<LaneRow> read_lanes(Connection& connection, const std::string& process) {
  return lanes_from(process, connection.run(of_process(sql::store::lane_rows, process)));
}

void refuse_retired(const std::vector<LaneRow>& lanes) {
  for (const auto& lane : lanes) {
    if (lane.renamed_to) throw Error(lane.cursor.detail);
  }
}

void refuse_unknown(Connection& connection, const std::string& process) {
  std::string known;
  for (const auto& row : connection.run(sql::store::process_names)) {
    known += (known.empty() ? "" : ", ") + row[0].as<std::string>();
  }
  throw Error("process \"" + process + "\" has no cursor in this database, so it never ran; " +
              (known.empty() ? "none did: start `seriatim run`" : "known are: " + known));
}

}  // namespace seriatim::postgres
