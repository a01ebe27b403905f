#pragma once

#include <cstdio>
#include <cstdlib>

namespace seriatim::core {

/// A broken program stops here, in release builds too: going on could move a cursor wrongly.
inline void ensure(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "seriatim: broken invariant: %s\n", what);
  std::abort();
}

}  // namespace seriatim::core
