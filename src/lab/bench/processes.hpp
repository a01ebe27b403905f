#pragma once

#include <sys/types.h>

namespace seriatim::bench {

/// Processor time of all its threads that are alive; 0 if it cannot be seen.
[[nodiscard]] double cpu_seconds(pid_t pid);
/// The most memory it ever had resident.
[[nodiscard]] double resident_mb(pid_t pid);

}  // namespace seriatim::bench
