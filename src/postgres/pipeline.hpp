#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "postgres/answer.hpp"

namespace seriatim::postgres {

/// Prepared statements with their parameters, sent and answered in one round trip (libpq's pipeline
/// mode): several statements in one text can have no parameters. Each has its own snapshot. One
/// that is refused keeps those behind it from being run; and all are one transaction, unless BEGIN
/// and COMMIT are among them.
///
/// While this lives nobody else may use the connection; afterwards it is as it was, whatever
/// happened. Throws as libpqxx does: sql_error, broken_connection.
class Pipeline {
 public:
  explicit Pipeline(pg_conn* connection);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void send(const std::string& prepared, const std::vector<std::optional<std::string>>& params);
  /// Of the first statement that has not been answered, before others are sent.
  Answer answer_now();
  /// Of all the others, in their order.
  std::vector<Answer> answers();

 private:
  Answer answer();
  bool leave();
  [[noreturn]] void lost() const;

  pg_conn* connection_;
  std::size_t owed_ = 0;
  bool synced_ = false;
};

}  // namespace seriatim::postgres
