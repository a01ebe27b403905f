#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/records/records.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What was done to a process, as the journal has it.
struct JournalEntry {
  std::string number;
  std::string process;
  std::string act;  ///< "claim", "skip", "rewind", …
  std::optional<unsigned> lane;
  std::string at;  ///< ISO 8601 UTC
  std::string who;
  std::string why;
  std::optional<std::string> row_id;
};

/// What one lane did in one minute, by all relays.
struct HistoryMinute : LaneMinute {
  std::string minute;  ///< ISO 8601 UTC
};

/// A `seriatim audit` of a process.
struct AuditReport {
  std::string at;  ///< ISO 8601 UTC
  std::string who;
  bool sound = false;
  std::uint64_t rows = 0;
  std::string hash;
  std::optional<std::string> through_row;
  std::optional<std::string> through_at;
  std::string detail;  ///< the finding, in words
};

struct AlertReport {
  std::string id;
  std::string process;  ///< empty: it concerns none
  std::optional<unsigned> lane;
  std::string kind;
  std::string summary;
  std::string opened_at;  ///< ISO 8601 UTC, like those below
  std::optional<std::string> clear_since;
  std::optional<std::string> resolved_at;
  std::optional<std::string> accepted_at;  ///< the latest message on it, by its receiver
};

struct RelayReport {
  std::string name;
  std::string version;
  std::string config_hash;
  std::vector<std::string> processes;
  std::string started_at;     ///< ISO 8601 UTC
  std::uint64_t seen_ms = 0;  ///< it said so long ago that it runs
};

/// Reads what is kept for those who operate relays. Pages begin after the last entry of the one
/// before: `before` is its number.
///
/// One connection, opened when first needed, and kept. Threads: any; they take turns. Errors:
/// SessionLost, and the next call opens another connection; SourceBroken if a right is missing.
class RecordsReader {
 public:
  explicit RecordsReader(std::string url) : url_(std::move(url)) {}

  /// Of one process; the newest first.
  std::vector<JournalEntry> journal(const std::string& process,
                                    const std::optional<std::string>& before, unsigned entries_max);
  /// Of all these; '': what concerns none.
  std::vector<JournalEntry> journal(const std::vector<std::string>& processes,
                                    const std::optional<std::string>& before, unsigned entries_max);
  /// The oldest first. One whose transaction ends after that of a later entry may be missed.
  std::vector<JournalEntry> journal_after(const std::vector<std::string>& processes,
                                          const std::string& number, unsigned entries_max);
  /// Of the last minutes, the oldest first; if there are more than history_rows_max, the newest of
  /// them.
  std::vector<HistoryMinute> history(const std::string& process, unsigned minutes);
  /// The newest first.
  std::vector<AuditReport> audits(const std::string& process, unsigned reports_max);
  std::vector<AlertReport> alerts(const std::vector<std::string>& processes,
                                  const std::optional<std::string>& before, unsigned alerts_max);
  std::uint64_t open_alerts(const std::vector<std::string>& processes);
  /// Relays that run one of these.
  std::vector<RelayReport> relays(const std::vector<std::string>& processes);

  static constexpr unsigned history_rows_max = 20'000;

 private:
  pqxx::result run(std::string_view sql, const Params& params);

  std::string url_;
  std::mutex mutex_;
  std::optional<Connection> connection_;
};

}  // namespace seriatim::postgres
