#include "console/event_stream.hpp"

#include <utility>

namespace seriatim::console {

EventStream::EventStream(std::size_t pending_bytes_max) : pending_bytes_max_(pending_bytes_max) {}

void EventStream::push(Text text) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (!pending_.empty() && pending_bytes_ + text->size() > pending_bytes_max_) {
    closed_ = true;
    pending_.clear();
  } else {
    pending_bytes_ += text->size();
    pending_.push_back(std::move(text));
  }
  if (wake_) wake_();
}

void EventStream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (wake_) wake_();
}

bool EventStream::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void EventStream::on_news(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

std::vector<EventStream::Text> EventStream::take() {
  const std::lock_guard lock(mutex_);
  pending_bytes_ = 0;
  return std::exchange(pending_, {});
}

EventStream::Text event_text(const std::string& name, const std::string& data,
                             const std::string& id) {
  return std::make_shared<const std::string>(
      "event: " + name + '\n' + (id.empty() ? "" : "id: " + id + '\n') + "data: " + data + "\n\n");
}

}  // namespace seriatim::console
