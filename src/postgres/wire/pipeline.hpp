#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "postgres/wire/answer.hpp"

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

  /// `binary`: its rows are to come in binary form.
  void send(const std::string& prepared, const std::vector<std::optional<std::string>>& params,
            bool binary = false);
  /// Has the server run what was sent, as a message of its own: what is refused there keeps nothing
  /// behind it from being run.
  void flush();
  /// Has it answer what was sent so far at once, before it goes on.
  void ask_now();
  /// Of the first statements that have not been answered, before others are sent.
  std::vector<Answer> answers_now(std::size_t count);
  /// Reads the end of the first message that is not at its end: what it changed is committed.
  void confirm();
  /// Of all, in their order.
  std::vector<Answer> answers();

 private:
  Answer answer();
  bool leave(Answer* refusal = nullptr);
  [[noreturn]] void lost() const;

  pg_conn* connection_;
  std::size_t owed_ = 0;
  std::size_t syncs_ = 0;  ///< messages that were sent and not yet answered to their end
  bool unsynced_ = false;  ///< something was sent after the last of them
};

}  // namespace seriatim::postgres
