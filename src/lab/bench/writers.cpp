#include "lab/bench/writers.hpp"

#include <barrier>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "lab/bench/clock.hpp"
#include "lab/bench/database.hpp"
#include "lab/writers/writers.hpp"
#include "sql/bench.hpp"

namespace seriatim::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned producers = 16;  ///< so that slow commits do not stretch the spacing
constexpr int held_ms_min = 50;
constexpr int held_ms_max = 500;

/// What the writers of one call share: the moment they begin together, and what they wrote.
class Log {
 public:
  explicit Log(unsigned writers) : begin_(writers + 1, {&began_}) {}

  void begin() { begin_.arrive_and_wait(); }
  void begin_without_me() { begin_.arrive_and_drop(); }
  [[nodiscard]] Clock::time_point began() const { return began_; }

  void note_commit(std::int64_t id, std::int64_t at_ns) {
    const std::scoped_lock guard(mutex_);
    written_.committed_ns.emplace(id, at_ns);
  }
  void note_held(LongWrite held) {
    const std::scoped_lock guard(mutex_);
    written_.held.push_back(held);
  }
  Written take() { return std::move(written_); }

 private:
  struct Begin {
    Clock::time_point* at;
    void operator()() const noexcept { *at = Clock::now(); }
  };
  Clock::time_point began_;
  std::barrier<Begin> begin_;
  std::mutex mutex_;
  Written written_;
};

/// Waits until all writers are connected and each has written one row, which is not judged.
/// Without this the start of 16 backends raised the p50 of the first rows from 0.30 to 0.55 ms.
Database ready(const std::string& url, const std::string& name, Log& log) {
  try {
    Database database(url, name);
    database.prepare("insert", sql::bench::insert_event);
    (void)database.execute("insert", {"first"});
    log.begin();
    return database;
  } catch (...) {
    log.begin_without_me();
    throw;
  }
}

/// Commits a row whenever the next is due.
class Paced final : public lab::Writer {
 public:
  Paced(const std::string& url, Log& log, unsigned number, unsigned rows_per_s)
      : log_(log),
        database_(ready(url, "producer", log)),
        spacing_(std::chrono::nanoseconds(1'000'000'000LL * producers / rows_per_s)),
        due_(log.began() + spacing_ * number / producers) {}

  void transact() override {
    std::this_thread::sleep_until(due_);
    const auto id = database_.execute("insert", {"short"}).number();
    log_.note_commit(id, now_ns());
    due_ += spacing_;
  }

 private:
  Log& log_;
  Database database_;
  const std::chrono::nanoseconds spacing_;
  Clock::time_point due_;
};

/// Inserts a row and holds its transaction open for a drawn time.
class Holding final : public lab::Writer {
 public:
  Holding(const std::string& url, Log& log, unsigned number)
      : log_(log), database_(ready(url, "long producer", log)), chance_(number) {}

  void transact() override {
    database_.run("BEGIN");
    (void)database_.execute("insert", {"long"});
    const auto began = now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(held_ms_(chance_)));
    database_.run("COMMIT");
    log_.note_held({began, now_ns()});
  }

 private:
  Log& log_;
  Database database_;
  std::mt19937 chance_;
  std::uniform_int_distribution<int> held_ms_{held_ms_min, held_ms_max};
};

void wait_until(Clock::time_point end, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_until(lock, stop, end, [] { return false; });
}

}  // namespace

Written write_events(const std::string& url, const Writing& writing, const std::stop_token& stop) {
  Log log(producers + writing.long_writers);
  lab::Writers paced({.count = producers, .open = [&](unsigned number, std::uint64_t) {
                        return std::make_unique<Paced>(url, log, number, writing.rows_per_s);
                      }});
  lab::Writers holding({.count = writing.long_writers, .open = [&](unsigned number, std::uint64_t) {
                          return std::make_unique<Holding>(url, log, number);
                        }});
  paced.start();
  holding.start();
  log.begin();
  wait_until(log.began() + writing.length, stop);
  paced.stop();
  holding.stop();
  return log.take();
}

}  // namespace seriatim::bench
