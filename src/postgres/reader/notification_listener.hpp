#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// Sleeping until something may be worth a check: rows inserted (channel `seriatim`, payload the
/// table's oid), an operator's act (channel `seriatim_control`, payload the process's name), the
/// waker, or the deadline. Polling stays the truth: a lost hint costs time only.
class NotificationListener {
 public:
  NotificationListener(Connection& connection, const Table& table, std::string process,
                       Waker& waker, bool listen);

  /// Takes hints that have come off the connection, which would keep them all for a busy lane.
  void gather();
  /// A hint has come since this was asked last.
  [[nodiscard]] bool heard() { return std::exchange(heard_, false); }
  /// True when it was not the deadline.
  bool wait_until(std::chrono::steady_clock::time_point deadline);
  /// Hints will come: inserts send them and this session hears them.
  [[nodiscard]] bool hints() const { return hints_; }

 private:
  bool hinted();

  Connection& connection_;
  std::string table_oid_;
  std::string process_;
  Waker& waker_;
  bool hints_ = false;
  bool hinted_ = false;  ///< since the last sleep
  bool heard_ = false;
};

}  // namespace seriatim::postgres
