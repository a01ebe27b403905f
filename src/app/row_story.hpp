#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postgres/admin/reports/row_report.hpp"

namespace seriatim::app {

using postgres::RowReport;

/// "absent", "set_aside", …: stable, for programs.
[[nodiscard]] const char* to_string(RowReport::State state);

/// A report in words for a person at 3 a.m. Foreign text in it is made printable.
struct RowStory {
  std::string answer;
  std::vector<std::string> next_steps;
  std::vector<std::pair<std::string, std::string>> evidence;  ///< fact by name
};
[[nodiscard]] RowStory story_of(const RowReport& row);

}  // namespace seriatim::app
