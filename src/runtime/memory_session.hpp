#pragma once

#include <memory>
#include <string>

#include "runtime/memory_state.hpp"

namespace seriatim::testing::memory {

/// A lane's session on a memory source.
[[nodiscard]] std::unique_ptr<LaneSession> open_session(std::shared_ptr<MemorySource::State> state,
                                                        LaneId id, std::string holder,
                                                        Waker& waker);

}  // namespace seriatim::testing::memory
