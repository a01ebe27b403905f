#pragma once

#include <chrono>

namespace seriatim::handlers {

/// Which of `events` (as poll(2) has them, errors too) came at the descriptor by `deadline`; 0:
/// none. In a call of a fiber thread the thread goes on with other calls meanwhile. Signals do not
/// end the wait.
///
/// Do not wait in a catch block or in a destructor: C++ counts the exceptions in flight by thread.
[[nodiscard]] short wait_for_events(int descriptor, short events,
                                    std::chrono::steady_clock::time_point deadline);

}  // namespace seriatim::handlers
