#pragma once

#include <string>

#include "postgres/table/table.hpp"

namespace seriatim::postgres {

/// Why a lane halts if ids of its table began again (CURSOR_AHEAD), and what to do. `evidence`: in
/// which value it shows.
[[nodiscard]] std::string ids_again_text(const Table& table, const std::string& process,
                                         const std::string& evidence);

}  // namespace seriatim::postgres
