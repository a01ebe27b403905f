#pragma once

#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// See Admin::payload.
[[nodiscard]] std::optional<std::string> payload_of(Connection& connection, const Target& target,
                                                    const std::string& id);
/// See Admin::reveal.
[[nodiscard]] Revealed reveal_payload(Connection& connection, const Target& target,
                                      const std::string& id, const Actor& actor);

}  // namespace seriatim::postgres
