#pragma once

#include <optional>
#include <string>
#include <vector>

#include "postgres/wire/answer.hpp"

namespace seriatim::postgres {

/// One statement: sends it and waits for all rows, which come in binary form.
/// Throws as libpqxx does: sql_error, broken_connection.
[[nodiscard]] Answer fetch_prepared(pg_conn* connection, const std::string& name,
                                    const std::vector<std::optional<std::string>>& params);
/// … or as text, if they are not to be `binary`.
[[nodiscard]] Answer fetch_text(pg_conn* connection, const std::string& sql,
                                const std::vector<std::optional<std::string>>& params, bool binary);

}  // namespace seriatim::postgres
