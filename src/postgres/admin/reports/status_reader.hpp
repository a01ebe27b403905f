#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/admin/reports/report_fence.hpp"
#include "postgres/wire/connection.hpp"
#include "runtime/shared_read.hpp"

namespace seriatim::postgres {

/// What the lanes of some processes do, as everybody sees it who asks again and again: `status
/// --watch`, and whatever else shows or judges lanes. One read is shared by all who ask, on a
/// connection that is kept (runtime::SharedRead). It remembers the writers of the read before, so
/// only the first one waits to tell short transactions from long ones.
///
/// Threads: any number. Errors: SessionLost; the next read opens another connection.
class StatusReader {
 public:
  using Lanes = std::vector<LaneReport>;

  StatusReader(std::string url, std::vector<Target> targets);

  /// By process, in the order of the targets, and lane.
  [[nodiscard]] std::shared_ptr<const Lanes> read() { return shared_.get(); }

 private:
  Lanes read_all();

  std::string url_;
  std::vector<Target> targets_;
  std::optional<Connection> connection_;
  std::vector<KnownWriters> known_;  ///< by target
  runtime::SharedRead<Lanes> shared_;
};

/// A connection for reports, which wait for nobody.
[[nodiscard]] Connection::Options report_options();

}  // namespace seriatim::postgres
