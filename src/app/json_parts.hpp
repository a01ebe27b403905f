#pragma once

#include <vector>

#include "app/reports.hpp"

namespace boost::json {
class array;
class object;
}  // namespace boost::json

namespace seriatim::app {

// Objects that several JSON reports are made of (reports.hpp).

/// What `status --json` prints.
[[nodiscard]] boost::json::object lanes_object(const LaneReports& lanes);
[[nodiscard]] boost::json::object parked_object(const postgres::ParkedCount& count);
[[nodiscard]] boost::json::array steps_json(const std::vector<postgres::RewindStep>& steps);

}  // namespace seriatim::app
