#pragma once

#include <string>
#include <string_view>

#include "postgres/table/table.hpp"

namespace seriatim::postgres {

/// How a statement names the ends of a range of positions: parameters, or columns.
struct RangeEnds {
  std::string_view from_at, from_id, to_at, to_id;
};
inline constexpr RangeEnds range_parameters{"$1::timestamptz", "$2::text", "$3::timestamptz",
                                            "$4::text"};

/// As statement_for, with {within} and the order's {place} in it. `sql` may hold more placeholders.
[[nodiscard]] std::string range_statement(std::string_view sql, const Table& table, OrderBy order,
                                          const LaneId& lane,
                                          const RangeEnds& ends = range_parameters,
                                          const Placeholders& more = {});

/// A condition: one place does not come after another.
[[nodiscard]] std::string not_after(const Table& table, OrderBy order, std::string_view at,
                                    std::string_view id, std::string_view bound_at,
                                    std::string_view bound_id);

}  // namespace seriatim::postgres
