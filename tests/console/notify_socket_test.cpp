// What a service manager hears, on a socket like its own.
#include "console/notify_socket.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

using seriatim::console::NotifySocket;
using namespace std::chrono_literals;

namespace {

/// An abstract socket, as systemd may hand one out.
class Manager {
 public:
  Manager() : name_("@seriatim-notify-" + std::to_string(::getpid())) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    std::memcpy(place.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    REQUIRE(::bind(socket_, reinterpret_cast<sockaddr*>(&place), bytes) == 0);
  }
  ~Manager() { ::close(socket_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  std::string hear() {
    char text[512];
    const auto bytes = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return bytes < 0 ? "" : std::string(text, static_cast<std::size_t>(bytes));
  }

 private:
  int socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  std::string name_;
};

}  // namespace

TEST_SUITE("notify socket") {
  TEST_CASE("the service manager hears each message as sd_notify(3) writes it") {
    Manager manager;
    NotifySocket socket(manager.name(), 60s);
    CHECK(socket.watchdog_interval() == 20s);
    socket.ready();
    CHECK(manager.hear() == "READY=1");
    socket.status("2 lanes: 1 held here");
    CHECK(manager.hear() == "STATUS=2 lanes: 1 held here");
    socket.watchdog();
    CHECK(manager.hear() == "WATCHDOG=1");
    socket.stopping();
    CHECK(manager.hear() == "STOPPING=1");
    socket.extend_timeout(35s);
    CHECK(manager.hear() == "EXTEND_TIMEOUT_USEC=35000000");
  }

  TEST_CASE("without a manager, or one that is gone, nothing is sent and nothing fails") {
    for (const char* path : {"", "relative/path", "/no/such/socket"}) {
      NotifySocket socket(path, std::nullopt);
      socket.ready();
      CHECK_FALSE(socket.watchdog_interval());
    }
  }
}
