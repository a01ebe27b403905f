#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Something a person must be called for, as it is seen now.
struct Condition {
  std::string process;  ///< empty: it concerns none
  int lane = -1;        ///< -1: it concerns no lane
  std::string kind;     ///< "halted", "lag", …
  /// False: it could not be read. An alert on it is neither opened nor resolved.
  bool certain = true;
  std::string summary{};  ///< one sentence
  std::string body{};     ///< a JSON object: what is known of it
};

/// A message on an alert that was opened, is still open, or was resolved.
struct AlertMessage {
  std::string alert;  ///< its number
  unsigned turn = 1;  ///< the number of the message on this alert
  std::string process;
  int lane = -1;
  std::string kind;
  std::string summary;
  std::string body;                          ///< a JSON object
  std::string opened_at;                     ///< ISO 8601 UTC
  std::optional<std::string> resolved_at{};  ///< absent: it is open
  unsigned tries = 1;                        ///< to send this message, with this one
};

/// What one lane did in one minute.
struct LaneMinute {
  unsigned lane = 0;
  std::uint64_t delivered = 0;
  std::uint64_t failures = 0;
  std::uint64_t calls = 0;
  std::uint64_t call_sum_us = 0;
  std::uint64_t call_max_us = 0;
  std::uint64_t age_max_us = 0;
};

/// What a relay keeps in the database for those who operate it: that it runs, what its lanes did,
/// and alerts. None of it is needed to deliver a row.
///
/// One connection, opened when first needed. Threads: one. Errors: SessionLost, and the next call
/// opens another connection; SourceBroken if a right is missing, with the SQLSTATE.
class Records {
 public:
  explicit Records(std::string url) : url_(std::move(url)) {}

  struct Relay {
    std::string name;  ///< unique: host:pid:random
    std::string version;
    std::string config_hash;
    std::vector<std::string> processes;
  };
  void relay_runs(const Relay& relay);
  void relay_ends(const std::string& name);

  /// `minute_us`: when it began, microseconds since 1970.
  void add_minutes(const std::string& process, std::int64_t minute_us,
                   const std::vector<LaneMinute>& lanes);

  /// What concerns relays and server, and is in none of the lanes.
  struct Surroundings {
    unsigned configurations = 0;      ///< relays of these processes run with so many different ones
    std::optional<std::string> slot;  ///< the replication slot that keeps most of the log
    std::int64_t slot_bytes = 0;
  };
  Surroundings surroundings(const std::vector<std::string>& processes, milliseconds relay_gone);

  struct Judged {
    bool unsent = false;  ///< there are messages to send
    bool open = false;    ///< an alert is open
  };
  struct Judging {
    std::vector<std::string> processes;  ///< whose alerts are judged
    milliseconds repeat{0};              ///< an open alert is sent again after so long
    milliseconds clear{60'000};          ///< one that nobody has seen for so long is resolved
    std::string who;                     ///< for the journal
  };
  /// Opens alerts, keeps them and resolves them, once among all relays.
  Judged judge(const std::vector<Condition>& conditions, const Judging& judging);

  /// A message to send. No other relay gets it for `lease`; after that it may be sent again, under
  /// the same number. Nothing if none is due.
  std::optional<AlertMessage> claim_message(const std::vector<std::string>& processes,
                                            milliseconds lease);
  void message_accepted(const AlertMessage& message);
  void message_failed(const AlertMessage& message, milliseconds pause, const std::string& error);

  /// Closes the connection until the next call.
  void rest() { connection_.reset(); }

 private:
  pqxx::result run(std::string_view sql, const Params& params);

  std::string url_;
  std::optional<Connection> connection_;
};

}  // namespace seriatim::postgres
