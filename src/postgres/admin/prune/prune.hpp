#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/admin/admin.hpp"

namespace seriatim::postgres {

/// Which rows go. A row goes only if it lies strictly below every cursor of every process that
/// reads the table, none of them still has something to do with it, and what their ledgers say of
/// it fits.
struct PruneChoice {
  std::optional<std::string> process;  ///< the table this process reads
  std::optional<std::string> table;    ///< … or this one; neither: all configured ones
  std::chrono::milliseconds older_than{std::chrono::hours{7 * 24}};
  unsigned batch_rows = 1'000;  ///< deleted at once, at most
  bool filtered = false;        ///< rows no process delivers (`where`, `ignore`) too
  bool detach = false;          ///< whole partitions are detached and kept, not dropped
  bool dry_run = false;         ///< only count
};

/// What became of one table.
struct PruneReport {
  static constexpr std::size_t named_max = 10;

  std::string table;
  std::vector<std::string> readers;     ///< processes, configured here or not
  std::int64_t older_than_us = 0;       ///< rows created before this moment were checked
  std::uint64_t rows = 0;               ///< deleted, or that would be
  std::vector<std::string> partitions;  ///< dropped or detached as a whole; their rows count
  std::vector<std::string> created;     ///< partitions for the time ahead
  std::uint64_t batches = 0;
  std::uint64_t longest_us = 0;  ///< of all batches: so long the fence was held at once
  // Older rows that stay:
  std::uint64_t set_aside = 0;         ///< parked, or in a batch that was started
  std::uint64_t filtered = 0;          ///< no process delivers them
  std::uint64_t changed = 0;           ///< taken by others, changed or locked meanwhile
  std::uint64_t late = 0;              ///< behind a cursor, and neither delivered nor set aside
  std::vector<std::string> late_ids;   ///< the first of them
  std::uint64_t unproven = 0;          ///< in sealed buckets that do not fit the table
  std::vector<std::string> problems;   ///< what is wrong there, and what to do
  std::optional<std::string> held_by;  ///< the lowest cursor, where older rows wait for it
  std::vector<std::string> notes;
  bool interrupted = false;

  [[nodiscard]] bool sound() const { return late == 0 && problems.empty(); }
};

/// Recorded after every batch with the rows so far; waits `pause` and says whether to go on.
using PrunePause = std::function<bool(std::uint64_t rows, std::chrono::microseconds pause)>;

/// Deletes what was delivered, in short transactions, and notes it in ledger and journal.
/// `configured`: every process of the configuration; those that read the table are asked with their
/// own `where` and `key`. Errors: Error where a table may not be pruned, with what and why.
[[nodiscard]] std::vector<PruneReport> prune(const std::string& url,
                                             const std::vector<Target>& configured,
                                             const PruneChoice& choice, const Actor& actor,
                                             const PrunePause& pause);

/// A refusal because of others' locks: it may be tried again.
[[nodiscard]] inline bool is_lock_trouble(std::string_view sqlstate) {
  return sqlstate == "55P03" || sqlstate == "40P01" || sqlstate == "40001";
}

/// Creates the next partitions of seriatim.outbox, where `init --partitioned` was run; their names.
std::vector<std::string> create_partitions(const std::string& url);

}  // namespace seriatim::postgres
