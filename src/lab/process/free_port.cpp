#include "lab/process/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace seriatim::lab {

namespace {

/// A name next to the port, as a lock that ends with this process: two programs that ask at
/// once must not be given the same port, for their servers take it later.
bool claim(int port) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const auto text = "seriatim-port-" + std::to_string(port);
  text.copy(name.sun_path + 1, text.size());  // from the second byte on: no file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&name), length) == 0) return true;
  ::close(fd);
  return false;
}

bool is_free(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return ok;
}

}  // namespace

int free_port() {
  static std::atomic<int> next = 21'000 + getpid() % 5'000;
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const int port = next++;
    if (claim(port) && is_free(port)) return port;
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

}  // namespace seriatim::lab
