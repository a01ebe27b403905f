#pragma once

#include <sys/types.h>

namespace seriatim::handlers {

/// All that a new process needs between fork and exec, where nothing may be allocated.
struct Launch {
  const char* directory;  ///< null: ours
  char* const* arguments;
  char* const* variables;
  int input;
  int output;
  int errors;
  int report;    ///< gets a Trouble, or is closed by exec
  pid_t parent;  ///< our own process
};

/// Why a program did not start.
struct Trouble {
  enum class At { directory, program } at;
  int error;
};

/// In the new process. It gets a group of its own, and SIGKILL when the thread that forked it ends.
[[noreturn]] void become(const Launch& launch);

}  // namespace seriatim::handlers
