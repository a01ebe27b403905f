#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/alerts/alert_sender.hpp"
#include "app/alerts/conditions.hpp"
#include "app/lanes_reader.hpp"
#include "seriatim/observer.hpp"

namespace seriatim::app {

/// Judges what a person must be called for, and has it sent. Alerts are rows of the database: one
/// for each trouble, whichever relays see it. If the database is away, that is an alert too, from
/// memory; all relays give it the same number.
///
/// Judged every `every`, and at once if a lane of this relay halts or sets a row aside. If all was
/// well, it waits ten times as long: a relay that is idle must cost the database next to nothing.
class Alerter {
 public:
  struct Parts {
    std::string url;  ///< of the database
    std::vector<std::string> processes;
    const AlertsConfig& config;
    LanesReader& reader;
    const Secrets& secrets;
    Log& log;
    std::string who;  ///< for the journal
  };
  explicit Alerter(Parts parts);
  ~Alerter();

  void wake();
  [[nodiscard]] const AlertSender& sender() const { return sender_; }

 private:
  using Clock = std::chrono::steady_clock;

  void run(const std::stop_token& stop);
  /// Whether all is well.
  bool judge();
  std::optional<postgres::Records::Surroundings> read_surroundings();
  void database_answers();
  void database_is_away(const std::string& why);
  void send_next_turn();
  void complain_once(const std::string& what);

  Parts parts_;
  std::vector<std::string> judged_;  ///< processes, and '' for what concerns none
  postgres::Records records_;
  Conditions conditions_;
  AlertSender sender_;
  std::string complaint_;  ///< the last one

  /// The database is away, or was.
  struct Outage {
    std::optional<Clock::time_point> since;
    std::int64_t began_us = 0;
    bool open = false;                            ///< an alert on it is open
    Clock::time_point sent;                       ///< … and was sent last
    std::optional<Clock::time_point> back_since;  ///< it answers again
    postgres::AlertMessage message;               ///< the latest one
  };
  Outage outage_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool woken_ = false;
  std::jthread thread_;
};

/// Wakes the alerter as soon as a lane of this relay is in trouble.
class TroubleWatch final : public Observer {
 public:
  explicit TroubleWatch(std::function<void()> wake) : wake_(std::move(wake)) {}
  void lane_changed(const LaneStatus& lane) override;
  void parked(const LaneStatus&, const std::string&, const std::string&) override { wake_(); }

 private:
  std::function<void()> wake_;
};

}  // namespace seriatim::app
