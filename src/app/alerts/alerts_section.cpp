#include "app/alerts/alerts_section.hpp"

#include <utility>

#include "support/cannot_render.hpp"
#include "support/webhook_signature.hpp"

namespace seriatim::app {

namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

bool is_off(Options& section, std::string_view key) {
  return section.has(key) && section.text_or_integer(key, "") == "off";
}

std::optional<milliseconds> read_time(Options& section, std::string_view key,
                                      milliseconds fallback) {
  if (is_off(section, key)) return std::nullopt;
  return section.duration(key, fallback);
}

AlertThresholds read_thresholds(Options& section) {
  AlertThresholds thresholds;
  thresholds.unheld = read_time(section, "unheld", 1min);
  thresholds.lag = read_time(section, "lag", 5min);
  thresholds.fence = read_time(section, "fence", 1min);
  thresholds.held = read_time(section, "held", 1h);
  thresholds.audit = read_time(section, "audit", 48h);
  thresholds.database = read_time(section, "database", 1min);
  if (!is_off(section, "parked")) {
    thresholds.parked = section.integer("parked", 1, 1, INT64_MAX);
  }
  if (!is_off(section, "slot")) thresholds.slot = section.bytes("slot", std::size_t{10} << 30U);
  return thresholds;
}

void read_webhook(Options& section, AlertsConfig& alerts, Secrets& secrets) {
  alerts.target = read_post_target(section, secrets, 10s);
  alerts.format =
      static_cast<AlertsConfig::Format>(section.choice("format", 0, {"webhook", "slack"}));
  alerts.secrets = section.texts("secrets");
  if (section.has("secret")) {
    if (!alerts.secrets.empty()) section.problem("secret", "set either secret or secrets");
    alerts.secrets.insert(alerts.secrets.begin(), section.text("secret"));
  }
  for (const auto& secret : alerts.secrets) secrets.learn(secret);
  try {
    const handlers::WebhookSigner checked(alerts.secrets);
  } catch (const handlers::CannotRender& wrong) {
    section.problem(section.has("secrets") ? "secrets" : "secret", wrong.what());
  }
}

}  // namespace

AlertsConfig read_alerts(Options section, Secrets& secrets) {
  AlertsConfig alerts;
  if (section.has("command") == section.has("url")) {
    section.problem("url", "give either `url` or `command`: where alerts go");
    (void)section.text("url");
    (void)section.texts("command");
  } else if (section.has("command")) {
    alerts.command = section.texts("command");
    if (alerts.command.empty()) section.problem("command", "names no program");
  } else {
    read_webhook(section, alerts, secrets);
  }
  alerts.thresholds = read_thresholds(section);
  alerts.every = section.duration("every", 10s);
  alerts.repeat = section.duration("repeat", 4h);
  alerts.resolve_after = section.duration("resolve_after", 1min);
  for (const auto& [key, value] :
       {std::pair{"every", alerts.every}, std::pair{"repeat", alerts.repeat}}) {
    if (value < 1s) section.problem(key, "must be 1 s or more");
  }
  if (alerts.resolve_after < alerts.every) {
    section.problem("resolve_after", "must not be shorter than `every`");
  }
  section.finish();
  return alerts;
}

}  // namespace seriatim::app
