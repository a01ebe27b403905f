#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace seriatim::testing {

int free_port() {
  static int next = 21'000 + getpid() % 5'000;
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const int port = next++;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool ok = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (ok) return port;
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

}  // namespace seriatim::testing
