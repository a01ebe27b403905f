#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "postgres/admin/prune/prune.hpp"
#include "postgres/admin/prune/prune_judge.hpp"
#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Takes whole partitions away, by dropping or detaching them: those that end before the moment
/// asked for and in which every row may go.
class PrunePartitions {
 public:
  PrunePartitions(Connection& connection, const Table& table, const PruneReaders& readers,
                  const PruneChoice& choice, PruneReport& report, const PrunePause& pause);

  /// False where a partition is to go and others' locks did not let it: what is left of the table
  /// is better left alone then, until the next time.
  bool run();

 private:
  /// What a check found in a partition, and what the ledger is to note.
  struct Contents {
    std::uint64_t rows = 0;
    std::int64_t hash = 0;
    using Bucket = std::tuple<std::string, std::string, std::string>;  // process, lane, number
    std::map<Bucket, std::pair<std::uint64_t, std::int64_t>> noted;    // rows, hash
  };
  struct Partition {
    std::string name;
    std::string oid;
  };
  enum class Try { done, changed, locked };

  /// Absent: not every row may go.
  std::optional<Contents> read_contents(const Partition& partition);
  bool take_away(const Partition& partition, const Contents& contents);
  Try try_once(const Partition& partition, const Contents& contents);
  void note(const Contents& contents);
  [[nodiscard]] std::string in_the_way(const Partition& partition);

  Connection& connection_;
  const Table& table_;
  const PruneReaders& readers_;
  const PruneChoice& choice_;
  PruneReport& report_;
  const PrunePause& pause_;
};

/// Creates the next partitions of seriatim.outbox, where that is planned and this role may; their
/// names. Error where it is planned and cannot be done.
std::vector<std::string> create_partitions(Connection& connection);

}  // namespace seriatim::postgres
