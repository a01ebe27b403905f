#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "isolation/judge.hpp"
#include "postgres/lane_fixture.hpp"

namespace seriatim::isolation {

/// One session: carries out one piece of work at a time, in a thread of its own, because it may
/// have to wait for another session.
class Actor {
 public:
  explicit Actor(std::string name) : name_(std::move(name)) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] virtual int pid() const = 0;

  void begin(const std::string& work) {
    in_flight_ = std::async(std::launch::async, [this, work] { return perform(work); });
  }
  [[nodiscard]] bool busy() const { return in_flight_.valid(); }
  [[nodiscard]] bool done_within(std::chrono::microseconds time) const {
    return in_flight_.wait_for(time) == std::future_status::ready;
  }
  /// What there is to say about the work; "" when it simply went well.
  std::string answer() { return in_flight_.get(); }

 private:
  virtual std::string perform(const std::string& work) = 0;

  std::string name_;
  std::future<std::string> in_flight_;
};

/// A client that writes.
class Writer final : public Actor {
 public:
  Writer(const std::string& name, const testing::TestDatabase& database)
      : Actor(name), session_(database.connect(name)) {}
  [[nodiscard]] int pid() const override { return session_.pid(); }

 private:
  std::string perform(const std::string& sql) override;

  testing::SqlSession session_;
};

/// The real source, driven as a lane drives it; remembers what it delivered.
class Relay final : public Actor {
 public:
  Relay(testing::TestDatabase& database, const std::string& table, OrderBy order);
  [[nodiscard]] int pid() const override { return pid_; }

  /// Delivered since the last `forget`.
  [[nodiscard]] const std::vector<Row>& delivered() const { return delivered_; }
  void forget() { delivered_.clear(); }

  /// One round: answers false when nothing was delivered and nothing waits.
  bool deliver_more();
  /// One check: did the audit say LATE_ROW?
  bool finds_late_row();
  [[nodiscard]] bool has_delivered(const Position& position) const;

 private:
  std::string perform(const std::string& word) override;
  void open();
  void advance();

  testing::SqlSession aside_;
  testing::TestLane lane_;
  int pid_ = 0;
  PollResult round_;
  std::vector<Row> delivered_;
};

/// Two places where a poll can be stopped: before and after it reads the locks. One object at a
/// time.
class Gates {
 public:
  Gates();
  ~Gates();
  Gates(const Gates&) = delete;
  Gates& operator=(const Gates&) = delete;

  void close() { set(true, true); }
  void open_first() { set(false, true); }
  void open_second() { set(false, false); }

  void pass(std::size_t gate);                ///< by the relay's thread: waits while it is closed
  [[nodiscard]] bool somebody_waits() const;  ///< at a gate that is still closed

 private:
  void set(bool first_closed, bool second_closed);

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::array<bool, 2> closed_{};
  std::optional<std::size_t> reached_;  ///< the gate the relay is at, open or not
};

}  // namespace seriatim::isolation
