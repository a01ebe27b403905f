#pragma once

#include <optional>
#include <string>
#include <utility>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/position.hpp"

namespace seriatim::postgres {

/// Rows that are asked for in the same message as the settlement before them.
struct PolledBehind {
  Position after;
  unsigned rows_max = 0;
  Connection::Behind asked;
};

/// One lane's connection, which its store and its reader share.
///
/// Threads: one.
struct LaneConnection {
  LaneConnection(const std::string& url, Connection::Options options, const SourceConfig& source)
      : connection(url, std::move(options)), table(resolve_table(connection, source)) {}

  Connection connection;
  Table table;
  /// Whether the server reports how far its log is written and flushed. The first start finds out.
  std::optional<bool> says_flushed;
  std::optional<PolledBehind> behind;  ///< the reader asks, the store sends, the reader takes
};

}  // namespace seriatim::postgres
