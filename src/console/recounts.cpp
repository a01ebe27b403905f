#include "console/recounts.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>

namespace seriatim::console {

namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds progress_every{500};

EventStream::Text event_of(const json::object& object) {
  return event_text("recount", json::serialize(object));
}

}  // namespace

void Recounts::start(const std::string& process, const std::string& who) {
  const std::lock_guard lock(mutex_);
  if (!running_.empty()) {
    throw Conflict("a recount of " + running_ + " runs already; wait for it, or end it");
  }
  running_ = process;
  thread_ = std::jthread([this, process, who](const std::stop_token& stop) {
    run(process, who, stop);
    const std::lock_guard ended(mutex_);
    running_.clear();
  });
}

void Recounts::stop(const std::string& process) {
  const std::lock_guard lock(mutex_);
  if (running_ != process) throw NotFound("no recount of " + process + " runs");
  thread_.request_stop();
}

void Recounts::run(const std::string& process, const std::string& who,
                   const std::stop_token& stop) {
  json::object event{
      {"process", process}, {"rows", 0}, {"done", false}, {"sound", nullptr}, {"finding", nullptr}};
  auto next = std::chrono::steady_clock::now();
  const auto progress = [&](std::uint64_t rows) {
    event["rows"] = rows;
    const auto now = std::chrono::steady_clock::now();
    if (now < next) return;
    next = now + progress_every;
    events_.notify(event_of(event));
  };
  try {
    const auto found = json::parse(desk_.recount(process, who, progress, stop));
    for (const auto& member : found.as_object()) event[member.key()] = member.value();
  } catch (const std::exception& error) {
    event["finding"] = events_.redacted(error.what());
  }
  event["done"] = true;
  events_.notify(event_of(event));
}

}  // namespace seriatim::console
