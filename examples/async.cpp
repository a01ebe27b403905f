// Delivers each row of public.charges in DATABASE_URL to the file TARGET, and ends. Up to 100 calls
// are in flight, and one fsync is for all that wait: calls begin, and a thread answers them later.
#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <seriatim/seriatim.hpp>
#include <thread>

class FileHandler final : public seriatim::AsyncHandler {
 public:
  explicit FileHandler(const char* path)
      : file_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
        thread_([this](const std::stop_token& end) { write_until(end); }) {}

  void begin(const seriatim::Record& record, const seriatim::CallContext& /*context*/,
             seriatim::Completion done) override {
    if (!record.payload) throw seriatim::CannotRender("the payload is NULL");
    const std::scoped_lock lock(mutex_);
    lines_ += record.idempotency_key() + ' ' + *record.payload + '\n';
    calls_.push_back(std::move(done));
    more_.notify_one();
  }

 private:
  void write_until(const std::stop_token& end) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!more_.wait(lock, end, [this] { return !calls_.empty(); })) return;
      const auto lines = std::exchange(lines_, {});
      const auto calls = std::exchange(calls_, {});
      lock.unlock();
      const bool written =
          ::write(file_, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) &&
          ::fsync(file_) == 0;
      for (const auto& done : calls) {
        done(written ? seriatim::Outcome::done() : seriatim::Outcome::unknown("cannot write"));
      }
    }
  }

  int file_;
  std::mutex mutex_;
  std::condition_variable_any more_;
  std::string lines_;
  std::vector<seriatim::Completion> calls_;
  std::jthread thread_;
};

int main() {
  const std::string database = std::getenv("DATABASE_URL");
  seriatim::install_schema(database);
  seriatim::Relay relay({.drain = true});
  relay.add(
      {.name = "charges", .in_flight = 100, .commit_every = 100},
      seriatim::postgres_source(database, {.table = "public.charges", .key = "payload->>'phone'"}),
      [](unsigned) { return std::make_unique<FileHandler>(std::getenv("TARGET")); });
  for (const auto& lane : relay.run()) {
    if (!lane.reason) continue;
    std::cerr << "halted at row " << lane.row_id.value_or("?") << ": " << lane.detail << '\n';
    return 1;
  }
}
