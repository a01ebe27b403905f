#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "console/desk.hpp"
#include "console/event_stream.hpp"

namespace seriatim::console {

/// Notifies listeners what changes: `status` (whole, on change), `read` (when it was read, if
/// nothing else changed), `journal` (one entry), `alert` (one), `recount`, and `trouble` if the
/// desk cannot be asked. One thread asks the desk for all of them, only while somebody listens.
///
/// Threads: any.
class Events {
 public:
  struct Settings {
    std::chrono::milliseconds interval{1'000};  ///< between two questions to the desk
    unsigned alerts_every = 5;                  ///< … one of so many asks for alerts, too
    std::function<std::string(std::string)> redact = [](std::string text) { return text; };
  };

  Events(Desk& desk, Settings settings);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// `last_seen`: number of the last journal entry the listener knows; those after it follow.
  [[nodiscard]] std::shared_ptr<EventStream> listen(std::optional<std::uint64_t> last_seen);
  /// To all who listen now.
  void notify(const EventStream::Text& text);
  [[nodiscard]] std::size_t listeners() const;
  /// What a listener may read of an error.
  [[nodiscard]] std::string redacted(const std::string& text) const {
    return settings_.redact(text);
  }

 private:
  struct Listener {
    std::shared_ptr<EventStream> stream;
    std::optional<std::uint64_t> journal_at;  ///< the last entry that it was sent
    bool fresh = true;
  };
  using Listeners = std::vector<std::shared_ptr<Listener>>;

  void run(const std::stop_token& stop);
  [[nodiscard]] Listeners wait_for_listeners(const std::stop_token& stop);
  void ask(const Listeners& listeners);
  void ask_status(const Listeners& listeners);
  void ask_journal(const Listeners& listeners);
  void ask_alerts(const Listeners& listeners);
  void forget();

  Desk& desk_;
  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable_any news_;
  Listeners listeners_;
  bool joined_ = false;  ///< somebody new listens
  // of the thread
  std::string content_;                  ///< of the status
  std::optional<std::uint64_t> newest_;  ///< journal entry
  std::set<std::uint64_t> recent_;       ///< entries up to `newest_`, and not much older
  std::optional<std::map<std::string, std::string>> alerts_;
  std::string trouble_;
  unsigned turn_ = 0;
  std::jthread thread_;
};

}  // namespace seriatim::console
