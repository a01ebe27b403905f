#pragma once

#include "seriatim/config.hpp"

namespace seriatim::postgres {

/// One process as configured: what operator acts and reports work on.
struct Target {
  ProcessConfig process;
  SourceConfig source;
};

}  // namespace seriatim::postgres
