#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Parked rows in the order they would go out in, page by page; see Admin::parked.
void list_parked(Connection& connection, const Target& target,
                 const std::optional<std::string>& key, std::uint64_t rows_max,
                 const std::function<void(const ParkedRow&)>& each, const std::string& after);

/// One parked row; nothing where it is not parked.
[[nodiscard]] std::optional<ParkedRow> find_parked(Connection& connection,
                                                   const std::string& process,
                                                   const std::string& id);

/// How many there are.
[[nodiscard]] ParkedCount count_parked(Connection& connection, const std::string& process);

}  // namespace seriatim::postgres
