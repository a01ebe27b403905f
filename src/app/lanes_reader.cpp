#include "app/lanes_reader.hpp"

#include <utility>

namespace seriatim::app {

namespace {

std::vector<postgres::Target> targets_of(const std::vector<const ConfiguredProcess*>& processes) {
  std::vector<postgres::Target> targets;
  targets.reserve(processes.size());
  for (const auto* process : processes) targets.push_back(process->target);
  return targets;
}

}  // namespace

LanesReader::LanesReader(const std::vector<const ConfiguredProcess*>& processes, Context& context)
    : reader_(context.database_url(), targets_of(processes)), shared_([this] {
        auto lanes = reader_.read();
        return TimedReports{std::move(lanes), std::chrono::system_clock::now()};
      }) {}

}  // namespace seriatim::app
