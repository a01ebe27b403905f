#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune.hpp"
#include "postgres/admin/prune/prune_horizon.hpp"
#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Takes whole partitions away, by dropping or detaching them: those that end before the moment
/// asked for and in which every row may go.
class PrunePartitions {
 public:
  PrunePartitions(Connection& connection, const Table& table, const PruneReaders& readers,
                  OrderBy order_by, const PruneChoice& choice, PruneReport& report,
                  const PrunePause& pause);

  /// False where a partition is to go and others' locks did not let it: what is left of the table
  /// is better left alone then, until the next time.
  bool run();

 private:
  /// What is in a partition, and whether all of it may go.
  struct Contents {
    std::uint64_t rows = 0;
    std::int64_t hash = 0;
    bool free = false;
    bool operator==(const Contents&) const = default;
  };
  struct Partition {
    std::string name;
    std::string oid;
  };
  enum class Try { done, changed, locked };

  /// Asks every process, in one snapshot; what it answers is kept for the drop.
  Contents judge(const Partition& partition);
  Contents contents(const Partition& partition);
  bool take_away(const Partition& partition, Contents found);
  Try try_once(const Partition& partition, const Contents& judged);
  bool move_horizons();
  [[nodiscard]] std::string in_the_way(const Partition& partition);

  Connection& connection_;
  const Table& table_;
  const PruneReaders& readers_;
  OrderBy order_by_;
  const PruneChoice& choice_;
  PruneReport& report_;
  const PrunePause& pause_;
  std::deque<PruneHorizon> horizons_;  ///< as they will be without the partition
  Objections objections_;
};

/// Creates the next partitions of seriatim.outbox, where that is planned and this role may; their
/// names. Error where it is planned and cannot be done.
std::vector<std::string> create_partitions(Connection& connection);

}  // namespace seriatim::postgres
