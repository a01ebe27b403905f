#pragma once

#include <cstddef>

#include "seriatim/source.hpp"

namespace seriatim::core {

enum class LateRows { go_out, queue };

/// Rows of these keys leave the records and queue, so that they are set aside and not handed over.
/// So do late rows if they are to.
void queue_rows_of(const ParkedKeys& keys, PollResult& round,
                   LateRows late_rows = LateRows::go_out);

/// Numbers the records from `first` on; of the rows that queue, those from `first_queued` on are
/// not settled yet. A row set aside has its number too, so that those after it keep theirs.
void number_records(PollResult& round, std::size_t first, std::size_t first_queued,
                    const LaneId& lane, const Cursor& cursor);

}  // namespace seriatim::core
