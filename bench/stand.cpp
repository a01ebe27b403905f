// What is before and after a relay in bench/lane_load.py: `bench_stand receiver MS` answers
// every POST after so long, `bench_stand proxy PORT MS` hands bytes on to PORT, so long later each
// way.
// Both print their port on a line and stay until their standard input ends.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "lab/http/http_service.hpp"
#include "lab/proxy/fault_proxy.hpp"

namespace {

void stay(unsigned short port) {
  std::printf("%d\n", port);
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
  }
}

int receive(std::chrono::milliseconds delay) {
  seriatim::lab::HttpService receiver;
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
  std::fputs("bench_stand receiver MS | bench_stand proxy PORT MS\n", stderr);
  return 2;
}
