#pragma once

#include "seriatim/source.hpp"

namespace seriatim::core {

/// Rows of these keys leave the records and queue, so that they are set aside and not handed over.
void queue_rows_of(const ParkedKeys& keys, PollResult& round);

}  // namespace seriatim::core
