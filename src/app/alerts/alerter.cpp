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

constexpr int quiet_factor = 6;
/// Two judgements are at least so far apart, however often it is woken.
constexpr milliseconds wake_pause{1'000};
/// A relay that was not seen for so long is gone: it says every 30 s that it runs.
constexpr milliseconds relay_gone{75'000};
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
      conditions_(parts_.config.thresholds),
      sender_({parts_.url, judged_, parts_.config, parts_.secrets, parts_.log}),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Alerter::~Alerter() = default;

void Alerter::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

void Alerter::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto began = Clock::now();
    const auto pause = parts_.config.every * (judge() ? quiet_factor : 1);
    std::unique_lock lock(mutex_);
    const auto never = [] { return false; };
    changed_.wait_until(lock, stop, began + std::min(pause, wake_pause), never);
    changed_.wait_until(lock, stop, began + pause, [this] { return woken_; });
    woken_ = false;
  }
}

bool Alerter::judge() try {
  const auto read = parts_.reader.read_timed();
  const auto around = records_.surroundings(parts_.processes, relay_gone);
  auto seen = conditions_.judge({read->lanes, around, read->at, Clock::now()});
  for (auto& one : seen) {
    one.summary = parts_.secrets.redact(one.summary);
    one.body = parts_.secrets.redact(one.body);
  }
  const auto judged = records_.judge(
      seen, {judged_, parts_.config.repeat, parts_.config.resolve_after, parts_.who});
  database_answers();
  const bool unsent = judged.unsent || sender_.has_messages();
  if (unsent) sender_.wake();
  return seen.empty() && !judged.open && !unsent;
} catch (const SessionLost& lost) {
  database_is_away(parts_.secrets.redact(lost.what()));
  return false;
} catch (const std::exception& error) {  // a right is missing, or the schema is older than we are
  complain_once(parts_.secrets.redact(error.what()));
  return false;
}

void Alerter::database_answers() {
  complaint_.clear();
  away_since_.reset();
  if (!away_sent_) return;
  auto over = *std::exchange(away_sent_, std::nullopt);
  over.turn += 1;
  over.tries = 1;
  over.resolved_at = rfc3339(now_us());
  sender_.send(std::move(over));
}

void Alerter::database_is_away(const std::string& why) {
  if (!away_since_) {
    away_since_ = Clock::now();
    away_began_us_ = now_us();
  }
  if (away_sent_) return sender_.wake();  // until it is accepted
  const auto& limit = parts_.config.thresholds.database;
  if (!limit || Clock::now() - *away_since_ < *limit) return;
  std::string names;
  for (const auto& process : parts_.processes) names += process + '\n';
  away_sent_ = AlertMessage{
      "database-" + short_hash(names) + '-' + std::to_string(away_began_us_ / same_outage_us),
      1,
      "",
      -1,
      "database",
      "the database does not answer, and nothing is delivered: " + valid_utf8(why),
      "{}",
      rfc3339(away_began_us_)};
  sender_.send(*away_sent_);
}

void Alerter::complain_once(const std::string& what) {
  if (complaint_ == what) return;
  complaint_ = what;
  parts_.log.warn("alerts cannot be judged: " + printable(what));
}

void TroubleWatch::lane_changed(const LaneStatus& lane) {
  if (lane.state == LaneState::halted) wake_();
}

}  // namespace seriatim::app
