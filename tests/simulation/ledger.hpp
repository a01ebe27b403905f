#pragma once

#include <map>
#include <set>

#include "simulation/table.hpp"

namespace seriatim::simulation {

/// Positions behind the cursor, and what is noted for them.
struct NotedRange {
  std::optional<Position> after;  ///< absent: from the first row on
  Position up_to;
  std::set<std::string> ids;  ///< delivered or set aside
};

/// At a moment, after whatever is there.
[[nodiscard]] Position end_of(OrderKey moment);

/// seriatim.ledger and the open bucket: the ids of all that was delivered or set aside, in buckets
/// that cover all positions behind the cursor without a gap.
class Ledger {
 public:
  static constexpr std::size_t bucket_rows = 4;

  explicit Ledger(Stage& stage) : stage_(stage) {}

  /// Rows done, the cursor being at `cursor` now.
  void note(const std::vector<Position>& done, const Position& cursor);
  /// A row done behind the cursor, counted where it is.
  void note_late(const Position& row);
  /// An operator's jump from `from` over `rows`, set aside.
  void jump(const std::vector<Position>& rows, const std::optional<Position>& from);
  /// What lies after `place` will be delivered again.
  void cut(const std::optional<Position>& place);

  [[nodiscard]] bool has(const std::string& id) const;
  /// The newest closed bucket that begins before `up_to`, and the open one.
  [[nodiscard]] NotedRange newest(const Position& up_to) const;
  /// The closed bucket of that number, where there is one and it ends before `up_to`.
  [[nodiscard]] std::optional<NotedRange> closed(std::size_t number, const Position& up_to) const;
  /// All there is after a moment.
  [[nodiscard]] NotedRange since(OrderKey moment, const Position& cursor) const;

 private:
  struct Bucket {
    std::optional<Position> from;
    Position to;
    std::map<std::string, Position> ids;
  };
  void close(const Position& to);
  [[nodiscard]] bool is_after(const Position& row, const std::optional<Position>& place) const;

  Stage& stage_;
  std::vector<Bucket> closed_;
  Bucket open_;  ///< its `to` is the cursor
};

}  // namespace seriatim::simulation
