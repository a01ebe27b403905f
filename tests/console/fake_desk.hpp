// A desk without a database: it answers what a test says, and keeps what was asked.
#pragma once

#include <atomic>
#include <boost/json.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "console/desk.hpp"

namespace seriatim::testing {

class FakeDesk final : public console::Desk {
 public:
  using Order = console::Order;

  std::function<std::string()> on_status = [] { return std::string(R"({"lanes":[]})"); };
  std::function<std::string(const Order&)> on_act;

  Snapshot snapshot() override {
    ++statuses;
    const auto status = on_status();
    return {status, R"({"looked_at":"now"})", status};
  }
  [[nodiscard]] bool knows(const std::string& process) const override {
    return process != "nobody";
  }
  std::string rows(const std::string& process, unsigned lane, unsigned limit) override {
    return note("rows " + known(process) + ' ' + std::to_string(lane) + ' ' +
                std::to_string(limit));
  }
  std::string row(const std::string& process, const std::string& id) override {
    return note("row " + known(process) + ' ' + id);
  }
  std::string parked(const std::string& process, const MaybeText& key, const std::string& after,
                     unsigned limit) override {
    return note("parked " + known(process) + ' ' + key.value_or("any") + " after=" + after + ' ' +
                std::to_string(limit));
  }
  std::string history(const std::string& process, unsigned minutes) override {
    return note("history " + known(process) + ' ' + std::to_string(minutes));
  }
  std::string audits(const std::string& process) override {
    return note("audits " + known(process));
  }
  std::string journal(const MaybeText& process, const std::string& before,
                      unsigned limit) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back("journal " + process.value_or("all") + " before=" + before);
    boost::json::array entries;
    for (auto at = acts_.rbegin(); at != acts_.rend() && entries.size() < limit; ++at) {
      if (at->act.empty()) continue;  // not committed yet
      entries.push_back(entry(*at, static_cast<std::size_t>(acts_.rend() - at)));
    }
    return answer_of(entries);
  }
  std::string journal_after(const std::string& number, unsigned limit) override {
    const std::lock_guard lock(mutex_);
    boost::json::array entries;
    for (auto at = std::stoul(number); at < acts_.size() && entries.size() < limit; ++at) {
      if (!acts_[at].act.empty()) entries.push_back(entry(acts_[at], at + 1));
    }
    return answer_of(entries);
  }
  std::string checks() override { return note("checks"); }
  std::string alerts(const std::string&, unsigned) override {
    const std::lock_guard lock(mutex_);
    return boost::json::serialize(boost::json::object{{"alerts", alerts_}, {"next", nullptr}});
  }
  std::string relays() override { return note("relays"); }
  std::string act(const Order& order) override {
    known(order.process);
    const std::lock_guard lock(mutex_);
    if (on_act) return on_act(order);
    acts_.push_back(order);
    return boost::json::serialize(boost::json::object{{"process", order.process},
                                                      {"done", boost::json::array{order.act}},
                                                      {"journal", std::to_string(acts_.size())}});
  }
  std::string reveal(const std::string& process, const std::string& id, const std::string& who,
                     const std::string& reason) override {
    return note("reveal " + known(process) + ' ' + id + " by " + who +
                (reason.empty() ? "" : ": " + reason));
  }
  std::string recount(const std::string& process, const std::string& who, const Progress& progress,
                      std::stop_token stop) override {
    note("recount " + process + " by " + who);
    progress(10);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return recount_ends_; });
    if (stop.stop_requested()) throw Error("it was ended");
    return R"({"rows":20,"sound":true,"finding":"every row was delivered"})";
  }

  /// An act of a transaction that drew its number before others, and commits after them.
  void commit_late(std::size_t number, const Order& order) {
    const std::lock_guard lock(mutex_);
    if (acts_.size() < number) acts_.resize(number);
    acts_[number - 1] = order;
  }
  void end_recount() {
    const std::lock_guard lock(mutex_);
    recount_ends_ = true;
    changed_.notify_all();
  }
  void show_alert(const std::string& summary) {
    const std::lock_guard lock(mutex_);
    alerts_ = {boost::json::object{{"id", "1"}, {"summary", summary}}};
  }
  [[nodiscard]] std::vector<Order> acts() const {
    const std::lock_guard lock(mutex_);
    return acts_;
  }
  [[nodiscard]] std::string last_asked() const {
    const std::lock_guard lock(mutex_);
    return asked_.empty() ? "" : asked_.back();
  }

  std::atomic<int> statuses = 0;

 private:
  static const std::string& known(const std::string& process) {
    if (process == "nobody") throw console::NotFound("no process is called nobody");
    return process;
  }
  std::string note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(text);
    return boost::json::serialize(boost::json::object{{"asked", text}});
  }
  static boost::json::object entry(const Order& order, std::size_t number) {
    return {{"number", std::to_string(number)}, {"act", order.act}, {"who", order.who}};
  }
  static std::string answer_of(const boost::json::array& entries) {
    return boost::json::serialize(boost::json::object{{"entries", entries}, {"next", nullptr}});
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> asked_;
  std::vector<Order> acts_;
  boost::json::array alerts_;
  bool recount_ends_ = false;
};

}  // namespace seriatim::testing
