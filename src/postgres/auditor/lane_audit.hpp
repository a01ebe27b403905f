#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postgres/store/bucket_count.hpp"
#include "seriatim/position.hpp"

namespace seriatim::postgres {

/// What a bucket of the ledger proves.
struct BucketAudit : BucketCount {
  enum class Verdict {
    complete,  ///< every row there now was delivered or set aside
    thinned,   ///< sealed, and fewer rows are there than were delivered: proves no more than that
    late,      ///< rows are there that were neither delivered nor set aside
    mismatch,  ///< the ledger does not fit the table, or itself
  };
  std::uint64_t buckets = 1;  ///< reported together here
  std::uint64_t late = 0;
  std::uint64_t gone = 0;  ///< of `rows`: deleted by others, or moved elsewhere, since
  Verdict verdict = Verdict::complete;
};

/// The proof of one lane.
struct LaneAudit {
  static constexpr std::size_t named_max = 10;

  unsigned lane = 0;
  bool former = false;               ///< gone since the lanes were cut anew
  std::optional<Position> position;  ///< absent: nothing was delivered yet
  std::uint64_t sequence = 0;
  std::uint64_t ledger_start = 0;       ///< rows delivered before there was a ledger
  std::optional<Position> ledger_from;  ///< … up to this one
  std::vector<BucketAudit> buckets;     ///< in order, joined by the hour (sealed: day)
  std::uint64_t bucket_count = 0;
  std::uint64_t rows = 0;
  std::uint64_t pruned = 0;         ///< not in `rows` any more
  std::optional<Position> horizon;  ///< none of the process's rows was left up to here
  std::uint64_t gone = 0;
  std::int64_t hash = 0;
  std::uint64_t thinned = 0;               ///< sealed buckets with fewer rows now
  std::optional<std::uint64_t> set_aside;  ///< by operators; absent: the journal may not be read
  std::uint64_t due = 0;          ///< rows behind the position that are still to go out, late
  std::uint64_t passed_over = 0;  ///< of `rows`: by acts that did not name each, as a rewind
  std::uint64_t parked = 0;       ///< of `rows`: set aside, to be decided on
  std::uint64_t late_rows = 0;
  std::vector<Position> late;  ///< the first of them
  std::uint64_t mismatches = 0;
  std::vector<std::string> mismatch_texts;  ///< the first of them

  [[nodiscard]] bool sound() const { return late_rows == 0 && mismatches == 0; }
};

}  // namespace seriatim::postgres
