#pragma once

#include <optional>
#include <string>

#include "seriatim/handler.hpp"
#include "seriatim/options.hpp"
#include "sql/projection.hpp"
#include "sql/target_database.hpp"

namespace seriatim::handlers {

struct SqlHandlerConfig {
  std::string url;  ///< of the read model's database; empty: the outbox's own
  ProjectionConfig projection;
};

SqlHandlerConfig read_sql_config(Options& options);

/// Keeps a read model: in the transaction that moves the cursor, or in a database of its own.
class SqlHandler final : public Handler {
 public:
  explicit SqlHandler(const SqlHandlerConfig& config);
  BatchOutcome handle(std::span<const Record> batch, const CallContext& context) override;
  std::optional<Rendering> render(const Record& record) override {
    return projection_.render(record);
  }

 private:
  Projection projection_;
  std::optional<TargetDatabase> target_;
};

}  // namespace seriatim::handlers
