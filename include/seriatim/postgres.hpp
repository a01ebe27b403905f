#pragma once

#include <memory>
#include <string>

#include "seriatim/config.hpp"
#include "seriatim/transaction.hpp"

namespace seriatim {

class Source;

/// Reads `table` of the database at `url` (a libpq connection string or URI; libpq's environment
/// variables and password file apply). Nothing is connected here. The schema `seriatim` must have
/// been installed (`seriatim init`); sessions say so when it was not.
[[nodiscard]] std::shared_ptr<Source> postgres_source(std::string url, SourceConfig table = {});

/// A session with a database of a handler's own, with the same care as the lane's: never silently
/// reopened, a silent server is given up in bounded time.
///
/// Threads: one. Errors: SessionLost: drop it and open another; from `commit` it means in doubt.
class DatabaseSession {
 public:
  DatabaseSession() = default;
  DatabaseSession(const DatabaseSession&) = delete;
  DatabaseSession& operator=(const DatabaseSession&) = delete;
  virtual ~DatabaseSession() = default;

  /// The transaction, good until `commit` or `rollback`; ends one left open.
  virtual Transaction& begin() = 0;
  virtual void commit() = 0;
  virtual void rollback() = 0;
};
[[nodiscard]] std::unique_ptr<DatabaseSession> open_database(const std::string& url,
                                                             const std::string& application);

/// Installs or upgrades schema `seriatim`, under a lock; what is installed already stays.
void install_schema(const std::string& url);

}  // namespace seriatim
