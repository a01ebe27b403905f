#pragma once

#include <string>

#include "log/line_writer.hpp"
#include "seriatim/handler.hpp"
#include "seriatim/options.hpp"

namespace seriatim::handlers {

struct LogHandlerConfig {
  std::string file;     ///< appended to; empty: standard output
  bool payload = true;  ///< write the payload too
  bool sync = false;    ///< done means on disk (fdatasync), not with the system
};

[[nodiscard]] LogHandlerConfig read_log_config(Options& options);

/// One JSON line a record.
class LogHandler final : public RecordHandler {
 public:
  explicit LogHandler(const LogHandlerConfig& config);

  Outcome handle_record(const Record& record, const CallContext& context) override;
  std::optional<Rendering> render(const Record& record) override;

 private:
  LogHandlerConfig config_;
  LineWriter writer_;
};

/// The line, without its end.
[[nodiscard]] std::string log_line(const Record& record, bool with_payload);

}  // namespace seriatim::handlers
