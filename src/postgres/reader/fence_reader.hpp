#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/fence.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/observer.hpp"

namespace seriatim::postgres {

/// Transactions that may still insert into `table`. Reads pg_locks, a statement of its own between
/// the reading of F and the reading of rows. Throws SourceBroken when another table has taken the
/// place of `table`.
[[nodiscard]] std::vector<core::Holder> read_lock_holders(Connection& connection,
                                                          const Table& table);

/// The server's clock, µs since 1970, then the same ones, and then what `rows` brings, in one round
/// trip if no pooler is in between.
struct ClockAndHolders {
  OrderKey clock = 0;
  std::vector<core::Holder> holders;
  std::optional<Answer> rows;
};
[[nodiscard]] ClockAndHolders read_clock_and_holders(
    Connection& connection, const Table& table,
    const std::optional<Statement>& rows = std::nullopt);

/// The server's clock, and then all transactions that are open, whether they write or not.
[[nodiscard]] ClockAndHolders read_clock_and_transactions(Connection& connection);

/// A session or a prepared transaction, of a row with writers.sql's columns.
[[nodiscard]] Blocker blocker_from(const pqxx::row& row);

/// Those that may still insert, for people.
struct Writers {
  std::vector<core::Holder> holders;
  std::vector<Blocker> blockers;  ///< of each, oldest first
};
[[nodiscard]] Writers read_writers(Connection& connection, const Table& table);

/// Who transactions are, of those that hold the fence up poll after poll: read again where one is
/// unknown, or what is known has grown old.
class WriterNames {
 public:
  using Clock = std::chrono::steady_clock;
  /// A lane polls many times a second while a transaction holds it up; no person reads as fast.
  static constexpr milliseconds known_for{100};

  WriterNames(Connection& connection, const Table& table)
      : connection_(connection), table_(table) {}

  WriterNames(const WriterNames&) = delete;
  WriterNames& operator=(const WriterNames&) = delete;

  /// Oldest first; without those that ended meanwhile.
  std::vector<Blocker> of(const std::set<std::string>& transactions, Clock::time_point now);

 private:
  [[nodiscard]] bool all_known(const std::set<std::string>& transactions) const;

  Connection& connection_;
  const Table& table_;
  Writers known_;
  Clock::time_point read_at_{};
};

}  // namespace seriatim::postgres
