#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace seriatim::console {

/// One listener of server-sent events: any thread pushes, the server sends. A listener that does
/// not read is dropped; nothing is kept for it without bound.
///
/// Threads: any.
class EventStream {
 public:
  /// Events as they are sent: "event: …\ndata: …\n\n". Listeners share the text.
  using Text = std::shared_ptr<const std::string>;

  explicit EventStream(std::size_t pending_bytes_max = std::size_t{4} << 20);

  /// Closes the stream if more than the bound waits to be sent already.
  void push(Text text);
  void close();
  [[nodiscard]] bool is_closed() const;

  /// Of the server: `wake` is called after each push and close, on that thread, until it is
  /// replaced.
  void on_news(std::function<void()> wake);
  /// Of the server: what waits to be sent.
  [[nodiscard]] std::vector<Text> take();

 private:
  const std::size_t pending_bytes_max_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<Text> pending_;
  std::size_t pending_bytes_ = 0;
  bool closed_ = false;
};

/// The text of one event. `data` must be one line; `id` may be empty.
[[nodiscard]] EventStream::Text event_text(const std::string& name, const std::string& data,
                                           const std::string& id = {});

}  // namespace seriatim::console
