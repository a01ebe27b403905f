#include <algorithm>
#include <cstring>
#include <functional>

#include "app/alerts/alerter.hpp"
#include "app/desk/database_desk.hpp"
#include "app/endpoint.hpp"
#include "app/log.hpp"
#include "app/metrics/metrics.hpp"
#include "app/partition_keeper.hpp"
#include "app/records/recorder.hpp"
#include "app/redacted_handler.hpp"
#include "app/reports.hpp"
#include "app/service_manager.hpp"
#include "app/signals.hpp"
#include "app/traces/traced_handler.hpp"
#include "app/verbs/verbs.hpp"
#include "postgres/admin/check/check.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/relay.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

using std::chrono::milliseconds;

namespace {

using std::chrono::seconds;
using Processes = std::vector<const ConfiguredProcess*>;

constexpr seconds grace_slack{5};        ///< beyond the longest call: to commit and let go
constexpr seconds database_interval{1};  ///< between checks for a database that is away

milliseconds default_grace(const Processes& processes, const AppConfig& config) {
  milliseconds longest{0};
  for (const auto* process : processes) {
    longest = std::max(longest, process->target.process.handler_deadline);
  }
  if (config.alerts && config.alerts->target) longest += config.alerts->target->timeout;
  if (config.traces) longest += config.traces->collector.timeout;  // the last spans
  return longest + grace_slack;
}

using Refusals = std::function<std::string()>;

/// What the database says against running these; empty: nothing.
std::string refusals(const std::string& url, const Processes& processes,
                     const postgres::CheckOptions& options) {
  std::string text;
  for (const auto* process : processes) {
    const auto refused = postgres::refusals(postgres::check(url, process->target, options));
    if (!refused.empty()) text += "process " + process->target.process.name + ": " + refused + '\n';
  }
  return text;
}

/// Waits for a database that is away (it may be starting too); draining, one try is enough. False
/// when a stop was asked first.
bool wait_for_database(const Refusals& refusals, bool drain, Log& log,
                       const std::stop_token& stop) {
  std::string reported;
  for (;;) {
    try {
      const auto refused = refusals();
      if (!refused.empty()) throw Error("refused to start\n" + refused);
      return true;
    } catch (const SessionLost& lost) {
      if (drain) throw;
      if (reported != lost.what())
        log.warn(std::string("waiting for the database: ") + lost.what());
      reported = lost.what();
    }
    if (!sleep_unless_stopped(database_interval, stop)) return false;
  }
}

std::vector<std::string> names_of(const Processes& processes) {
  std::vector<std::string> names;
  for (const auto* process : processes) names.push_back(process->target.process.name);
  return names;
}

std::unique_ptr<SpanExporter> trace_to(Context& context, Log& log) {
  const auto& traces = context.config().traces;
  if (!traces) return nullptr;
  return std::make_unique<SpanExporter>(*traces, context.secrets(),
                                        [&log](const LogLine& line) { log.write(line); });
}

/// The process's handler in its wrappers. Secrets come last: what `traced` passes on is redacted.
HandlerFactory wrapped(const ConfiguredProcess& process, Context& context, SpanExporter* spans) {
  auto handler = process.handler;
  if (spans) {
    handler = traced(
        std::move(handler),
        {process.target.process.name, process.handler_kind, context.config().traces->relation},
        *spans);
  }
  return redacted(std::move(handler), context.secrets());
}

/// What delivery goes with. `alerter` and `spans` are null unless configured.
struct RunParts {
  Context& context;
  bool drain;
  Log& log;
  RelayState& state;
  Alerter* alerter;
  SpanExporter* spans;
};

std::vector<LaneStatus> deliver(const Processes& processes, const RunParts& around,
                                const std::stop_token& stop) {
  auto& log = around.log;
  auto& state = around.state;
  const auto& url = around.context.database_url();
  Relay relay({.drain = around.drain});
  relay.observe(std::make_shared<LaneLog>([&log](const LogLine& line) { log.write(line); }));
  if (auto* const alerter = around.alerter) {
    relay.observe(std::make_shared<TroubleWatch>([alerter] { alerter->wake(); }));
  }
  for (const auto* process : processes) {
    relay.add(process->target.process, postgres_source(url, process->target.source),
              wrapped(*process, around.context, around.spans));
  }
  struct Stopped {
    RelayState& state;
    ~Stopped() { state.stopped(); }
  };
  state.runs(relay);
  const Stopped in_the_end{state};
  const Recorder recorder(
      {url,
       {relay.holder(), std::string(version()), around.context.config().hash, names_of(processes)},
       [&relay] { return relay.counts(); },
       around.context.secrets(),
       log});
  return relay.run(stop);
}

/// "seriatim 0.1.0 runs booking_sms (sms), audit (log)"
std::string opening(const Processes& processes) {
  std::string text = "seriatim " + std::string(version()) + " runs";
  for (const auto* process : processes) {
    text += (process == processes.front() ? " " : ", ") + process->target.process.name + " (" +
            process->handler_kind + ')';
  }
  return text;
}

/// A process that never ran here, said before its first call: nothing remembers what it delivered.
void log_beginnings(const std::string& url, const Processes& processes, Log& log) {
  for (const auto* process : processes) {
    const auto& name = process->target.process.name;
    try {
      const auto text = postgres::first_rows_text(url, process->target);
      if (text.empty()) continue;
      log.write({LogLevel::info,
                 "process " + name + " has no cursor here: it " + text,
                 {{"process", name}}});
    } catch (const Error& error) {  // the lanes will meet it too, and name it
      log.write({LogLevel::warn,
                 "process " + name + ": how many rows go out first is unknown: " + error.what(),
                 {{"process", name}}});
    }
  }
}

/// "12 lanes: 10 held here, 4711 rows delivered"
std::string status_line(const std::vector<LaneCounts>& lanes) {
  std::size_t held = 0;
  std::uint64_t delivered = 0;
  for (const auto& lane : lanes) {
    held += lane.held ? 1 : 0;
    delivered += lane.delivered;
  }
  return std::to_string(lanes.size()) + (lanes.size() == 1 ? " lane: " : " lanes: ") +
         std::to_string(held) + " held here, " + std::to_string(delivered) + " rows delivered";
}

/// What the console shows and does; null without `[console]`.
std::unique_ptr<DatabaseDesk> desk_of(const Processes& processes, Context& context,
                                      LanesReader& reader, const RelayState& state) {
  const auto& console = context.config().console;
  if (!console) return nullptr;
  return std::make_unique<DatabaseDesk>(DatabaseDesk::Parts{processes, context, reader,
                                                            [&state] { return state.holder(); },
                                                            console->masked, console->show});
}

std::unique_ptr<Endpoint> serve(const Processes& processes, LanesReader& reader,
                                const RunParts& around, DatabaseDesk* desk) {
  const auto& console = around.context.config().console;
  if (!console) return nullptr;
  auto& log = around.log;
  const auto counts_of_others = [&log, alerter = around.alerter,
                                 spans = around.spans](Families& families) {
    families.counter_family("log_lines_dropped_total", "log lines dropped because stderr was stuck")
        .counter({}, static_cast<double>(log.lines_dropped()));
    if (alerter) add_alert_metrics(alerter->sender(), families);
    if (spans) add_span_metrics(spans->counts(), families);
  };
  const auto warn = [&log](const std::string& text) { log.warn(text); };
  auto endpoint =
      std::make_unique<Endpoint>(*console, processes, around.context, reader, around.state,
                                 Endpoint::Others{counts_of_others, warn, desk});
  log.info("serves the console at " + endpoint->url() +
           "/, with /metrics, /livez, /readyz and /statusz");
  return endpoint;
}

std::unique_ptr<Alerter> watch(Context& context, const Processes& processes, LanesReader& reader,
                               Log& log) {
  const auto& alerts = context.config().alerts;
  if (!alerts) return nullptr;
  return std::make_unique<Alerter>(Alerter::Parts{context.database_url(), names_of(processes),
                                                  *alerts, reader, context.secrets(), log,
                                                  context.actor("", "").who});
}

LogConfig log_config(const RunVerb& verb, const AppConfig& config) {
  return {verb.log_level.value_or(config.log.level), verb.log_format.value_or(config.log.format)};
}

/// A lane that is halted, or that another relay held, matters to whoever waits for the drain; a
/// stopped service just stopped.
Exit exit_of(const std::vector<LaneStatus>& lanes, bool drain) {
  const auto any = [&](LaneState state) {
    return std::any_of(lanes.begin(), lanes.end(),
                       [&](const LaneStatus& lane) { return lane.state == state; });
  };
  if (!drain) return Exit::done;
  if (any(LaneState::halted)) return Exit::halted;
  return any(LaneState::standby) ? Exit::failure : Exit::done;
}

}  // namespace

Exit perform(const RunVerb& verb, Context& context) {
  const auto processes = context.processes(verb.processes);
  const auto& url = context.database_url();  // forks, so before any thread
  Log log(log_config(verb, context.config()), context.secrets());
  const auto grace = verb.grace.value_or(default_grace(processes, context.config()));
  const Signals signals(grace, [&](int signal) {
    log.info(std::string("stopping on SIG") + ::sigabbrev_np(signal) +
             ": calls in flight finish first");
  });
  context.note_to([&log](const HandlerNote& note) { log.write(describe(note)); });
  log.info(opening(processes));
  RelayState state;
  const auto all = context.processes({});  // those that another relay runs too: it may be dead
  LanesReader reader(all, context);
  // Nobody is called for a drain: it may begin with hours of lag, and its exit code says how it
  // ends.
  const auto alerter = verb.drain ? nullptr : watch(context, all, reader, log);
  const auto spans = trace_to(context, log);
  const RunParts around{context, verb.drain, log, state, alerter.get(), spans.get()};
  const auto desk = desk_of(all, context, reader, state);
  const auto endpoint = serve(all, reader, around, desk.get());
  ServiceManager manager(process_environment(),
                         {.liveness = [&] { return state.liveness(); },
                          .status = [&] { return status_line(state.counts()); },
                          .grace = grace});
  const std::stop_callback stops(signals.token(), [&] {
    state.stopping();
    manager.stopping();
    if (desk) desk->give_up();
  });
  std::vector<LaneStatus> lanes;
  const postgres::CheckOptions options{context.config().names(), true};
  const auto refused = [&] { return refusals(url, processes, options); };
  if (wait_for_database(refused, verb.drain, log, signals.token())) {
    manager.ready();
    log_beginnings(url, processes, log);
    const PartitionKeeper keeper(url, log);
    lanes = deliver(processes, around, signals.token());
  }
  if (context.json()) print(context.secrets().redact(lanes_json(lanes)));
  return exit_of(lanes, verb.drain);
}

}  // namespace seriatim::app
