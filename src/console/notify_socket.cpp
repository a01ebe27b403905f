#include "console/notify_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace seriatim::console {

NotifySocket::NotifySocket(std::string_view path, std::optional<std::chrono::microseconds> watchdog)
    : watchdog_(watchdog) {
  sockaddr_un place{};
  const bool usable = (path.starts_with('/') || path.starts_with('@')) && path.size() > 1 &&
                      path.size() < sizeof place.sun_path;
  if (!usable) return;
  place.sun_family = AF_UNIX;
  std::memcpy(place.sun_path, path.data(), path.size());
  if (path.front() == '@') place.sun_path[0] = '\0';
  const auto bytes = offsetof(sockaddr_un, sun_path) + path.size();
  address_.assign(reinterpret_cast<const char*>(&place), bytes);
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

NotifySocket::~NotifySocket() {
  if (socket_ >= 0) ::close(socket_);
}

std::optional<std::chrono::microseconds> NotifySocket::watchdog_interval() const {
  if (socket_ < 0 || !watchdog_) return std::nullopt;
  return *watchdog_ / 3;
}

void NotifySocket::send(const std::string& text) noexcept {
  if (socket_ < 0) return;
  (void)::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(address_.data()),
                 static_cast<socklen_t>(address_.size()));
}

}  // namespace seriatim::console
