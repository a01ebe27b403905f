#include "postgres/reader/read_ahead.hpp"

#include <exception>
#include <numeric>
#include <utility>

#include "postgres/reader/row_records.hpp"

namespace seriatim::postgres {

namespace {

/// After a connection could not be opened, or was lost: reading ahead is no more than a help.
constexpr std::chrono::seconds pause_after_failure{30};

/// Batches that lie ready. With one, a lane without a handler drained 13 to 40 % fewer rows a
/// second (four pairs of 3 × 500 000, in turns, two busy cores).
constexpr std::size_t batches_max = 2;

std::size_t bytes_in(const PollResult& round) {
  return std::accumulate(
      round.records.begin(), round.records.end(), std::size_t{0},
      [](std::size_t sum, const Record& record) { return sum + bytes_of(record); });
}

}  // namespace

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  changed_.notify_all();
}

void ReadAhead::begin(const Position& after, unsigned rows_max) {
  {
    const std::scoped_lock guard(mutex_);
    const Asked place{after, rows_max};
    if (next() && *next() == place) return;
    clear();
    if (reading_) return;  // forgotten, and still under way
    asked_ = place;
  }
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  changed_.notify_all();
}

bool ReadAhead::is_asked_for(const Position& after) const {
  const std::scoped_lock guard(mutex_);
  return next() && next()->after == after;
}

std::size_t ReadAhead::ready(const Position& after) const {
  const std::scoped_lock guard(mutex_);
  const bool lies = !read_.empty() && read_.front().asked.after == after;
  return lies ? read_.front().round.records.size() : 0;
}

std::optional<PollResult> ReadAhead::take(const std::optional<Position>& after, unsigned rows_max) {
  std::unique_lock guard(mutex_);
  if (!after || !next() || *next() != Asked{*after, rows_max}) return std::nullopt;
  changed_.wait(guard, [this] { return !read_.empty() || !asked_; });
  if (read_.empty()) return std::nullopt;
  auto batch = std::move(read_.front());
  read_.pop_front();
  read_on();  // a poll that failed or found nothing is made once more a batch
  guard.unlock();
  changed_.notify_all();
  return std::move(batch.round);
}

void ReadAhead::forget() {
  const std::scoped_lock guard(mutex_);
  clear();
}

void ReadAhead::clear() {
  read_.clear();
  asked_.reset();
  forgotten_ += 1;
}

/// The place `take` has a batch for, or will have.
const ReadAhead::Asked* ReadAhead::next() const {
  if (!read_.empty()) return &read_.front().asked;
  return asked_ ? &*asked_ : nullptr;
}

/// A lane that waits for what is read must not find that the reading waited for the lane.
void ReadAhead::read_on() {
  if (asked_ || read_.empty() || read_.size() >= batches_max) return;
  if (2 * read_.front().bytes > bytes_max_) return;
  const auto& last = read_.back();
  if (last.round.records.size() < last.asked.rows_max) return;
  asked_ = Asked{last.round.records.back().position, last.asked.rows_max};
}

void ReadAhead::run(const std::stop_token& stop) {
  std::unique_ptr<Reader> reader;
  Clock::time_point not_before{};
  std::unique_lock guard(mutex_);
  while (changed_.wait(guard, stop, [this] { return asked_.has_value(); }) &&
         !stop.stop_requested()) {
    const auto forgotten = forgotten_;
    const auto asked = *asked_;
    std::optional<Batch> batch;
    reading_ = true;
    guard.unlock();
    try {
      if (Clock::now() >= not_before) {
        if (!reader) reader = open_();
        batch = read(*reader, asked);
      }
    } catch (const std::exception&) {  // the lane's own poll will find what is wrong
      reader = nullptr;
      not_before = Clock::now() + pause_after_failure;
    }
    guard.lock();
    if (forgotten == forgotten_) keep(std::move(batch));
    reading_ = false;
    changed_.notify_all();
  }
}

/// Without a batch: not again for the same place before the lane is there.
void ReadAhead::keep(std::optional<Batch> batch) {
  asked_.reset();
  if (!batch) return;
  read_.push_back(std::move(*batch));
  read_on();
}

/// Without rows in it a round is of no use later.
std::optional<ReadAhead::Batch> ReadAhead::read(Reader& reader, const Asked& asked) {
  auto round = reader.read(asked.after, asked.rows_max);
  if (round.records.empty()) return std::nullopt;
  const auto bytes = bytes_in(round);
  return Batch{asked, std::move(round), bytes};
}

}  // namespace seriatim::postgres
