#pragma once

#include <string>
#include <vector>

#include "postgres/connection.hpp"
#include "postgres/table.hpp"
#include "seriatim/source.hpp"

namespace seriatim::postgres {

/// From a row with the columns of look_at_cursor.sql.
[[nodiscard]] Cursor cursor_from(const pqxx::row& row);

/// The cursor row of one lane. Every change is a compare-and-set on its epoch, so that a holder
/// that was replaced can change nothing (promise P5).
class CursorRepository {
 public:
  CursorRepository(Connection& connection, const Table& table, LaneId lane, std::string holder,
                   milliseconds lease);

  Claim claim();
  bool start(std::uint64_t epoch);
  bool lock(std::uint64_t epoch, const std::optional<Position>& expected);
  bool advance(std::uint64_t epoch, const std::optional<Position>& from,
               const std::vector<Position>& done, bool next_started);
  bool note_retry(std::uint64_t epoch, const Failure& failure, milliseconds delay);
  bool halt(std::uint64_t epoch, HaltReason reason, const Failure& failure);
  void release(std::uint64_t epoch, bool untouched);
  Cursor look();

 private:
  [[nodiscard]] std::string lease_text() const;
  Params lane_and(std::initializer_list<std::optional<std::string>> more) const;
  bool change(std::string_view sql, const Params& params);
  void refuse_other_lane_count();

  Connection& connection_;
  LaneId lane_;
  std::string holder_;
  milliseconds lease_;
  std::string mark_rows_;  ///< statement; empty: nothing to mark
};

}  // namespace seriatim::postgres
