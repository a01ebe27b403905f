#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postgres/store/aside.hpp"
#include "postgres/store/cursor_memory.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// From a row with the columns of look_at_cursor.sql.
[[nodiscard]] Cursor cursor_from(const pqxx::row& row);

/// The cursor row of one lane. Every change is a compare-and-set on its epoch, so that a holder
/// that was replaced can change nothing (promise P5).
class CursorRepository {
 public:
  /// Leases, of a lane without a call and with one.
  struct Leases {
    milliseconds lane;
    milliseconds call;
  };
  CursorRepository(Connection& connection, const Table& table, const SourceConfig& source,
                   LaneId lane, std::string holder, Leases leases,
                   std::shared_ptr<CursorMemory> memory);

  Claim claim();
  struct Start {
    std::optional<Position> from;  ///< the cursor's position
    bool again = false;
    std::size_t rows = 0;  ///< the call may take
    /// By a crash of the server, so nobody waits for it if the rows are durable already.
    bool may_be_lost = false;
    std::optional<std::string> written;  ///< to there, when the rows were read; absent: not known
  };
  Grant start(std::uint64_t epoch, const Start& start);
  /// … of a batch from seriatim.aside; `looked_at`: so far late rows were looked for.
  Grant start_due(std::uint64_t epoch, const Start& start, const DueBatch& batch,
                  const std::optional<Mark>& looked_at);
  /// Known once a start asked for it: the server says to where its log is written and flushed.
  [[nodiscard]] bool knows_flushed() const { return knows_flushed_.value_or(false); }
  /// Begins a transaction that holds the cursor's row during an announced call. False: refused.
  bool lock(std::uint64_t epoch, const std::optional<Position>& position);
  /// Where the cursor goes, and what is noted of the way.
  struct Move {
    std::optional<Position> from;
    std::optional<Position> to;          ///< the last row done that was not late
    std::size_t rows = 0;                ///< done, delivered or set aside
    std::vector<std::string> open_ids;   ///< of these, those that stand in the open bucket
    std::optional<Mark> newest;          ///< of these, the newest created_at
    std::size_t set_aside = 0;           ///< of the rows done, how many
    bool redriven = false;               ///< they were parked, so the ledger has them already
    std::vector<std::string> delivered;  ///< of the rows done, those that a receiver has
    Fate fate;                           ///< of the row after them
    std::vector<Statement> with;         ///< what else is written in the same transaction

    void saw(const Position& row) {
      newest = std::max(newest.value_or(mark_min), row.created_at_us);
    }
  };
  struct Settled {
    Grant grant = Grant::lost;
    bool holds_key = false;       ///< of a row that was set aside
    std::vector<Answer> answers;  ///< to Move::with
  };
  /// In the open transaction, which it commits; else in one of its own.
  /// `behind`: asked right behind it, if the move is the only statement.
  Settled settle(std::uint64_t epoch, const Move& move, Connection::Behind* behind = nullptr);
  void release(std::uint64_t epoch, bool untouched);
  Cursor look();

 private:
  [[nodiscard]] std::string expected(std::uint64_t epoch) const;
  Params lane_and(std::initializer_list<std::optional<std::string>> more) const;
  [[nodiscard]] Params start_params(std::uint64_t epoch, const Start& start,
                                    const std::optional<Mark>& looked_at) const;
  [[nodiscard]] Params settle_params(std::uint64_t epoch, const Move& move) const;
  [[nodiscard]] Grant granted(std::uint64_t epoch, bool started);
  [[nodiscard]] Statement park_statement(const std::optional<Position>& from,
                                         const Park& park) const;
  Settled settle_alone(const Statement& statement, Connection::Behind* behind);
  Settled settle_in_transaction(Statement settle, const Move& move);
  [[nodiscard]] bool changed_hands(std::uint64_t epoch, const std::optional<Position>& from);
  bool asks_what_is_flushed();
  /// When the process began, as a timestamp; absent before the first claim.
  [[nodiscard]] std::optional<std::string> began_text() const;
  std::optional<std::string> create();
  void refuse_strange(const pqxx::row& row) const;
  void refuse_reborn(const pqxx::row& row) const;
  [[noreturn]] void refuse_gone() const;
  /// True: another holder was seen to renew its lease.
  bool remember(const pqxx::row& row);

  Connection& connection_;
  const Table& table_;
  SourceConfig source_;
  LaneId lane_;
  std::string holder_;
  Leases leases_;
  std::shared_ptr<CursorMemory> memory_;
  bool claimed_ = false;               ///< this session was granted the lane
  std::optional<bool> knows_flushed_;  ///< the server says whether rows are durable

  // Statements
  std::string mark_rows_;  ///< empty: nothing to mark
  std::string start_;
  std::string start_unwaited_;  ///< … whose commit is waited for only if rows hang on it
  std::string start_due_;
  std::string lock_;
  struct Texts {
    std::string settle;
    std::string halt;
  };
  Texts alone_;   ///< answer that the lane is lost
  Texts surely_;  ///< … or fail then
};

}  // namespace seriatim::postgres
