#include "lab/bench/writers.hpp"

#include <barrier>
#include <exception>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "lab/bench/clock.hpp"
#include "lab/bench/database.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned producers = 16;  ///< so that slow commits do not stretch the spacing
constexpr int held_ms_min = 50;
constexpr int held_ms_max = 500;

/// Runs threads to their end and hands on the first thing one of them threw.
class Crew {
 public:
  void add(std::function<void()> work) {
    threads_.emplace_back([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        const std::scoped_lock guard(mutex_);
        if (!failed_) failed_ = std::current_exception();
      }
    });
  }
  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failed_;
  std::vector<std::jthread> threads_;
};

class Writers {
 public:
  Writers(const std::string& url, const Writing& writing, std::stop_token stop)
      : url_(url), writing_(writing), stop_(std::move(stop)) {}

  Written write() {
    Crew crew;
    for (unsigned i = 0; i < producers; ++i) crew.add([this, i] { write_short(i); });
    for (unsigned i = 0; i < writing_.long_writers; ++i) crew.add([this, i] { write_long(i); });
    crew.join();
    return std::move(written_);
  }

 private:
  [[nodiscard]] bool over() const { return stop_.stop_requested() || Clock::now() >= end_; }

  struct Begin {
    Writers* writers;
    void operator()() const noexcept {
      writers->began_ = Clock::now();
      writers->end_ = writers->began_ + writers->writing_.length;
    }
  };

  /// Connected, one row written that is not judged, and so are all the others. Sixteen backends
  /// that start beside the first rows had made of their p50 0.55 ms, where 0.30 are usual.
  Database ready(const std::string& name) {
    try {
      Database database(url_, name);
      database.prepare("insert", sql::bench::insert_event);
      (void)database.execute("insert", {"first"});
      begin_.arrive_and_wait();
      return database;
    } catch (...) {
      begin_.arrive_and_drop();
      throw;
    }
  }

  void write_short(unsigned number) {
    auto database = ready("producer");
    const auto spacing =
        std::chrono::nanoseconds(1'000'000'000LL * producers / writing_.rows_per_s);
    auto due = began_ + spacing * number / producers;
    for (; !over(); due += spacing) {
      std::this_thread::sleep_until(due);
      const auto id = database.execute("insert", {"short"}).number();
      const auto now = now_ns();
      const std::scoped_lock guard(mutex_);
      written_.committed_ns.emplace(id, now);
    }
  }

  void write_long(unsigned number) {
    auto database = ready("long producer");
    std::mt19937 chance(number);
    std::uniform_int_distribution<int> held_ms(held_ms_min, held_ms_max);
    while (!over()) {
      database.run("BEGIN");
      (void)database.execute("insert", {"long"});
      const auto began = now_ns();
      std::this_thread::sleep_for(std::chrono::milliseconds(held_ms(chance)));
      database.run("COMMIT");
      const auto ended = now_ns();
      const std::scoped_lock guard(mutex_);
      written_.held.push_back({began, ended});
    }
  }

  const std::string& url_;
  const Writing& writing_;
  std::stop_token stop_;
  Clock::time_point began_;
  Clock::time_point end_;
  std::barrier<Begin> begin_{static_cast<std::ptrdiff_t>(producers + writing_.long_writers),
                             {this}};
  std::mutex mutex_;
  Written written_;
};

}  // namespace

Written write_events(const std::string& url, const Writing& writing, const std::stop_token& stop) {
  return Writers(url, writing, stop).write();
}

}  // namespace seriatim::bench
