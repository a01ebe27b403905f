#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "postgres/admin/prune/prune.hpp"
#include "postgres/admin/prune/prune_readers.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// A row that may go, and the buckets that count it.
struct PrunableRow {
  struct Note {
    const std::string* process = nullptr;
    std::string lane;
    std::string number;
  };
  std::string id;
  std::int64_t created_at_us = 0;
  std::int64_t hash = 0;
  std::vector<Note> notes;
};

/// Rows of a table in order, as far as one read goes.
struct PruneSegment {
  std::vector<PrunableRow> due;
  std::uint64_t checked = 0;     ///< rows checked
  std::optional<Position> last;  ///< checked; absent: nothing is left
  bool any_below = false;        ///< of those checked; rows after a segment without are not below
  bool held = false;             ///< an old row waits for a cursor, and not only the one it is at
};

/// Checks the table and says which rows may go: every process of the configuration is asked, with
/// its own `where` and `key`, what its ledger says. One snapshot for each segment.
class PruneJudge {
 public:
  PruneJudge(Connection& connection, const Table& table, const PruneReaders& readers,
             const PruneChoice& choice, PruneReport& report);

  PruneSegment judge(const std::optional<Position>& after);

 private:
  struct Candidate {
    PrunableRow row;
    bool delivered = false;  ///< by a process of this configuration
    bool stays = false;
  };
  using Candidates = std::map<std::string, Candidate>;

  void read(const std::optional<Position>& after, PruneSegment& segment, Candidates& candidates);
  void ask(const Reader& reader, Candidates& candidates);
  [[nodiscard]] pqxx::result places(const Reader& reader, const Candidates& candidates);
  void judge_late(const Reader& reader, Candidates& candidates,
                  const std::vector<std::string>& unnoted);
  [[nodiscard]] bool sealed_fits(const Reader& reader, const std::string& lane,
                                 const std::string& number);

  Connection& connection_;
  const Table& table_;
  const PruneReaders& readers_;
  const PruneChoice& choice_;
  PruneReport& report_;
  std::string candidates_;
};

}  // namespace seriatim::postgres
