#include "app/alerts/alerter.hpp"

#include <functional>
#include <utility>

#include "app/digest.hpp"
#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using postgres::AlertMessage;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr int quiet_factor = 10;
/// Two judgements are at least so far apart, however often it is woken.
constexpr milliseconds wake_pause{1'000};
/// A relay that was not seen for so long is gone: it says every minute that it runs.
constexpr milliseconds relay_gone{150'000};
/// Relays that lose the database within so long of each other mean the same outage.
constexpr std::int64_t same_outage_us = 600'000'000;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<std::string> with_none(std::vector<std::string> processes) {
  processes.emplace_back();
  return processes;
}

}  // namespace

Alerter::Alerter(Parts parts)
    : parts_(std::move(parts)),
      judged_(with_none(parts_.processes)),
      records_(parts_.url),
      conditions_(parts_.config.thresholds, parts_.secrets),
      sender_({parts_.url, judged_, parts_.config, parts_.secrets, parts_.log}),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Alerter::~Alerter() {
  sender_.stop();  // both end at the same time
}

void Alerter::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Alerter::run(const std::stop_token& stop) {
  bool woken = false;
  while (!stop.stop_requested()) {
    const auto began = Clock::now();
    // What woke us may be younger than the read that was judged.
    const bool quiet = judge() && !woken;
    const auto pause = parts_.config.every * (quiet ? quiet_factor : 1);
    std::unique_lock lock(mutex_);
    const auto never = [] { return false; };
    changed_.wait_until(lock, stop, began + std::min(pause, wake_pause), never);
    woken = changed_.wait_until(lock, stop, began + pause, [this] { return woken_; });
    woken_ = false;
  }
}

bool Alerter::judge() try {
  const auto read = parts_.reader.read_timed();
  const auto seen = conditions_.judge({read->lanes, read_surroundings(), read->at, Clock::now()});
  const auto judged = records_.judge(
      seen, {judged_, parts_.config.repeat, parts_.config.resolve_after, parts_.who});
  complaint_.clear();
  database_answers();
  const bool unsent = judged.unsent || sender_.has_messages();
  if (unsent) sender_.wake();
  return seen.empty() && !judged.open && !unsent && !outage_.open;
} catch (const SessionLost& lost) {
  const auto why = parts_.secrets.redact(lost.what());
  // With another code the server answers, and lanes may go on: a lock, the connection limit.
  const bool away = lost.sqlstate().empty() || lost.sqlstate().starts_with("57P") ||
                    lost.sqlstate().starts_with("08");
  if (away) {
    database_is_away(why);
  } else {
    complain_once(why);
  }
  return false;
} catch (const std::exception& error) {  // a right is missing, or the schema is older than we are
  complain_once(parts_.secrets.redact(error.what()));
  return false;
}

/// Nothing if this role may not read it: the lanes are judged all the same.
std::optional<postgres::Records::Surroundings> Alerter::read_surroundings() try {
  return records_.surroundings(parts_.processes, relay_gone);
} catch (const SourceBroken&) {
  return std::nullopt;
}

void Alerter::database_answers() {
  const auto now = Clock::now();
  if (!outage_.open) return void(outage_.since.reset());
  if (!outage_.back_since) outage_.back_since = now;
  if (now - *outage_.back_since < parts_.config.resolve_after) return;
  outage_.open = false;
  outage_.since.reset();
  outage_.back_since.reset();
  outage_.message.resolved_at = rfc3339(now_us());
  send_next_turn();
}

void Alerter::database_is_away(const std::string& why) {
  const auto now = Clock::now();
  outage_.back_since.reset();
  if (!outage_.since) {
    outage_.since = now;
    outage_.began_us = now_us();
  }
  if (outage_.open) {
    if (now - outage_.sent >= parts_.config.repeat) return send_next_turn();
    return sender_.wake();  // until it is accepted
  }
  const auto& limit = parts_.config.thresholds.database;
  if (!limit || now - *outage_.since < *limit) return;
  std::string names;
  for (const auto& process : parts_.processes) names += process + '\n';
  const auto id =
      "database-" + short_hash(names) + '-' + std::to_string(outage_.began_us / same_outage_us);
  // A second outage within the same time goes on counting: a receiver drops a number it knows.
  const auto turn = outage_.message.alert == id ? outage_.message.turn : 0;
  outage_.message = {
      id,         turn,
      "",         -1,
      "database", "the database does not answer, and nothing is delivered: " + valid_utf8(why),
      "{}",       rfc3339(outage_.began_us)};
  outage_.open = true;
  send_next_turn();
}

void Alerter::send_next_turn() {
  outage_.message.turn += 1;
  outage_.sent = Clock::now();
  sender_.send(outage_.message);
}

void Alerter::complain_once(const std::string& what) {
  if (complaint_ == what) return;
  complaint_ = what;
  parts_.log.warn("nobody is called, because alerts cannot be judged: " + printable(what) +
                  "; if a right is missing, run docs/roles.sql, and if the schema is old, "
                  "`seriatim init`");
}

void TroubleWatch::lane_changed(const LaneStatus& lane) {
  if (lane.state == LaneState::halted) wake_();
}

}  // namespace seriatim::app
