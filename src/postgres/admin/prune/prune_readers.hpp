#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// A process of the configuration and its table.
struct ConfiguredReader {
  const Target* target = nullptr;
  Table table;
};

/// A process that reads the table, in this configuration or not, and how its order names columns.
struct Reader {
  std::string process;
  OrderBy order_by = OrderBy::created_at;
  std::string id;  ///< column, quoted
  std::string id_type;
  std::string created_at;  ///< column, quoted
  milliseconds lookback{0};
  const ConfiguredReader* configured = nullptr;  ///< none: not in this configuration
};

/// Everybody who reads rows of a table.
class PruneReaders {
 public:
  /// Error where it cannot be known what was read: nothing may be deleted then.
  PruneReaders(Connection& connection, const Table& table,
               const std::vector<ConfiguredReader>& configured);

  [[nodiscard]] const std::vector<Reader>& all() const { return readers_; }
  [[nodiscard]] std::vector<std::string> names() const;

  /// Conditions over row t: strictly below every cursor; none has still something to do with it.
  [[nodiscard]] const std::string& below() const { return below_; }
  [[nodiscard]] const std::string& free() const { return free_; }

  /// The lowest cursor, in words: "process p, lane 1, at row 17 of 2026-…".
  [[nodiscard]] const std::string& lowest() const { return lowest_; }
  /// The row it is at, which stays; empty: before the first.
  [[nodiscard]] const std::string& lowest_id() const { return lowest_id_; }

 private:
  void add(const pqxx::row& row, const std::vector<ConfiguredReader>& configured);
  void note_lowest(const pqxx::row& row);
  void note_missing(const pqxx::result& rows);
  void make_conditions(const Table& table);

  std::vector<Reader> readers_;
  std::string below_;
  std::string free_;
  std::string lowest_;
  std::string lowest_id_;
  std::optional<std::int64_t> lowest_us_;
};

}  // namespace seriatim::postgres
