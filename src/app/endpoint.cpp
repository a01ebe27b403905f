#include "app/endpoint.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <map>
#include <utility>

#include "app/digest.hpp"
#include "app/metrics/metrics.hpp"
#include "app/text.hpp"
#include "seriatim/version.hpp"

namespace seriatim::app {

namespace {

using console::Health;
using console::HttpRequest;
using console::HttpResponse;
using console::HttpRoute;

/// A lane whose oldest row waits longer than this is late.
constexpr std::chrono::minutes lag_max{5};

/// Of digests: the time it takes says nothing about how much of the token was right.
bool carries(const HttpRequest& request, const std::string& token) {
  constexpr std::string_view scheme = "Bearer ";
  if (!request.authorization.starts_with(scheme)) return false;
  const auto given = sha256(std::string_view(request.authorization).substr(scheme.size()));
  const auto wanted = sha256(token);
  return ::CRYPTO_memcmp(given.data(), wanted.data(), given.size()) == 0;
}

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

  HttpResponse count(const std::string& path, HttpResponse response) {
    const std::lock_guard lock(mutex);
    ++all[{path, response.status}];
    return response;
  }
};

Endpoint::Endpoint(const ConsoleConfig& config, const Processes& processes, Context& context,
                   LanesReader& reader, const RelayState& state, CountsOfOthers counts_of_others)
    : reader_(reader),
      secrets_(context.secrets()),
      config_hash_(context.config().hash),
      state_(state),
      counts_of_others_(std::move(counts_of_others)),
      requests_(std::make_unique<RequestCounts>()) {
  for (const auto* process : processes) names_.push_back(process->target.process.name);
  server_ = std::make_unique<console::HttpServer>(settings_of(config.listen, config),
                                                  routes(config.token));
  if (!config.probes) return;
  auto shown = routes({});
  std::erase_if(shown, [](const HttpRoute& route) { return route.path == "/statusz"; });
  probes_ =
      std::make_unique<console::HttpServer>(settings_of(*config.probes, config), std::move(shown));
}

Endpoint::~Endpoint() = default;

console::HttpServer::Settings Endpoint::settings_of(const ListenPlace& place,
                                                    const ConsoleConfig& config) const {
  return {.address = place.address, .port = place.port, .hosts = config.hosts};
}

std::vector<HttpRoute> Endpoint::routes(const std::string& token) {
  const auto guarded = [this, token](const std::string& path, auto respond) {
    return HttpRoute{path,
                     [this, token, path, respond](const HttpRequest& request) {
                       if (!token.empty() && !carries(request, token)) {
                         return requests_->count(
                             path, {401,
                                    "send the token of [console] as Authorization: Bearer TOKEN\n",
                                    "text/plain; charset=utf-8",
                                    {{"WWW-Authenticate", "Bearer"}}});
                       }
                       return requests_->count(path, respond(request));
                     },
                     true};
  };
  const auto alive = [this](const std::string& path) {
    return HttpRoute{path, [this, path](const HttpRequest&) {
                       return requests_->count(path, text_answer(state_.liveness()));
                     }};
  };
  return {alive("/livez"), alive("/healthz"),
          HttpRoute{"/readyz",
                    [this](const HttpRequest&) {
                      return requests_->count("/readyz", text_answer(state_.readiness()));
                    }},
          guarded("/statusz", [this](const HttpRequest&) { return statusz(); }),
          guarded("/metrics", [this](const HttpRequest& request) { return metrics(request); })};
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
  counts_of_others_(families);
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
