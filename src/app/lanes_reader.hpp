#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "app/context.hpp"
#include "app/reports.hpp"
#include "app/shared_read.hpp"
#include "postgres/admin/reports/status_reader.hpp"

namespace seriatim::app {

struct TimedReports {
  LaneReports lanes;
  std::chrono::system_clock::time_point at;  ///< when the read ended
};

/// The lanes of some processes, for everybody who shows or judges them again and again: one read
/// serves all who ask (SharedRead).
///
/// Threads: any number. Errors: SessionLost; the next read opens another connection.
class LanesReader {
 public:
  LanesReader(const std::vector<const ConfiguredProcess*>& processes, Context& context);

  /// By process, in the order given, and lane.
  [[nodiscard]] std::shared_ptr<const LaneReports> read() {
    const auto timed = shared_.get();
    return {timed, &timed->lanes};
  }
  [[nodiscard]] std::shared_ptr<const TimedReports> read_timed() { return shared_.get(); }
  /// After an act: the next read is a new one.
  void expire() { shared_.expire(); }

 private:
  postgres::StatusReader reader_;
  SharedRead<TimedReports> shared_;
};

}  // namespace seriatim::app
