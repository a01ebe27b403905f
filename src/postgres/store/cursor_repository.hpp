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
  CursorRepository(Connection& connection, const Table& table, const SourceConfig& source,
                   LaneId lane, std::string holder, milliseconds lease,
                   std::shared_ptr<CursorMemory> memory);

  Claim claim();
  /// `next_rows`: so many the first call may take.
  bool start(std::uint64_t epoch, bool again, std::size_t next_rows);
  /// … of a batch from seriatim.aside; `looked_at`: so far late rows were looked for.
  bool start_due(std::uint64_t epoch, bool again, std::size_t next_rows, const DueBatch& batch,
                 const std::optional<Mark>& looked_at);
  struct Start {
    bool again = false;
    std::size_t next_rows = 0;
    std::optional<Position> position;
    /// By a crash of the server, so where the rows are durable already nobody waits for it.
    bool may_be_lost = false;
    std::optional<std::string> written;  ///< to there, when the rows were read; absent: not known
  };
  /// If the backend is our own, with `lock` at `position` in the same message.
  bool start_and_lock(std::uint64_t epoch, const Start& start);
  /// Known once a start asked for it: the server tells to where its log is written and flushed.
  [[nodiscard]] bool knows_flushed() const { return knows_flushed_.value_or(false); }
  bool lock(std::uint64_t epoch, const std::optional<Position>& position);
  /// The lock's transaction without what was sent ahead in it, or a new one. False: refused.
  bool hold(std::uint64_t epoch, const std::optional<Position>& position);
  /// Where the cursor goes, and what is noted of the way.
  struct Move {
    std::optional<Position> from;
    std::optional<Position> to;          ///< the last row done that was not late
    std::vector<std::string> ids;        ///< all rows done, in order
    std::vector<std::string> open_ids;   ///< of these, those that stand in the open bucket
    std::optional<Mark> newest;          ///< of these, the newest created_at
    std::size_t queued = 0;              ///< of these, how many are set aside
    bool from_aside = false;             ///< they went out from seriatim.aside
    bool redriven = false;               ///< they were parked, so the ledger has them already
    std::vector<std::string> delivered;  ///< of these, those that a receiver has
    Fate fate;                           ///< of the row after them
    std::size_t next_rows = 0;           ///< Next: in a call that may take so many
    bool goes_on = false;                ///< `lock` comes next
    bool starts_next = false;            ///< `start` too: of a round that is read already
    bool with_others = false;            ///< the lock's transaction holds the writes of a handler

    void saw(const Position& row) {
      newest = std::max(newest.value_or(mark_min), row.created_at_us);
    }
    friend bool operator==(const Move&, const Move&) = default;
  };
  /// The statement of a move whose call is still to be made, without waiting for it: `advance_sent`
  /// commits it, anything else takes it back. False: not sent.
  bool send_ahead(std::uint64_t epoch, Move move);
  /// `goes_on`: `lock` comes next; `next`: `send_ahead` of this, behind the message.
  bool advance_sent(bool goes_on, std::optional<Move> next, Connection::Behind* behind = nullptr);
  /// The lock's transaction as it was before `send_ahead`.
  void take_back();
  /// `behind`: asked right behind the COMMIT, where the move goes in one message with that.
  bool advance(std::uint64_t epoch, const Move& move, std::optional<Move> next,
               Connection::Behind* behind = nullptr);
  /// A move whose fate is a failure, in the lock's transaction if there is one; without rows also
  /// in one of its own. Of a row that was parked: whether it holds its key.
  struct Failed {
    bool ours = false;
    bool holds_key = false;
  };
  Failed fail(std::uint64_t epoch, const Move& move);
  void release(std::uint64_t epoch, bool untouched);
  Cursor look();

 private:
  [[nodiscard]] std::string lease_text() const;
  [[nodiscard]] std::string expected(std::uint64_t epoch) const;
  Params lane_and(std::initializer_list<std::optional<std::string>> more) const;
  [[nodiscard]] Params settle_params(std::uint64_t epoch, const Move& move) const;
  void mark_rows(const std::vector<std::string>& delivered);
  [[nodiscard]] std::string_view failure_statement(const Fate& fate) const;
  /// Ends the lock's transaction: with its changes, or, where it was refused, without.
  bool end(bool ours);
  [[nodiscard]] bool is_plain(const Move& move) const;
  [[nodiscard]] bool changed_hands(const SourceBroken& refused, std::uint64_t epoch,
                                   const std::optional<Position>& from);
  [[nodiscard]] Params start_params(std::uint64_t epoch, bool again, std::size_t next_rows) const;
  bool advance_and_lock(const std::string& statement, const Params& params, std::uint64_t epoch,
                        const Move& move, std::optional<Move> next);
  /// The cursor as it stands, where `statement` and the lock at `position` after it, in one
  /// message, did not end in the lock.
  std::optional<Cursor> commit_and_lock(std::string_view statement, const Params& params,
                                        std::uint64_t epoch,
                                        const std::optional<Position>& position,
                                        std::optional<Move> next = std::nullopt);
  [[nodiscard]] Connection::Change change_for(std::uint64_t epoch, const Move& move) const;
  [[nodiscard]] Connection::Ahead ahead(std::uint64_t epoch, const std::optional<Move>& next) const;
  void remember_sent(std::uint64_t epoch, std::optional<Move> move);
  bool asks_what_is_flushed();
  [[nodiscard]] Params lock_params(std::uint64_t epoch,
                                   const std::optional<Position>& position) const;
  bool begin_locked(std::uint64_t epoch, const std::optional<Position>& position);
  /// When the process began, as a timestamp; absent before the first claim.
  [[nodiscard]] std::optional<std::string> began_text() const;
  std::optional<std::string> create();
  void refuse_strange(const pqxx::row& row) const;
  void refuse_reborn(const pqxx::row& row) const;
  [[noreturn]] void refuse_gone() const;
  void remember(const pqxx::row& row);

  Connection& connection_;
  const Table& table_;
  SourceConfig source_;
  LaneId lane_;
  std::string holder_;
  milliseconds lease_;
  std::shared_ptr<CursorMemory> memory_;
  std::string mark_rows_;  ///< statement; empty: nothing to mark
  std::string start_;
  std::string start_due_;
  std::string start_unwaited_;  ///< … whose commit is waited for only where rows hang on it
  std::optional<bool> knows_flushed_;  ///< the server tells whether they do
  std::string lock_;
  std::string settle_;
  std::string settle_sure_;  ///< … or fails
  std::string settle_and_halt_;
  std::string settle_and_park_;
  bool all_aside_;  ///< late rows are delivered: every batch goes out from seriatim.aside
  struct Sent {
    std::uint64_t epoch = 0;
    Move move;
  };
  void prepare_to_take_back();
  std::optional<Sent> sent_;        ///< ahead of `advance_sent`
  bool may_be_taken_back_ = false;  ///< what that takes is prepared
  std::optional<std::pair<std::uint64_t, std::optional<Position>>> locked_;  ///< ahead of `lock`
};

}  // namespace seriatim::postgres
