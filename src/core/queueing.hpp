#pragma once

#include <optional>
#include <set>
#include <string>

#include "seriatim/source.hpp"

namespace seriatim::core {

/// Keys of which a row is parked. Rows without a key count as rows of one key.
using ParkedKeys = std::set<std::optional<std::string>>;

/// Rows of these keys leave the records and queue, so that they are set aside and not handed over.
void queue_rows_of(const ParkedKeys& keys, Round& round);

}  // namespace seriatim::core
