#include <algorithm>

#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

using std::chrono::seconds;

constexpr seconds refresh_interval{1};
constexpr seconds look_max{30};  ///< a look that takes longer is ended by the second signal's path

LaneReports look(const std::vector<const ConfiguredProcess*>& processes, Context& context) {
  postgres::Admin admin(context.database_url());
  LaneReports all;
  for (const auto* process : processes) {
    for (auto& report : admin.status(process->target)) all.push_back(std::move(report));
  }
  return all;
}

Exit show(const LaneReports& lanes, const Context& context, std::string_view before) {
  const auto text = context.json() ? lanes_json(lanes) : lanes_table(lanes, stdout_is_terminal());
  print(std::string(before) + context.secrets().redact(text));
  const bool halted = std::any_of(lanes.begin(), lanes.end(), [](const auto& report) {
    return report.lane.state == LaneState::halted;
  });
  const bool unknown = std::any_of(lanes.begin(), lanes.end(),
                                   [](const auto& report) { return report.unread.has_value(); });
  return halted ? Exit::halted : unknown ? Exit::failure : Exit::done;
}

/// Until a signal. A database that is away for a while is told and asked again.
Exit watch(const std::vector<const ConfiguredProcess*>& processes, Context& context) {
  context.database_url();  // before the thread that watches signals
  const Signals signals(look_max);
  const bool repaint = stdout_is_terminal() && !context.json();
  Exit latest = Exit::done;
  do {
    try {
      latest = show(look(processes, context), context, repaint ? "\x1b[H\x1b[2J" : "");
    } catch (const SessionLost& lost) {
      complain("seriatim: " + context.secrets().redact(lost.what()) + '\n');
    }
  } while (sleep_unless_stopped(refresh_interval, signals.token()));
  return latest;
}

}  // namespace

Exit perform(const StatusVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  return verb.watch ? watch(processes, context) : show(look(processes, context), context, "");
}

}  // namespace seriatim::app
