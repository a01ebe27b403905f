#pragma once

#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// More rows than a batch has, also with a group that is read whole (WrittenOrder).
constexpr unsigned batch_max = 20'000;

/// As Store::due_rows, for reports and acts too.
[[nodiscard]] DueRows read_due_rows(Connection& connection, const LaneId& lane, unsigned rows_max,
                                    const DueChoice& choice = {});
/// As Store::parked_keys.
[[nodiscard]] ParkedKeys read_parked_keys(Connection& connection, const std::string& process);

}  // namespace seriatim::postgres
