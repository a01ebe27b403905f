#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace seriatim {

/// Why a lane is halted until an operator acts. Stable codes: scripts and alerts match on them.
enum class HaltReason {
  poison,           ///< the handler said this row can never be delivered as it is
  unknown_outcome,  ///< the answer was lost and `on_unknown = "halt"`, or none could be read
  late_row,         ///< a committed row appeared behind the cursor
  cursor_ahead,     ///< the cursor is beyond the table's end (setval, TRUNCATE, restore)
  source_changed,   ///< the table or database is not the one the cursor was kept for
  clock_back,       ///< the server clock was set back behind rows already stamped
  bad_payload,      ///< a row that cannot be read or is over `payload_max`
  crashes,          ///< this row killed the process `max_crashes` times
  slot_lost,        ///< log-tailing source: the slot is gone
  config_changed,   ///< the process's configuration no longer fits its cursor
};

/// "POISON", "UNKNOWN_OUTCOME", …
[[nodiscard]] const char* to_string(HaltReason reason);
[[nodiscard]] std::optional<HaltReason> halt_reason_from(std::string_view text);

/// Broken surroundings are exceptions, and each answers "what now?" by its type.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The session to the database is gone (or cannot be had). Now: drop it, back off, open a new one,
/// read the cursor. `sqlstate` is empty when the network, not the server, ended it.
class SessionLost : public Error {
 public:
  explicit SessionLost(const std::string& what, std::string sqlstate = {})
      : Error(what), sqlstate_(std::move(sqlstate)) {}
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }

 private:
  std::string sqlstate_;
};

/// The source cannot be read as configured, and trying again will not help. Now: halt. `sqlstate`
/// is empty where the server did not say so.
class SourceBroken : public Error {
 public:
  SourceBroken(HaltReason reason, const std::string& what, std::string sqlstate = {})
      : Error(what), reason_(reason), sqlstate_(std::move(sqlstate)) {}
  [[nodiscard]] HaltReason reason() const { return reason_; }
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }

 private:
  HaltReason reason_;
  std::string sqlstate_;
};

/// Wrong usage or configuration: nothing was started. `what()` holds every problem, one a line.
class ConfigError : public Error {
 public:
  using Error::Error;
};

}  // namespace seriatim
