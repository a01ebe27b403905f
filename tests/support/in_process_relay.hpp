#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "seriatim/relay.hpp"

namespace seriatim::testing {

/// What a handler was given, in order; waits for facts with a deadline.
class DeliveryLog {
 public:
  static constexpr std::chrono::seconds patience{30};

  void add(const Record& record) {
    const std::scoped_lock guard(mutex_);
    records_.push_back(record);
    ids_.insert(record.id());
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<Record> records() const {
    const std::scoped_lock guard(mutex_);
    return records_;
  }
  [[nodiscard]] std::size_t size() const {
    const std::scoped_lock guard(mutex_);
    return records_.size();
  }
  /// False when there were not so many distinct rows in time.
  bool wait_for_rows(std::size_t count) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, patience, [&] { return ids_.size() >= count; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Record> records_;
  std::set<std::string> ids_;
};

/// The last status of each lane, as an observer saw it.
class StatusLog final : public Observer {
 public:
  void lane_changed(const LaneStatus& status) override {
    const std::scoped_lock guard(mutex_);
    all_.push_back(status);
    changed_.notify_all();
  }
  /// Waits until some status satisfied `fact` (past ones count).
  bool wait_for(const std::function<bool(const LaneStatus&)>& fact) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, DeliveryLog::patience, [&] {
      for (const auto& status : all_) {
        if (fact(status)) return true;
      }
      return false;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<LaneStatus> all_;
};

/// A relay on a thread of this program until the end of the scope: for faults of the database,
/// which need no process of their own.
class InProcessRelay {
 public:
  /// `Factory`: as Relay::add takes it.
  template <class Factory>
  InProcessRelay(const std::shared_ptr<Source>& source, const ProcessConfig& config,
                 const Factory& handler)
      : status(std::make_shared<StatusLog>()) {
    relay_.observe(status);
    relay_.add(config, source, handler);
    thread_ = std::jthread([this](const std::stop_token& stop) { relay_.run(stop); });
  }
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  std::shared_ptr<StatusLog> status;

 private:
  Relay relay_;
  std::jthread thread_;
};

}  // namespace seriatim::testing
