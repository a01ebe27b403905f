#include "app/alerts/alert_sender.hpp"

#include <algorithm>
#include <utility>

#include "app/alerts/alert_message.hpp"
#include "app/text.hpp"
#include "seriatim/error.hpp"

namespace seriatim::app {

namespace {

using postgres::AlertMessage;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

/// Beyond the longest try, so that no other relay sends it meanwhile.
constexpr milliseconds lease = AlertReceiver::time_max + 5s;
constexpr milliseconds pause_min{5'000};
constexpr milliseconds pause_max{300'000};

milliseconds pause_after(unsigned tries) {
  return std::min(pause_max, pause_min * (1 << std::min(tries - 1, 6U)));
}

}  // namespace

AlertSender::AlertSender(Parts parts)
    : parts_(std::move(parts)),
      receiver_(parts_.config),
      records_(parts_.url),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

AlertSender::~AlertSender() = default;

void AlertSender::wake() {
  const std::lock_guard lock(mutex_);
  due_ = true;
  changed_.notify_all();
}

void AlertSender::send(AlertMessage message) {
  const std::lock_guard lock(mutex_);
  in_memory_.push_back(std::move(message));
  due_ = true;
  changed_.notify_all();
}

bool AlertSender::has_messages() {
  const std::lock_guard lock(mutex_);
  return !in_memory_.empty();
}

void AlertSender::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return due_; })) {
    due_ = false;
    lock.unlock();
    try {
      send_from_memory(stop);
      send_from_database(stop);
    } catch (const std::exception&) {  // the judge meets it too, and says so; what was claimed
    }                                  // comes again
    records_.rest();
    lock.lock();
  }
}

void AlertSender::send_from_memory(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    AlertMessage message;
    {
      const std::lock_guard lock(mutex_);
      if (in_memory_.empty()) return;
      message = in_memory_.front();
      in_memory_.front().tries += 1;
    }
    std::string error;
    if (!try_once(message, error, stop)) return;  // again when woken
    const std::lock_guard lock(mutex_);
    in_memory_.pop_front();
  }
}

void AlertSender::send_from_database(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto message = records_.claim_message(parts_.processes, lease);
    if (!message) break;
    std::string error;
    if (try_once(*message, error, stop)) {
      records_.message_accepted(*message);
    } else {
      records_.message_failed(*message, pause_after(message->tries), error);
    }
  }
}

bool AlertSender::try_once(const AlertMessage& message, std::string& error,
                           const std::stop_token& stop) {
  const auto why = receiver_.send(message, stop);
  const auto what = message_id(message) + " (" + message.summary + ')';
  if (!why) {
    ++accepted_;
    parts_.log.info("sent " + printable(what));
    return true;
  }
  ++failed_;
  error = parts_.secrets.redact(*why);
  if (message.tries == 1) {
    parts_.log.warn("could not send " + printable(what) + ", and tries again: " + printable(error));
  }
  return false;
}

}  // namespace seriatim::app
