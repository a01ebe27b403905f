#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Reads the next batch, and the one after it, while the handler has one in flight: polls on a
/// thread of its own.
///
/// What it brings may be used in place of a poll made later: rows that were settled are settled
/// still, and the start of the batch makes them durable. What an operator does meanwhile is seen by
/// the holder at its next claim or read; then `forget` what was read.
class ReadAhead {
 public:
  /// Polls on a connection of its own; throws where it fails.
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual PollResult read(const Position& after, unsigned rows_max) = 0;
  };
  /// Opens that connection; called on the thread.
  using Open = std::function<std::unique_ptr<Reader>()>;

  /// A second batch is asked for if the first takes no more than half of `bytes_max`.
  ReadAhead(Open open, std::size_t bytes_max) : open_(std::move(open)), bytes_max_(bytes_max) {}
  ~ReadAhead();  ///< waits for the poll in flight
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Again for the same place: does nothing.
  void begin(const Position& after, unsigned rows_max);
  [[nodiscard]] bool is_asked_for(const Position& after) const;
  /// How many rows `take` would bring for that place at once; 0: none yet, or none at all.
  [[nodiscard]] std::size_t ready(const Position& after) const;
  /// The round read for that place, waited for; nothing where there is none, or no row in it.
  std::optional<PollResult> take(const std::optional<Position>& after, unsigned rows_max);
  void forget();

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked {
    Position after;
    unsigned rows_max = 1;
    bool operator==(const Asked&) const = default;
  };
  struct Batch {
    Asked asked;
    PollResult round;
    std::size_t bytes = 0;
  };

  void run(const std::stop_token& stop);
  std::optional<Batch> read(Reader& reader, const Asked& asked);
  void keep(std::optional<Batch> batch);
  [[nodiscard]] const Asked* next() const;
  void read_on();
  void clear();

  Open open_;
  std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Batch> read_;       ///< in order, each after the last row of the one before
  std::optional<Asked> asked_;   ///< the batch after those
  bool reading_ = false;         ///< the thread, a batch asked for or one forgotten meanwhile
  std::uint64_t forgotten_ = 0;  ///< times
  std::jthread thread_;
};

}  // namespace seriatim::postgres
