#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "postgres/auditor/lane_audit.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/config.hpp"

namespace seriatim::postgres {

/// A bucket and what is in its range now.
struct RecountedBucket : BucketAudit {
  bool whole = false;               ///< ends at or before the place asked for
  std::uint64_t rows_left = 0;      ///< of `rows`: those that should be there
  std::uint64_t noted_there = 0;    ///< there, and not late
  std::vector<Position> late_rows;  ///< there, and neither delivered nor set aside
  std::string mismatch;             ///< what does not fit; empty: nothing
};

/// The table minus the ledger: which rows of a lane are there and were neither delivered nor set
/// aside, bucket by bucket. A sealed bucket has no ids, so it is judged by number and hash: fewer
/// rows prove nothing, more do.
class Recount {
 public:
  /// Names no more than `late_max` late rows of a bucket.
  Recount(Connection& connection, const Table& table, OrderBy order, const LaneId& lane,
          unsigned late_max);

  using Take = std::function<void(const RecountedBucket&)>;
  /// The buckets after `number`, the open one last. `up_to`: those that begin before it.
  void each(std::int64_t number, const std::optional<Position>& up_to, const Take& take);
  /// How many rows were pruned of the buckets that reach past `place`.
  std::uint64_t pruned_after(const std::optional<Position>& place);

 private:
  void walk(std::int64_t number, const std::optional<Position>& up_to, bool pruned_only,
            const Take& take);
  [[nodiscard]] RecountedBucket judged(const pqxx::row& row);
  void judge(RecountedBucket& bucket, bool fits);

  Connection& connection_;
  const Table& table_;
  OrderBy order_;
  LaneId lane_;
  unsigned late_max_;
  std::string statement_;
};

}  // namespace seriatim::postgres
