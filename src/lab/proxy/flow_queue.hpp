#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <string_view>

#include "lab/proxy/fault_proxy.hpp"

namespace seriatim::torture {

/// Bytes on their way in one direction: which of them may be handed on, and when.
class FlowQueue {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FlowQueue(std::mt19937_64& chance) : chance_(chance) {}

  void set(const Flow& flow);
  [[nodiscard]] const Flow& flow() const { return flow_; }

  void push(std::string_view bytes);
  void clear();
  [[nodiscard]] bool empty() const { return chunks_.empty(); }
  [[nodiscard]] bool full() const;

  /// When the next piece may go; for an empty queue the past. The distant future while held.
  [[nodiscard]] Clock::time_point due() const;
  /// To be asked once a piece is due: it was lost, and is due again later.
  bool lost_again();
  /// Takes the next piece out, and the time it needs into account.
  [[nodiscard]] std::string take_piece();

 private:
  struct Chunk {
    Clock::time_point at;
    std::string bytes;
  };

  std::mt19937_64& chance_;
  Flow flow_;
  std::deque<Chunk> chunks_;
  std::size_t queued_bytes_ = 0;
  Clock::time_point next_at_;
  std::chrono::milliseconds resend_{0};
};

}  // namespace seriatim::torture
