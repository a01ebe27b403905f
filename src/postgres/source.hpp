#pragma once

#include <memory>
#include <string>

#include "seriatim/config.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// What tests set otherwise.
struct SourceTiming {
  std::chrono::milliseconds recheck_interval{60'000};  ///< of the table's set-up: setup_recheck.hpp
};

/// As seriatim::postgres_source.
[[nodiscard]] std::shared_ptr<Source> make_source(std::string url, SourceConfig table,
                                                  SourceTiming timing);

}  // namespace seriatim::postgres
