#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// What the table was like when it was last found sound: one for all lanes and sessions of a
/// source, so that a change while no session was open is noticed too.
class SoundSetup {
 public:
  [[nodiscard]] bool is_known();
  [[nodiscard]] bool knows(const std::string& digest);
  void note(const std::string& digest);

 private:
  std::mutex mutex_;
  std::optional<std::string> digest_;
};

/// Statements like SET UNLOGGED or ATTACH PARTITION can break what start-up has checked. A session
/// asks at its first poll, and then once an interval, whether the table is as it was; only if not,
/// it checks the table as `check` does. The first session notes the table as it opens, right after
/// start-up has checked it: a standby reads its first row long after that.
class SetupRecheck {
 public:
  SetupRecheck(Connection& connection, const Table& table, Target target,
               std::shared_ptr<SoundSetup> sound, milliseconds interval);

  [[nodiscard]] bool due() const { return Clock::now() >= due_at_; }
  /// Before rows are read, outside a transaction. Throws SourceBroken (SOURCE_CHANGED) with what
  /// `check` says; asked again, it checks again.
  void refuse_unsound();

 private:
  using Clock = std::chrono::steady_clock;

  pqxx::row ask();

  Connection& connection_;
  const Table& table_;
  Target target_;
  std::shared_ptr<SoundSetup> sound_;
  milliseconds interval_;
  Clock::time_point due_at_{};
};

}  // namespace seriatim::postgres
