#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune.hpp"
#include "postgres/admin/prune/prune_horizon.hpp"
#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// A row that may go.
struct DueRow {
  std::string id;
  std::int64_t created_at_us = 0;
};

/// Rows of a table in order, as far as one look goes.
struct PruneSegment {
  std::vector<DueRow> due;
  std::optional<Position> last;  ///< looked at; absent: nothing is left
  bool any_below = false;        ///< of those looked at; rows after a segment without are not below
  bool held = false;  ///< an old row waits for a cursor, and not only the one it stands at
};

/// Looks at the table and says which rows may go: every process of the configuration is asked, with
/// its own `where` and `key`, what its ledger says. One snapshot for each segment.
class PruneJudge {
 public:
  /// But for a dry run the horizons are moved, and that is committed, before a segment's rows are
  /// told.
  PruneJudge(Connection& connection, const Table& table, const PruneReaders& readers,
             OrderBy order_by, const PruneChoice& choice, PruneReport& report);

  PruneSegment look(const std::optional<Position>& after);

 private:
  struct Candidate {
    DueRow row;
    bool delivered = false;  ///< by a process of this configuration
  };

  std::optional<PruneSegment> try_look(const std::optional<Position>& after);
  std::vector<Candidate> read(const std::optional<Position>& after, PruneSegment& segment);
  std::vector<DueRow> without_objections(std::vector<Candidate>& candidates,
                                         const Objections& objections);
  void reach(const std::vector<Candidate>& candidates);
  bool move();

  Connection& connection_;
  const PruneReaders& readers_;
  OrderBy order_by_;
  const PruneChoice& choice_;
  PruneReport& report_;
  std::string candidates_;
  std::deque<PruneHorizon> horizons_;  ///< of the configured processes
  std::map<OrderBy, Position>
      reached_;  ///< the last place of the rows that may go, in either order
};

}  // namespace seriatim::postgres
