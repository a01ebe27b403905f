#include "lab/writers/writers.hpp"

#include <chrono>

#include "lab/writers/session.hpp"

namespace seriatim::lab {

using namespace std::chrono_literals;

namespace {

constexpr auto reconnect_interval = 50ms;
constexpr auto may_begin_interval = 5ms;

}  // namespace

void Writers::start() {
  for (unsigned i = 0; i < options_.count; ++i) {
    threads_.emplace_back([this, i](const std::stop_token& stop) { write(stop, i); });
  }
}

/// All are asked before one is waited for.
void Writers::request_stop() {
  for (auto& thread : threads_) thread.request_stop();
}

void Writers::stop() {
  request_stop();
  threads_.clear();
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

void Writers::write(const std::stop_token& stop, unsigned number) {
  for (std::uint64_t round = 0; !stop.stop_requested(); ++round) {
    try {
      return write_round(stop, number, round);
    } catch (const SqlFailed&) {  // terminated, or the server is away
      if (!options_.reconnects) return note_failure();
      std::this_thread::sleep_for(reconnect_interval);
    } catch (...) {
      return note_failure();
    }
  }
}

void Writers::note_failure() {
  const std::scoped_lock guard(mutex_);
  if (!failed_) failed_ = std::current_exception();
}

void Writers::write_round(const std::stop_token& stop, unsigned number, std::uint64_t round) {
  struct Active {
    explicit Active(std::atomic<unsigned>& active) : count(active) { ++count; }
    ~Active() { --count; }
    std::atomic<unsigned>& count;
  };
  const auto writer = options_.open(number, round);
  while (!stop.stop_requested()) {
    if (options_.may_begin()) {
      const Active active(active_);
      writer->transact();
    } else {
      std::this_thread::sleep_for(may_begin_interval);
    }
  }
}

}  // namespace seriatim::lab
