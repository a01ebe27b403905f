// What is before and after a relay in the scripts of bench: `bench_stand receiver MS` answers every
// POST after so long, `bench_stand proxy PORT MS` hands bytes on to PORT, so long later each way.
// `bench_stand keys MS` is a receiver that is told on its standard input which key fares badly.
// These print their port on a line and stay until their standard input ends.
// `bench_stand post PORT CONNECTIONS REQUESTS` is the limit: bare loops, each with its connection.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "lab/bench/raw_http.hpp"
#include "lab/http/http_service.hpp"
#include "lab/proxy/fault_proxy.hpp"

namespace {

void say(const std::string& line) {
  std::cout << line << std::endl;
}

void stay(
    unsigned short port, const std::function<void(const std::string&)>& told = [](const auto&) {}) {
  say(std::to_string(port));
  for (std::string line; std::getline(std::cin, line);) told(line);
}

/// Every call with its key and id, which come as the path /KEY/ID, and when it came.
class KeyReceiver {
 public:
  explicit KeyReceiver(std::chrono::milliseconds delay) : delay_(delay) {}

  seriatim::lab::Reply answer(const seriatim::lab::ReceivedRequest& request) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto id_at = request.target.rfind('/');
    Call call{std::chrono::nanoseconds(now).count(), request.target.substr(1, id_at - 1),
              request.target.substr(id_at + 1)};
    const std::scoped_lock guard(mutex_);
    call.accepted = call.key != bad_key_;
    auto reply = seriatim::lab::Reply::with_status(call.accepted ? 200 : 500);
    reply.delay = delay_;
    if (!call.accepted && hangs_) reply.act = seriatim::lab::Reply::Act::hang;
    if (call.accepted) accepted_.insert(call.id);
    calls_.push_back(std::move(call));
    return reply;
  }

  /// "refuse KEY", "hang KEY", "well"; "accepted" says how many rows are; "report FILE" writes the
  /// calls, a line each.
  void told(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string what;
    words >> verb >> what;
    const std::scoped_lock guard(mutex_);
    if (verb == "accepted") return say(std::to_string(accepted_.size()));
    if (verb == "report") {
      report(what);
    } else {
      bad_key_ = what;
      hangs_ = verb == "hang";
    }
    say("done");
  }

 private:
  struct Call {
    std::int64_t at_ns;
    std::string key;
    std::string id;
    bool accepted = true;
  };

  void report(const std::string& file) const {
    std::ofstream out(file);
    for (const auto& [at, key, id, accepted] : calls_) {
      out << at << ' ' << key << ' ' << id << ' ' << accepted << '\n';
    }
  }

  const std::chrono::milliseconds delay_;
  std::mutex mutex_;
  std::string bad_key_;  ///< empty: none
  bool hangs_ = false;   ///< … else it is refused
  std::set<std::string> accepted_;
  std::vector<Call> calls_;
};

int receive_keys(std::chrono::milliseconds delay) {
  KeyReceiver keys(delay);
  seriatim::lab::HttpService receiver({.record = false});
  receiver.reply_with([&](const auto& request) { return keys.answer(request); });
  stay(receiver.port(), [&](const std::string& line) { keys.told(line); });
  return 0;
}

/// Says how many requests a second all loops did together.
int post(unsigned short port, unsigned connections, std::uint64_t requests) {
  const auto began = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> loops;
    for (unsigned i = 0; i < connections; ++i) {
      loops.emplace_back([&] { (void)seriatim::bench::raw_http(port, requests); });
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  say(std::to_string(static_cast<double>(connections * requests) / took.count()));
  return 0;
}

int receive(std::chrono::milliseconds delay) {
  seriatim::lab::HttpService receiver({.record = false});
  receiver.reply_with([delay](const seriatim::lab::ReceivedRequest&) {
    seriatim::lab::Reply reply;
    reply.delay = delay;
    return reply;
  });
  stay(receiver.port());
  return 0;
}

int hand_on(unsigned short port, std::chrono::milliseconds delay) {
  seriatim::torture::FaultProxy proxy("127.0.0.1", port);
  proxy.set({{.latency = delay}, {.latency = delay}});
  stay(proxy.port());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  if (given.size() == 2 && given[0] == "receiver") {
    return receive(std::chrono::milliseconds(std::stoi(given[1])));
  }
  if (given.size() == 3 && given[0] == "proxy") {
    return hand_on(static_cast<unsigned short>(std::stoi(given[1])),
                   std::chrono::milliseconds(std::stoi(given[2])));
  }
  if (given.size() == 2 && given[0] == "keys") {
    return receive_keys(std::chrono::milliseconds(std::stoi(given[1])));
  }
  if (given.size() == 4 && given[0] == "post") {
    return post(static_cast<unsigned short>(std::stoi(given[1])),
                static_cast<unsigned>(std::stoul(given[2])), std::stoull(given[3]));
  }
  std::fputs("bench_stand receiver MS | keys MS | proxy PORT MS | post PORT CONNECTIONS REQUESTS\n",
             stderr);
  return 2;
}
