#include "app/checks.hpp"

#include "postgres/admin/check/check.hpp"

namespace seriatim::app {

std::vector<std::pair<std::string, Findings>> findings_of(
    const std::string& database_url, const std::vector<const ConfiguredProcess*>& processes,
    const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, Findings>> all;
  const postgres::CheckOptions options{names, false};
  for (const auto* process : processes) {
    all.emplace_back(process->target.process.name,
                     postgres::check(database_url, process->target, options));
    for (const auto& [former, now] : process->former_keys) {
      all.back().second.push_back({postgres::Finding::Severity::warning,
                                   former + " is a former name, which is still understood",
                                   "write " + now});
    }
  }
  return all;
}

}  // namespace seriatim::app
