#pragma once

#include <cstddef>
#include <memory>

#include "seriatim/call_thread.hpp"

namespace seriatim::handlers {

/// A thread whose calls run on fibers. A call that waits by `wait_for_events` lets the others go
/// on; one that waits in any other way holds them up. Everything that waits in the HTTP client does
/// so there.
///
/// The thread begins with the first call. As many fibers are made as calls were in flight at once,
/// and kept.
[[nodiscard]] std::unique_ptr<CallThread> make_fiber_thread();

/// Of a call. Below it is a page that ends the program when it is touched. A POST over TLS with a
/// refused certificate takes the most, 22 KB (fiber_thread_test.cpp measures it); sanitizers take
/// several times that. What is never touched takes no memory.
inline constexpr std::size_t fiber_stack_bytes = 256 << 10;

}  // namespace seriatim::handlers
