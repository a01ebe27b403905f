// What is shown of processes, lanes and rows; nothing is changed.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <tuple>

#include "app/lanes_reader.hpp"
#include "app/redacted_handler.hpp"
#include "app/reports.hpp"
#include "app/signals.hpp"
#include "app/traces/traced_handler.hpp"
#include "app/verbs/verbs.hpp"
#include "runtime/known_types.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using std::chrono::seconds;

constexpr seconds refresh_interval{1};

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

/// Until a signal. A database that is away for a while is reported and asked again.
Exit watch(LanesReader& reader, Context& context) {
  const Signals signals(status_read_max);
  const bool repaint = stdout_is_terminal() && !context.json();
  Exit latest = Exit::done;
  do {
    try {
      latest = show(*reader.read(), context, repaint ? "\x1b[H\x1b[2J" : "");
    } catch (const SessionLost& lost) {
      complain("seriatim: " + context.secrets().redact(lost.what()) + '\n');
    }
  } while (sleep_unless_stopped(refresh_interval, signals.token()));
  return latest;
}

}  // namespace

Exit perform(const StatusVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  LanesReader reader(processes, context);
  return verb.watch ? watch(reader, context) : show(*reader.read(), context, "");
}

namespace {

postgres::Peeked read_waiting(Context& context, const postgres::Target& target, unsigned lane,
                              unsigned rows) {
  const auto& [name, lanes] = std::tie(target.process.name, target.process.lanes);
  if (lane >= lanes) {
    throw ConfigError("process \"" + name + "\" has lanes 0 to " + std::to_string(lanes - 1) +
                      ", no lane " + std::to_string(lane));
  }
  return postgres::Admin(context.database_url()).peek(target, lane, rows);
}

}  // namespace

Exit perform(const PeekVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  const auto rows = read_waiting(context, target, verb.lane, verb.rows);
  print(context.json() ? rows_json(rows, verb.payload)
                       : rows_table(rows, verb.payload, stdout_is_terminal()));
  return rows.unread ? Exit::failure : Exit::done;
}

namespace {

PreviewedRow preview_row(Handler& handler, postgres::PeekedRow row,
                         const std::optional<TracesConfig>& traces) {
  PreviewedRow result{std::move(row), std::nullopt, {}};
  if (result.row.queues) return result;
  try {
    const auto& record = result.row.record;
    result.request = handler.render(traces ? shown_as_traced(record, traces->relation) : record);
  } catch (const std::exception& cannot) {
    result.problem = cannot.what();
    return result;
  }
  if (!result.request) throw Error("handlers of this kind cannot show what they would send");
  return result;
}

}  // namespace

Exit perform(const PreviewVerb& verb, Context& context) {
  const auto& process = context.process(verb.process);
  auto waiting = read_waiting(context, process.target, verb.lane, verb.rows);
  const auto& config = process.target.process;
  const auto factory = redacted(process.handler, context.secrets());
  const auto handler = runtime::only_known_types(config.event_types, factory)(verb.lane);
  Preview preview{{}, std::move(waiting.unread), config.on_poison};
  for (auto& row : waiting.rows) {
    preview.rows.push_back(preview_row(*handler, std::move(row), context.config().traces));
  }
  print(context.secrets().redact(context.json() ? preview_json(preview) : preview_text(preview)));
  return preview.sound() ? Exit::done : Exit::failure;
}

Exit perform(const WhyVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  const auto row = postgres::Admin(context.database_url()).why(target, verb.id);
  print(context.secrets().redact(context.json() ? row_json(row) : row_text(row)));
  if (row.lane && row.lane->lane.state == LaneState::halted) return Exit::halted;
  return row.state == postgres::RowReport::State::absent ? Exit::failure : Exit::done;
}

namespace {

/// One line on a terminal, at most once a second, taken away at the end.
class Recounted {
 public:
  void operator()(std::uint64_t rows) {
    const auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now < next_) return;
    next_ = now + std::chrono::seconds(1);
    shown_ = true;
    complain("\r" + std::to_string(rows) + " rows recounted");
  }
  ~Recounted() {
    if (shown_) complain("\r\x1b[K");
  }

 private:
  bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace

Exit perform(const AuditVerb& verb, Context& context) {
  const auto& target = context.process(verb.process).target;
  postgres::Admin admin(context.database_url());
  std::vector<postgres::LaneAudit> lanes;
  {
    Recounted progress;
    lanes = admin.audit(target, verb.buckets, std::ref(progress));
  }
  print(context.json() ? audit_json(verb.process, lanes) : audit_text(lanes, stdout_is_terminal()));
  try {
    admin.note_audit(verb.process, lanes, context.actor("", ""), audit_finding(lanes));
  } catch (const Error& error) {
    complain(
        "seriatim: status and metrics will not show this audit, because it could not be noted: " +
        context.secrets().redact(error.what()) + '\n');
  }
  const bool sound =
      std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane.sound(); });
  return sound ? Exit::done : Exit::failure;
}

}  // namespace seriatim::app
