#include "postgres/reader/notification_listener.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace seriatim::postgres {

namespace {

const std::string insert_channel = "seriatim";
const std::string operator_channel = "seriatim_control";

}  // namespace

NotificationListener::NotificationListener(Connection& connection, const Table& table,
                                           std::string process, Waker& waker, bool listen)
    : connection_(connection), table_oid_(table.oid), process_(std::move(process)), waker_(waker) {
  if (!listen) return;
  const bool hears = connection_.listen(insert_channel) && connection_.listen(operator_channel);
  hints_ = hears && table.hinted;
}

void NotificationListener::gather() {
  for (const auto& [channel, payload] : connection_.notifications()) {
    const bool ours = payload == (channel == insert_channel ? table_oid_ : process_);
    hinted_ = hinted_ || ours;
    heard_ = heard_ || ours;
  }
}

bool NotificationListener::hinted() {
  gather();
  return std::exchange(hinted_, false);
}

bool NotificationListener::wait_until(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::ceil;
  for (;;) {
    if (hinted()) return true;
    const auto left = ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    std::array<pollfd, 2> watched{pollfd{connection_.socket(), POLLIN, 0},
                                  pollfd{waker_.fd(), POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
    if (ready < 0 && errno != EINTR) return true;
    if (ready > 0 && watched[1].revents != 0) return true;
    if (ready <= 0 && left <= 0) return false;
  }
}

}  // namespace seriatim::postgres
