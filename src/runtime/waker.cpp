#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "seriatim/source.hpp"

namespace seriatim {

Waker::Waker() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Waker::~Waker() {
  ::close(fd_);
}

void Waker::wake() noexcept {
  const eventfd_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);  // full means awake already
}

void Waker::clear() noexcept {
  eventfd_t count = 0;
  [[maybe_unused]] const auto read = ::read(fd_, &count, sizeof count);
}

bool Waker::wait_until(std::chrono::steady_clock::time_point deadline) const {
  using std::chrono::ceil;
  for (;;) {
    const auto left =
        ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd watched{fd_, POLLIN, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::clamp<long long>(left, 0, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;
    if (left <= 0) return false;
  }
}

}  // namespace seriatim
