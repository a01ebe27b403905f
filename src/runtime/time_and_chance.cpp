#include "runtime/time_and_chance.hpp"

#include <random>

namespace seriatim::runtime {

namespace {

class Real final : public TimeAndChance {
 public:
  Time now() override { return std::chrono::steady_clock::now(); }
  double chance() override { return between_(random_); }
  bool sleep_until(Time deadline, const Waker& waker) override {
    return waker.wait_until(deadline);
  }

 private:
  std::mt19937_64 random_{std::random_device{}()};
  std::uniform_real_distribution<double> between_{0.0, 1.0};
};

}  // namespace

std::shared_ptr<TimeAndChance> real_time_and_chance() {
  return std::make_shared<Real>();
}

}  // namespace seriatim::runtime
