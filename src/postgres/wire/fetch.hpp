#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/wire/answer.hpp"

namespace seriatim::postgres {

/// One statement under way, whose rows come in binary form.
/// From `prepared` or `text` until `receive` returned or threw nobody else may use the connection.
/// Throws as libpqxx does: sql_error, broken_connection.
class Fetch {
 public:
  using Params = std::vector<std::optional<std::string>>;

  static Fetch prepared(pg_conn* connection, const std::string& name, const Params& params);
  static Fetch text(pg_conn* connection, const std::string& sql, const Params& params);

  /// Waits for the rows. Once.
  [[nodiscard]] Answer receive() const;

 private:
  Fetch(pg_conn* connection, int sent);

  pg_conn* connection_;
};

}  // namespace seriatim::postgres
