#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "redis/flight.hpp"
#include "redis/redis_config.hpp"
#include "redis/redis_connection.hpp"
#include "support/pipelined_handler.hpp"

namespace seriatim::handlers {

/// Appends to Redis Streams; the entry's id is the row's sequence number, so that a repeat is
/// refused by the server. What answers mean is in README.md in this folder.
///
/// Order: rows are sent only where the stream is known to end before the first of them: by the
/// answer to the rows before, or else by reading, which finds those that are there already.
class RedisHandler final : public PipelinedHandler {
 public:
  /// Throws CannotRender for a configuration that `read_redis_config` would have complained about.
  explicit RedisHandler(RedisHandlerConfig config);

  std::optional<Rendering> render(const Record& record) override { return flights_.render(record); }

 private:
  struct Step : RoundResult {
    bool hung_up = false;  ///< without an answer, on a connection of before
  };

  [[nodiscard]] std::optional<Outcome> begin(Rows rows, Clock::time_point deadline) override;
  [[nodiscard]] bool add(Rows rows, std::size_t row) override;
  [[nodiscard]] RoundResult settle(Rows sent, Clock::time_point deadline) override;

  [[nodiscard]] bool knows_end(const Flight& flight) const;
  [[nodiscard]] Step check(const Flight& flight, Clock::time_point deadline);
  [[nodiscard]] Step judge_check(const Flight& flight, const RedisReply& reply, bool reconnected,
                                 Clock::time_point deadline);
  [[nodiscard]] std::optional<Outcome> lost(const Flight& flight, const std::string& last);
  [[nodiscard]] Step append(const Flight& flight, Clock::time_point deadline);
  [[nodiscard]] Step judge_append(const Flight& flight, const RedisConnection::Answer& answer);
  [[nodiscard]] Step refused(const Flight& flight, const Landing& landing);
  [[nodiscard]] Step failed(const RedisConnection::Answer& answer, bool was_open) const;
  void add_wait(RedisCommands& commands, Clock::time_point deadline) const;
  [[nodiscard]] std::optional<Outcome> missing_replicas(
      const RedisConnection::Answer& answer) const;
  void acknowledge(const Flight& flight, std::size_t done);

  RedisHandlerConfig config_;
  Flights flights_;
  RedisConnection connection_;
  Flight flight_;
  std::size_t rows_max_ = Flights::rows_max;  ///< of a flight: those before one that was refused
  std::string acknowledged_stream_;           ///< where the last row the server acknowledged is
  std::uint64_t acknowledged_sequence_ = 0;
  std::string end_stream_;  ///< of which the end is known …
  std::uint64_t end_ = 0;   ///< … no entry of a higher number was ever there
  bool unsure_ = true;      ///< no: read first
};

}  // namespace seriatim::handlers
