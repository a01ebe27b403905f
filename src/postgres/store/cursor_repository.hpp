#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postgres/reader/lane_connection.hpp"
#include "postgres/store/cursor_memory.hpp"
#include "postgres/store/recount.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/handler_transaction.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// From a row with the columns of read_cursor.sql.
[[nodiscard]] Cursor cursor_from(const pqxx::row& row);

/// The cursor row of one lane, and the rows set aside (seriatim.aside). Every change is a
/// compare-and-set on the cursor's epoch, so that a holder that was replaced can change nothing
/// (promise P5).
class CursorRepository final : public Store {
 public:
  /// Leases, of a lane without a call and with one.
  struct Leases {
    milliseconds lane;
    milliseconds call;
  };
  CursorRepository(std::shared_ptr<LaneConnection> shared, const SourceConfig& source, LaneId lane,
                   std::string holder, Leases leases, std::shared_ptr<CursorMemory> memory);

  Claim claim() override;
  Cursor read_cursor() override;
  Grant start(std::uint64_t epoch, const Start& start, const Batch& batch) override;
  SettleAnswer settle(std::uint64_t epoch, const Settlement& settlement,
                      const Batch& batch) override;
  void release(std::uint64_t epoch, bool untouched) override;

  ParkedKeys parked_keys() override;
  DueRows due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice) override;
  LeftOut leave_out(std::uint64_t epoch, const DueRow& row,
                    const std::optional<std::string>& unreadable) override;

  Transaction* transaction(std::uint64_t epoch, const std::optional<Position>& position) override;
  bool is_lost() noexcept override { return connection_.is_lost(); }

 private:
  [[nodiscard]] std::string expected(std::uint64_t epoch) const;
  Params lane_and(std::initializer_list<std::optional<std::string>> more) const;
  /// Where the cursor goes, and what is noted of the way.
  struct Move {
    std::optional<Position> to;         ///< the last row done that was not late
    std::size_t rows = 0;               ///< done, delivered or set aside
    std::vector<std::string> open_ids;  ///< of these, those that belong in the open bucket
    std::optional<OrderKey> newest;     ///< of these, the newest created_at

    void saw(const Position& row) {
      newest = std::max(newest.value_or(order_key_min), row.created_at_us);
    }
  };
  [[nodiscard]] Params start_params(std::uint64_t epoch, const Start& start,
                                    const std::optional<OrderKey>& looked_at) const;
  Grant start_planned(std::uint64_t epoch, const Start& start, const Batch& batch);
  [[nodiscard]] Grant granted(std::uint64_t epoch, bool started);
  bool lock(std::uint64_t epoch, const std::optional<Position>& position);
  Move move_of(const Settlement& settlement, const Batch& batch);
  void note_late(const std::vector<Position>& late, Move& move);
  [[nodiscard]] Params settle_params(std::uint64_t epoch, const Settlement& settlement,
                                     const Move& move, const Batch& batch) const;
  [[nodiscard]] std::optional<Statement> queue_statement(const std::vector<QueuedRow>& rows) const;
  [[nodiscard]] Statement park_statement(const std::optional<Position>& from,
                                         const Park& park) const;
  Grant settle_alone(const Statement& statement);
  SettleAnswer settle_in_transaction(Statement settle, const Settlement& settlement,
                                     const std::vector<Position>& taken);
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

  std::shared_ptr<LaneConnection> shared_;
  Connection& connection_;
  const Table& table_;
  SourceConfig source_;
  LaneId lane_;
  std::string holder_;
  Leases leases_;
  std::shared_ptr<CursorMemory> memory_;
  bool claimed_ = false;                    ///< this session was granted the lane
  std::optional<HandlerTransaction> lent_;  ///< to the handler of the call in flight
  Recount late_rows_;

  // Statements
  std::string mark_rows_;  ///< empty: nothing to mark
  std::string start_;
  std::string start_unwaited_;  ///< … whose commit is waited for only if rows hang on it
  std::string start_due_;
  std::string forget_due_;
  std::string put_back_parked_;
  struct Texts {
    std::string settle;
    std::string halt;
  };
  struct SettleTexts {
    Texts alone;   ///< answer that the lane is lost
    Texts surely;  ///< … or fail then
  };
  [[nodiscard]] static SettleTexts texts_of(
      const std::function<std::string(std::string_view answer)>& settle, std::string_view answer);
  SettleTexts one_;      ///< one call after another
  SettleTexts several_;  ///< several calls in flight
};

}  // namespace seriatim::postgres
