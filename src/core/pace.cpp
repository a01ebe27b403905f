#include "core/pace.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/mutant.hpp"

namespace seriatim::core {

using std::chrono::nanoseconds;

Pace::Bucket::Bucket(const RateLimit& limit, unsigned parts) {
  if (limit.rows == 0) return;
  interval_ = std::max(nanoseconds(limit.per) * parts / limit.rows, nanoseconds(1));
  const auto burst = std::max<nanoseconds::rep>(nanoseconds(burst_time) / interval_, 1);
  tolerance_ = interval_ * (burst - 1);
}

Pace::Pace(const ProcessConfig& config)
    : of_process_(config.rate_limit, std::max(config.lanes, 1U)),
      of_key_(config.key_rate_limit, 1) {}

Time Pace::free_at() const {
  return full_at_ ? of_process_.free_at(*full_at_) : Time::min();
}

Time Pace::key_free_at(const Key& key) const {
  if (!limits_keys()) return Time::min();
  const auto found = keys_.find(key);
  return found == keys_.end() ? Time::min() : of_key_.free_at(found->second);
}

bool Pace::is_free(const Key& key, Time now) const {
  return free_at() <= now && key_free_at(key) <= now;
}

std::size_t Pace::free_soon(Time now) const {
  if (!of_process_.limits()) return std::numeric_limits<std::size_t>::max();
  const auto until_next = more_free_at(0, now) - now;
  if (until_next > nanoseconds(0)) return 0;
  return static_cast<std::size_t>(-until_next / of_process_.interval()) + 1;
}

Time Pace::more_free_at(std::size_t rows, Time now) const {
  const auto full_at = std::max(full_at_.value_or(now), now);
  return of_process_.free_at(full_at) - burst_time +
         of_process_.interval() * static_cast<std::int64_t>(rows);
}

void Pace::take(const Key& key, Time now) {
  if (mutant(Mutant::rate_not_kept)) return;
  if (of_process_.limits()) full_at_ = of_process_.take(full_at_.value_or(now), now);
  if (!limits_keys()) return;
  forget(now);
  const auto known = keys_.find(key);
  remember(key, of_key_.take(known == keys_.end() ? now : known->second, now));
}

void Pace::give_back(const Key& key) {
  if (full_at_) *full_at_ -= of_process_.interval();
  const auto known = keys_.find(key);
  if (known != keys_.end()) remember(key, known->second - of_key_.interval());
}

void Pace::remember(const Key& key, Time full_at) {
  keys_[key] = full_at;
  called_.emplace_back(full_at, key);
}

void Pace::forget(Time now) {
  while (!called_.empty() && (called_.front().first <= now || called_.size() >= kept_max)) {
    const auto& [full_at, key] = called_.front();
    const auto found = keys_.find(key);
    if (found != keys_.end() && found->second == full_at) keys_.erase(found);
    called_.pop_front();
  }
}

}  // namespace seriatim::core
