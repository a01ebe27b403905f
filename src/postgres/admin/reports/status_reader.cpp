#include "postgres/admin/reports/status_reader.hpp"

#include <utility>

#include "seriatim/error.hpp"

namespace seriatim::postgres {

Connection::Options report_options() {
  return {.application = "seriatim/report",
          .statement_timeout = report_statement_max,
          .lock_timeout = report_lock_max};
}

StatusReader::StatusReader(std::string url, std::vector<Target> targets)
    : url_(std::move(url)), targets_(std::move(targets)), memory_(targets_.size()) {}

std::vector<LaneReport> StatusReader::read() {
  try {
    if (!connection_) connection_.emplace(url_, report_options());
    std::vector<LaneReport> all;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      for (auto& report : report_lanes(*connection_, targets_[i], memory_[i])) {
        all.push_back(std::move(report));
      }
    }
    return all;
  } catch (const SessionLost&) {
    connection_.reset();
    for (auto& memory : memory_) memory.table.reset();
    throw;
  }
}

}  // namespace seriatim::postgres
