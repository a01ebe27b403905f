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

/// seriatim.ledger and the open bucket: the ids of all that was delivered or set aside, in buckets
/// that cover all positions behind the cursor without a gap.
class Ledger {
 public:
  static constexpr std::size_t bucket_rows = 4;

  explicit Ledger(Stage& stage) : stage_(stage) {}

  /// Rows done, the cursor being at `cursor` now.
  void note(const std::vector<Position>& done, const Position& cursor);
  /// A row done behind the cursor, counted where it stands.
  void note_late(const Position& row);
  /// An operator's jump from `from` over `rows`, set aside.
  void jump(const std::vector<Position>& rows, const std::optional<Position>& from);
  /// What lies after `place` will be delivered again.
  void cut(const std::optional<Position>& place);

  [[nodiscard]] bool has(const std::string& id) const;
  /// The newest closed bucket, and the open one up to the cursor.
  [[nodiscard]] NotedRange newest(const Position& cursor) const;
  /// The closed bucket of that number, where there is one.
  [[nodiscard]] std::optional<NotedRange> closed(std::size_t number) const;
  /// All there is from a moment on.
  [[nodiscard]] NotedRange since(Mark moment, const Position& cursor) const;

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
