#pragma once

#include <string>

#include "postgres/admin/reports/row_report.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Several reads, one after another: a row on its way may have moved on in between.
[[nodiscard]] RowReport explain_row(Connection& connection, const Target& target,
                                    const std::string& id);

}  // namespace seriatim::postgres
