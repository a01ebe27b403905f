#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "support/fd.hpp"

namespace seriatim::handlers {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "no pipe for a child");
    }
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
  }
  Fd reader;
  Fd writer;
};

}  // namespace seriatim::handlers
