#include "postgres/store/former_lanes.hpp"

#include "sql/store.hpp"

namespace seriatim::postgres {

std::vector<LaneId> former_lanes(Connection& connection, const LaneId& lane) {
  std::vector<LaneId> lanes;
  for (const auto& row :
       connection.run(sql::store::former_lanes, {lane.process, std::to_string(lane.lanes)})) {
    lanes.push_back({lane.process, row["lane"].as<unsigned>(), row["lanes"].as<unsigned>()});
  }
  return lanes;
}

Table rows_of(const Table& table, const LaneId& lane) {
  auto rows = table;
  rows.where = "(" + table.where + ") AND " + lane_filter(table, lane);
  return rows;
}

}  // namespace seriatim::postgres
