#include "app/alerts/alert_receiver.hpp"

#include <utility>

#include "app/alerts/alert_message.hpp"
#include "exec/child.hpp"
#include "exec/exec_config.hpp"
#include "seriatim/error.hpp"
#include "support/header_text.hpp"

namespace seriatim::app {

namespace {

using postgres::AlertMessage;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds check_interval{100};  ///< of the stop, while a program runs

}  // namespace

AlertReceiver::AlertReceiver(const AlertsConfig& config)
    : config_(config), signer_(config.secrets) {
  if (config.target) poster_.emplace(*config.target);
}

std::optional<std::string> AlertReceiver::send(const AlertMessage& message,
                                               const std::stop_token& stop) try {
  return config_.target ? post(message) : run(message, stop);
} catch (const std::exception& error) {
  return error.what();
}

std::optional<std::string> AlertReceiver::post(const AlertMessage& message) {
  const auto body = config_.format == AlertsConfig::Format::slack ? message_slack(message)
                                                                  : message_json(message);
  handlers::HeaderLines lines;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const auto id = message_id(message);
  lines.add("webhook-id", id);
  lines.add("webhook-timestamp", std::to_string(now));
  if (!config_.secrets.empty()) lines.add("webhook-signature", signer_.sign(id, now, body));
  const auto result = poster_->post(body, steady_clock::now() + config_.target->timeout, lines);
  if (const auto* failure = std::get_if<handlers::HttpFailure>(&result)) {
    return poster_->origin() + ": " + failure->what;
  }
  const auto& answer = std::get<handlers::HttpAnswer>(result);
  if (answer.status >= 200 && answer.status < 300) return std::nullopt;
  return poster_->origin() + " answered " + std::to_string(answer.status);
}

std::optional<std::string> AlertReceiver::run(const AlertMessage& message,
                                              const std::stop_token& stop) const {
  const auto ends = steady_clock::now() + time_max;
  const auto waits = [&] { return !stop.stop_requested() && steady_clock::now() < ends; };
  const auto& name = config_.command.front();
  handlers::Child child({config_.command, handlers::child_environment({}), ""},
                        [](const std::string&) {});
  const auto body = message_json(message) + '\n';
  std::string_view left = body;
  std::string output;  // is of no interest, and must be read: a full pipe would stop the program
  bool open = true;
  while (waits() && !child.has_ended()) {
    const auto ready = child.wait(!left.empty(), steady_clock::now() + check_interval);
    if (ready.input && !left.empty()) {
      left.remove_prefix(child.write(left));
      if (!child.takes_input()) left = {};
      if (left.empty()) child.close_input();
    }
    if (ready.output && open) open = child.read(output);
    output.clear();
    if (!open) (void)child.has_ended(check_interval);
  }
  const bool in_time = child.has_ended();
  const auto end = child.reap();
  if (!in_time) return name + " was killed: it did not end within 30 s, or the relay stops";
  if (end && end->clean) return std::nullopt;
  const auto line = child.last_error_line();
  return name + ' ' + (end ? end->text : "hangs") + (line.empty() ? "" : ": " + line);
}

}  // namespace seriatim::app
