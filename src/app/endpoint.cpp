#include "app/endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "app/metrics/metrics.hpp"
#include "app/text.hpp"
#include "console/page_files.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

namespace {

using console::Health;
using console::HttpRequest;
using console::HttpResponse;
using console::HttpRoute;

/// "host:pid": how a person finds the program that serves the page.
std::string relay_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return std::to_string(::getpid());
  return std::string(host.data()) + ':' + std::to_string(::getpid());
}

/// A lane whose oldest row waits longer than this is late.
constexpr std::chrono::minutes lag_max{5};

HttpResponse text_answer(const Health& health) {
  return {health.good ? 200U : 503U, health.text + '\n'};
}

/// What waits in it is known. A lane without a cursor has nothing to count from.
bool is_read(const postgres::LaneReport& report) {
  const bool counted = report.lag_records || report.lag_more || report.without_cursor;
  return report.not_read.empty() && !report.unread && counted;
}

bool counts_all(const LaneReports& lanes, const std::string& process) {
  return std::all_of(lanes.begin(), lanes.end(), [&](const postgres::LaneReport& report) {
    return report.lane.process != process || is_read(report);
  });
}

bool is_well(const postgres::LaneReport& report) {
  if (report.lane.state == LaneState::halted || !report.holder_alive) return false;
  if (!is_read(report)) return false;
  return !report.lag_age || *report.lag_age <= lag_max;
}

}  // namespace

// --- what the relay says of itself ---------------------------------------------------------------

void RelayState::runs(const Relay& relay) {
  const std::lock_guard lock(mutex_);
  relay_ = &relay;
  auto starting = Phase::starting;
  phase_.compare_exchange_strong(starting, Phase::running);
}

void RelayState::stopped() noexcept {
  phase_ = Phase::stopping;
  const std::lock_guard lock(mutex_);
  const auto* const relay = std::exchange(relay_, nullptr);
  try {
    if (relay) last_ = relay->counts();
  } catch (const std::exception&) {  // out of memory: the last counts are lost
  }
}

std::vector<LaneCounts> RelayState::counts() const {
  const std::lock_guard lock(mutex_);
  return relay_ ? relay_->counts() : last_;
}

std::string RelayState::holder() const {
  const std::lock_guard lock(mutex_);
  return relay_ ? relay_->holder() : std::string();
}

Health RelayState::liveness() const {
  return console::liveness(counts(), std::chrono::steady_clock::now());
}

Health RelayState::readiness() const {
  switch (phase_.load()) {
    case Phase::starting: return {false, "starting: waiting for the database, or checking it"};
    case Phase::stopping: return {false, "stopping"};
    case Phase::running: break;
  }
  return console::readiness(counts(), std::chrono::steady_clock::now());
}

// --- paths --------------------------------------------------------------------------------------

struct Endpoint::RequestCounts {
  std::mutex mutex;
  std::map<std::pair<std::string, unsigned>, std::uint64_t> all;

  void count(const std::string& path, unsigned status) {
    const std::lock_guard lock(mutex);
    ++all[{path, status}];
  }
};

Endpoint::Endpoint(const ConsoleConfig& config, const Processes& processes, Context& context,
                   LanesReader& reader, const RelayState& state, Others others)
    : reader_(reader),
      secrets_(context.secrets()),
      config_hash_(context.config().hash),
      state_(state),
      others_(std::move(others)),
      requests_(std::make_unique<RequestCounts>()),
      access_({config.users, config.proxy, !config.listen.unix_path.empty()}) {
  for (const auto* process : processes) names_.push_back(process->target.process.name);
  if (others_.desk) {
    api_ = std::make_unique<console::Api>(
        *others_.desk, access_,
        console::Api::Settings{
            .version = std::string(version()),
            .relay = relay_name(),
            .payload = config.masked ? "masked" : "hidden",
            .redact = [this](const std::string& text) { return secrets_.redact(text); }});
  }
  auto settings = settings_of(config.listen, config);
  settings.tls = config.tls;
  settings.identify = [this](const HttpRequest& request) { return access_.identify(request); };
  settings.gate = [this](const HttpRequest& request) { return access_.refuse(request); };
  server_ = std::make_unique<console::HttpServer>(std::move(settings), all_routes());
  if (!config.probes) return;
  probes_ =
      std::make_unique<console::HttpServer>(settings_of(*config.probes, config), probe_routes());
}

Endpoint::~Endpoint() = default;

console::HttpServer::Settings Endpoint::settings_of(const ListenPlace& place,
                                                    const ConsoleConfig& config) {
  console::HttpServer::Settings settings;
  settings.address = place.address;
  settings.port = place.port;
  settings.unix_path = place.unix_path;
  settings.hosts = config.hosts;
  settings.warn = others_.warn;
  settings.answered = [this](const std::string& route, unsigned status) {
    if (!route.empty()) requests_->count(route, status);
  };
  return settings;
}

/// What shows no rows.
std::vector<HttpRoute> Endpoint::probe_routes() {
  const auto alive = [this](const HttpRequest&) { return text_answer(state_.liveness()); };
  return {{"/livez", alive},
          {"/healthz", alive},
          {"/readyz", [this](const HttpRequest&) { return text_answer(state_.readiness()); }},
          {"/metrics", [this](const HttpRequest& request) { return metrics(request); }, true}};
}

std::vector<HttpRoute> Endpoint::all_routes() {
  auto all = probe_routes();
  all.push_back({"/statusz", [this](const HttpRequest&) { return statusz(); }, true});
  if (!api_) return all;
  for (auto routes : {api_->routes(), console::page_routes()}) {
    all.insert(all.end(), std::make_move_iterator(routes.begin()),
               std::make_move_iterator(routes.end()));
  }
  return all;
}

HttpResponse Endpoint::statusz() {
  std::shared_ptr<const LaneReports> lanes;
  try {
    lanes = reader_.read();
  } catch (const std::exception& error) {
    return {503,
            secrets_.redact(std::string("the database cannot be read: ") + error.what()) + '\n'};
  }
  const bool well = std::all_of(lanes->begin(), lanes->end(), is_well);
  return {well ? 200U : 503U, secrets_.redact(lanes_json(*lanes)), "application/json"};
}

HttpResponse Endpoint::metrics(const HttpRequest& request) {
  Families families;
  add_relay_metrics(state_.counts(), families);
  std::shared_ptr<const TimedReports> read;
  try {
    read = reader_.read_timed();
  } catch (const std::exception&) {  // look_up says so; an old value would lie
  }
  if (read) add_status_metrics(read->lanes, read->at, families);
  families.gauge_family("look_up", "1 if the last read of the database could count what waits");
  for (const auto& name : names_) {
    families.gauge({{"process", name}}, read && counts_all(read->lanes, name) ? 1 : 0);
  }
  if (read) {
    families.gauge_family("look_timestamp_seconds", "when that read was made, Unix time");
    const auto at = std::chrono::duration<double>(read->at.time_since_epoch()).count();
    for (const auto& name : names_) families.gauge({{"process", name}}, at);
  }
  families.gauge_family("build_info", "1; the version that runs")
      .gauge({{"version", std::string(version())}, {"revision", SERIATIM_REVISION}}, 1);
  families.gauge_family("config_info", "1; relays of one configuration have one hash")
      .gauge({{"hash", config_hash_}}, 1);
  others_.counts(families);
  families.counter_family("console_requests_total", "requests answered, by path and status");
  {
    const std::lock_guard lock(requests_->mutex);
    for (const auto& [key, count] : requests_->all) {
      families.counter({{"route", key.first}, {"code", std::to_string(key.second)}},
                       static_cast<double>(count));
    }
  }
  add_program_metrics(families);
  const bool open = request.accept.find("application/openmetrics-text") != std::string::npos;
  return {200, exposition(families.take(), open),
          open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace seriatim::app
