#include "postgres/read_ahead.hpp"

#include <chrono>
#include <exception>
#include <utility>

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

/// After a connection could not be opened, or was lost: reading ahead is no more than a help.
constexpr std::chrono::seconds pause_after_failure{30};

}  // namespace

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  changed_.notify_all();
}

void ReadAhead::begin(const Position& after, unsigned rows_max) {
  {
    const std::scoped_lock guard(mutex_);
    if (asked_ && asked_->after == after && asked_->rows_max == rows_max) return;
    if (reading_) return;  // forgotten, and still under way
    asked_ = Asked{after, rows_max};
    answer_.reset();
    reading_ = true;
    number_ += 1;
  }
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  changed_.notify_all();
}

std::size_t ReadAhead::ready() const {
  const std::scoped_lock guard(mutex_);
  return asked_ && !reading_ && answer_ ? answer_->records.size() : 0;
}

std::optional<Round> ReadAhead::take(const std::optional<Position>& after, unsigned rows_max) {
  std::unique_lock guard(mutex_);
  if (!asked_ || after != asked_->after || rows_max != asked_->rows_max) return std::nullopt;
  changed_.wait(guard, [this] { return !reading_; });
  asked_.reset();
  return std::exchange(answer_, std::nullopt);
}

void ReadAhead::forget() {
  const std::scoped_lock guard(mutex_);
  asked_.reset();
  answer_.reset();
  number_ += 1;
}

void ReadAhead::run(const std::stop_token& stop) {
  Poll poll;
  Clock::time_point not_before{};
  std::unique_lock guard(mutex_);
  while (changed_.wait(guard, stop, [this] { return reading_; })) {
    const auto number = number_;
    std::optional<Round> round;
    if (asked_ && Clock::now() >= not_before) {
      const auto asked = *asked_;
      guard.unlock();
      try {
        if (!poll) poll = open_();
        round = read(poll, asked);
      } catch (const std::exception&) {  // the lane's own poll will find what is wrong
        poll = nullptr;
        not_before = Clock::now() + pause_after_failure;
      }
      guard.lock();
    }
    if (number == number_) answer_ = std::move(round);
    reading_ = false;
    changed_.notify_all();
  }
}

/// Without rows in it a round is of no use later.
std::optional<Round> ReadAhead::read(Poll& poll, const Asked& asked) {
  auto round = poll(asked.after, asked.rows_max);
  return round.records.empty() ? std::nullopt : std::optional(std::move(round));
}

}  // namespace seriatim::postgres
