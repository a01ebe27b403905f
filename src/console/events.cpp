#include "console/events.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>

namespace seriatim::console {

namespace {

namespace json = boost::json;

constexpr unsigned journal_rows = 200;
/// So many numbers before the newest are read again: numbers are drawn before the commit, so an
/// entry may appear after one with a greater number.
constexpr std::uint64_t journal_overlap = 20;

std::uint64_t number_of(const json::value& entry) {
  const auto& text = entry.at("number").as_string();
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Events::Events(Desk& desk, Settings settings)
    : desk_(desk),
      settings_(std::move(settings)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Events::~Events() {
  thread_.request_stop();
  thread_.join();
  for (const auto& listener : listeners_) listener->stream->close();
}

std::shared_ptr<EventStream> Events::listen(std::optional<std::uint64_t> last_seen) {
  auto listener = std::make_shared<Listener>();
  listener->stream = std::make_shared<EventStream>();
  listener->journal_at = last_seen;
  const std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
  joined_ = true;
  news_.notify_all();
  return listener->stream;
}

void Events::notify(const EventStream::Text& text) {
  const std::lock_guard lock(mutex_);
  for (const auto& listener : listeners_) listener->stream->push(text);
}

std::size_t Events::listeners() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(listeners_.begin(), listeners_.end(),
                    [](const auto& listener) { return !listener->stream->is_closed(); }));
}

void Events::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto listeners = wait_for_listeners(stop);
    if (!listeners.empty()) ask(listeners);
    std::unique_lock lock(mutex_);
    news_.wait_for(lock, stop, settings_.interval, [&] { return joined_; });
  }
}

Events::Listeners Events::wait_for_listeners(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::erase_if(listeners_, [](const auto& listener) { return listener->stream->is_closed(); });
  if (listeners_.empty()) {
    forget();
    news_.wait(lock, stop, [&] { return joined_; });
  }
  joined_ = false;
  return listeners_;
}

/// What was known is old by the time that somebody listens again.
void Events::forget() {
  content_.clear();
  newest_.reset();
  recent_.clear();
  alerts_.reset();
  trouble_.clear();
  turn_ = 0;
}

void Events::ask(const Listeners& listeners) {
  try {
    ask_status(listeners);
    ask_journal(listeners);
    if (turn_++ % settings_.alerts_every == 0) ask_alerts(listeners);
    trouble_.clear();
  } catch (const std::exception& error) {
    const auto text = settings_.redact(error.what());
    const auto event = event_text("trouble", json::serialize(json::object{{"detail", text}}));
    for (const auto& listener : listeners) {
      if (listener->fresh || text != trouble_) listener->stream->push(event);
      listener->fresh = false;
    }
    trouble_ = text;
  }
}

void Events::ask_status(const Listeners& listeners) {
  auto now = desk_.snapshot();
  const bool changed = now.content != content_ || !trouble_.empty();
  EventStream::Text whole, times;  // the same for all who get it, and made only for them
  for (const auto& listener : listeners) {
    if (std::exchange(listener->fresh, false) || changed) {
      if (!whole) whole = event_text("status", now.status);
      listener->stream->push(whole);
    } else {
      if (!times) times = event_text("read", now.times);
      listener->stream->push(times);
    }
  }
  content_ = std::move(now.content);
}

void Events::ask_journal(const Listeners& listeners) {
  if (!newest_) {
    const auto known = json::parse(desk_.journal({}, "", journal_overlap));
    for (const auto& entry : known.at("entries").as_array()) recent_.insert(number_of(entry));
    newest_ = recent_.empty() ? 0 : *recent_.rbegin();
  }
  const auto overlap_from = *newest_ - std::min(*newest_, journal_overlap);
  auto oldest = overlap_from;
  for (const auto& listener : listeners) {
    if (!listener->journal_at) listener->journal_at = *newest_;
    oldest = std::min(oldest, *listener->journal_at);
  }
  const auto answer = json::parse(desk_.journal_after(std::to_string(oldest), journal_rows));
  for (const auto& entry : answer.at("entries").as_array()) {
    const auto number = number_of(entry);
    const bool appeared = number > overlap_from && recent_.insert(number).second;
    // A listener goes on after the id it was sent last, which must not go back.
    const auto id = appeared ? std::max(*newest_, number) : number;
    const auto text = event_text("journal", json::serialize(entry), std::to_string(id));
    for (const auto& listener : listeners) {
      if (!appeared && number <= *listener->journal_at) continue;
      listener->stream->push(text);
      listener->journal_at = std::max(*listener->journal_at, number);
    }
    newest_ = std::max(*newest_, number);
  }
  while (!recent_.empty() && *recent_.begin() + journal_overlap < *newest_) {
    recent_.erase(recent_.begin());
  }
}

/// A listener asks for those that are open once it listens.
void Events::ask_alerts(const Listeners& listeners) {
  std::map<std::string, std::string> now;
  const auto answer = json::parse(desk_.alerts("", 50));
  for (const auto& alert : answer.at("alerts").as_array()) {
    now.emplace(json::serialize(alert.at("id")), json::serialize(alert));
  }
  for (const auto& [id, text] : now) {
    if (!alerts_) break;
    const auto before = alerts_->find(id);
    if (before != alerts_->end() && before->second == text) continue;
    for (const auto& listener : listeners) listener->stream->push(event_text("alert", text));
  }
  alerts_ = std::move(now);
}

}  // namespace seriatim::console
