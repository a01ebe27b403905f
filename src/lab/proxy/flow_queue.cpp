#include "lab/proxy/flow_queue.hpp"

#include <algorithm>

namespace seriatim::torture {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t queued_bytes_max = 64 << 10;
constexpr milliseconds resend_after{200};  // Linux's least retransmission time-out
constexpr milliseconds resend_after_max{3'200};

}  // namespace

void FlowQueue::set(const Flow& flow) {
  flow_ = flow;
  next_at_ = {};
  resend_ = resend_after;
}

void FlowQueue::push(std::string_view bytes) {
  if (bytes.empty()) return;
  chunks_.push_back({Clock::now(), std::string(bytes)});
  queued_bytes_ += bytes.size();
}

void FlowQueue::clear() {
  chunks_.clear();
  queued_bytes_ = 0;
}

bool FlowQueue::full() const {
  return queued_bytes_ >= queued_bytes_max;
}

FlowQueue::Clock::time_point FlowQueue::due() const {
  if (flow_.held) return Clock::time_point::max();
  if (chunks_.empty()) return Clock::time_point::min();
  return std::max(chunks_.front().at + flow_.latency, next_at_);
}

bool FlowQueue::lost_again() {
  if (flow_.loss <= 0) return false;
  if (std::uniform_real_distribution<>(0, 1)(chance_) >= flow_.loss) {
    resend_ = resend_after;
    return false;
  }
  next_at_ = Clock::now() + resend_;
  resend_ = std::min(resend_ * 2, resend_after_max);
  return true;
}

std::string FlowQueue::take_piece() {
  auto& bytes = chunks_.front().bytes;
  auto size = flow_.slice_bytes > 0 ? std::min(flow_.slice_bytes, bytes.size()) : bytes.size();
  if (const auto rate = flow_.bytes_per_second; rate > 0) {
    size = std::min(size, std::max<std::size_t>(1, rate / 20));  // at least twenty a second
    next_at_ = Clock::now() + std::chrono::microseconds(size * 1'000'000 / rate);
  }
  auto piece = bytes.substr(0, size);
  bytes.erase(0, size);
  queued_bytes_ -= size;
  if (bytes.empty()) chunks_.pop_front();
  return piece;
}

}  // namespace seriatim::torture
