#include "postgres/table/long_transaction.hpp"

#include "sql/table.hpp"

namespace seriatim::postgres {

std::optional<Blocker> find_long_transaction(Connection& connection) {
  const auto rows =
      connection.run(sql::table::long_transaction, {std::to_string(narrow_width_max.count())});
  if (rows.empty()) return std::nullopt;
  Blocker blocker;
  blocker.pid = rows[0]["pid"].as<int>(0);
  blocker.gid = rows[0]["gid"].as<std::string>("");
  blocker.application = rows[0]["application"].as<std::string>("");
  blocker.user = rows[0]["usename"].as<std::string>("");
  blocker.age = milliseconds{rows[0]["age_ms"].as<std::int64_t>()};
  return blocker;
}

}  // namespace seriatim::postgres
