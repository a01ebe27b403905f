#include "app/traces/span_exporter.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "app/traces/otlp_json.hpp"
#include "core/backoff.hpp"
#include "seriatim/error.hpp"
#include "support/excerpt.hpp"
#include "support/retry_after.hpp"

namespace seriatim::app {

namespace {

/// The statuses that OTLP lets a client try again.
bool may_be_tried_again(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

double random_fraction() {
  thread_local std::minstd_rand source{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(source);
}

}  // namespace

SpanExporter::SpanExporter(const TracesConfig& config, const Secrets& secrets, LogWriter log)
    : SpanExporter(config, secrets, std::move(log), Pace()) {}

SpanExporter::SpanExporter(const TracesConfig& config, const Secrets& secrets, LogWriter log,
                           Pace pace)
    : config_(config),
      secrets_(secrets),
      log_(std::move(log)),
      pace_(pace),
      poster_(config.collector),
      thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  {
    const std::lock_guard lock(mutex_);
    stop_by_ = Clock::now() + config_.collector.timeout;
  }
  changed_.notify_all();
  thread_.join();
}

void SpanExporter::offer(CallSpan&& span) noexcept {
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    try {
      if (waiting_.size() < queue_max) {
        waiting_.push_back(std::move(span));
        wakes = waiting_.size() == 1 || waiting_.size() == batch_max;
      } else {
        ++counts_.dropped;
      }
    } catch (const std::exception&) {  // out of memory
      ++counts_.dropped;
    }
  }
  if (wakes) changed_.notify_all();
}

SpanCounts SpanExporter::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void SpanExporter::add(std::uint64_t SpanCounts::*what, std::size_t spans) {
  const std::lock_guard lock(mutex_);
  counts_.*what += spans;
}

bool SpanExporter::has_room() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() < queue_max;
}

// --- the thread ---------------------------------------------------------------------------------

void SpanExporter::run() noexcept {
  for (;;) {
    try {
      const auto batch = take();
      if (batch.empty()) return;
      send(batch);
    } catch (const std::exception&) {  // out of memory
      drop_waiting();
    }
  }
}

void SpanExporter::drop_waiting() noexcept {
  const std::lock_guard lock(mutex_);
  counts_.dropped += waiting_.size();
  waiting_.clear();
}

SpanExporter::Batch SpanExporter::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_by_ || !waiting_.empty(); });
  changed_.wait_for(lock, pace_.batch_interval,
                    [&] { return stop_by_ || waiting_.size() >= batch_max; });
  const auto end =
      waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), batch_max));
  Batch batch(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return batch;
}

void SpanExporter::send(const Batch& batch) noexcept {
  try {
    const auto body = otlp_request(batch, config_.service_name);
    for (unsigned tries = 0; tries < tries_max && wait_for_turn(); ++tries) {
      if (try_to_send(body, batch.size())) return;
      if (!has_room()) break;  // newer spans matter more
    }
  } catch (const Error& error) {  // a ca_file that is gone
    note_lost(foreign(error.what()));
  } catch (const std::exception&) {  // out of memory
  }
  add(&SpanCounts::failed, batch.size());
}

/// False: to be tried again.
bool SpanExporter::try_to_send(const std::string& body, std::size_t spans) {
  const auto result = poster_.post(body, deadline());
  if (const auto* failure = std::get_if<handlers::HttpFailure>(&result)) {
    put_off(foreign(failure->what), std::nullopt);
    return false;
  }
  const auto& answer = std::get<handlers::HttpAnswer>(result);
  if (answer.status >= 200 && answer.status < 300) {
    taken(spans, answer.body);
    return true;
  }
  const auto why = "HTTP " + std::to_string(answer.status) +
                   (answer.body.empty() ? "" : ": " + foreign(answer.body));
  if (!may_be_tried_again(answer.status)) {
    refused(spans, why);
    return true;
  }
  put_off(why, handlers::parse_retry_after(answer.retry_after, std::chrono::system_clock::now()));
  return false;
}

void SpanExporter::taken(std::size_t spans, const std::string& answer) {
  failures_in_row_ = 0;
  if (std::exchange(lost_, false)) {
    log_({LogLevel::info, "traces: " + poster_.origin() + " takes spans again", {}});
  }
  const auto partial = partial_success(answer);
  const auto rejected = std::min<std::uint64_t>(partial.rejected, spans);
  add(&SpanCounts::rejected, rejected);
  add(&SpanCounts::sent, spans - rejected);
  if (rejected == 0 || std::exchange(rejection_noted_, true)) return;
  log_({LogLevel::warn,
        "traces: " + poster_.origin() + " rejected " + std::to_string(rejected) + " of " +
            std::to_string(spans) + " spans: " + foreign(partial.why) +
            "; seriatim_spans_total counts further ones",
        {}});
}

/// Redacted before it is cut, so that no part of a secret is left at the end.
std::string SpanExporter::foreign(const std::string& text) const {
  return handlers::excerpt(secrets_.redact(text));
}

void SpanExporter::refused(std::size_t spans, const std::string& why) {
  add(&SpanCounts::rejected, spans);
  note_lost(why);
}

/// One failure is no loss: collectors are restarted, and answer 429 when they are busy.
void SpanExporter::put_off(const std::string& why,
                           std::optional<std::chrono::milliseconds> retry_after) {
  ++failures_in_row_;
  next_try_ =
      Clock::now() + core::backoff(pace_.backoff, failures_in_row_, random_fraction(), retry_after);
  if (failures_in_row_ > 1) note_lost(why);
}

void SpanExporter::note_lost(const std::string& why) noexcept try {
  if (std::exchange(lost_, true)) return;
  log_({LogLevel::warn,
        "traces: " + poster_.origin() + " takes no spans: " + why +
            "; spans are dropped until it does, and delivery goes on",
        {}});
} catch (const std::exception&) {  // out of memory: a line less
}

/// False: the program ends before.
bool SpanExporter::wait_for_turn() {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, next_try_, [&] { return stop_by_ && *stop_by_ < next_try_; });
  return !stop_by_ || (next_try_ <= *stop_by_ && Clock::now() < *stop_by_);
}

SpanExporter::Clock::time_point SpanExporter::deadline() const {
  const std::lock_guard lock(mutex_);
  const auto usual = Clock::now() + config_.collector.timeout;
  return stop_by_ ? std::min(usual, *stop_by_) : usual;
}

}  // namespace seriatim::app
