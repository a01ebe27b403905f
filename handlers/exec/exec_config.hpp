#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "seriatim/options.hpp"
#include "support/record_line.hpp"

namespace seriatim::handlers {

struct ExecHandlerConfig {
  std::vector<std::string> command;  ///< program and arguments; no shell
  std::string working_directory;     ///< empty: ours
  std::map<std::string, std::string> environment;
  bool batches = false;       ///< lines are written ahead of their answers
  unsigned group_rows = 100;  ///< … `rest` counts down within so many
  PayloadForm payload = PayloadForm::json;
  std::chrono::milliseconds stop_grace{1'000};  ///< from the request to stop to SIGKILL
};

/// Reads the handler's table; problems are noted there.
[[nodiscard]] ExecHandlerConfig read_exec_config(Options& options);

/// What the child finds: the variables of ours that hold no secrets (PATH, HOME, language, time
/// zone …), and the configured ones. "NAME=value".
[[nodiscard]] std::vector<std::string> child_environment(const ExecHandlerConfig& config);

}  // namespace seriatim::handlers
