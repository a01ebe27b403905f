#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Reads the next batch while the handler has one in hand: a poll on a thread of its own.
///
/// What it brings may be used in place of a poll made later: rows that were settled are settled
/// still, and the start of the batch makes them durable. What an operator does meanwhile is seen by
/// the holder at its next claim or look; then `forget` what was read.
class ReadAhead {
 public:
  /// A poll on a connection of its own; throws where it fails.
  using Poll = std::function<Round(const Position& after, unsigned rows_max)>;
  /// Opens that connection; called on the thread.
  using Open = std::function<Poll()>;

  explicit ReadAhead(Open open) : open_(std::move(open)) {}
  ~ReadAhead();  ///< waits for the poll in hand
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Again for the same place: does nothing.
  void begin(const Position& after, unsigned rows_max);
  /// How many rows `take` would bring at once; 0: none yet, or none at all.
  [[nodiscard]] std::size_t ready() const;
  /// The round begun for that place, waited for; nothing where there is none, or no row in it.
  std::optional<Round> take(const std::optional<Position>& after, unsigned rows_max);
  void forget();

 private:
  struct Asked {
    Position after;
    unsigned rows_max = 1;
  };
  void run(const std::stop_token& stop);
  std::optional<Round> read(Poll& poll, const Asked& asked);

  Open open_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Asked> asked_;  ///< since the last `take` or `forget`
  bool reading_ = false;        ///< … and not answered yet
  std::uint64_t number_ = 0;    ///< of the question
  std::optional<Round> answer_;
  std::jthread thread_;
};

}  // namespace seriatim::postgres
