#pragma once

#include <map>
#include <span>
#include <string>

#include "seriatim/position.hpp"

namespace seriatim::core {

/// A transaction seen holding a write-class lock on the table.
struct Holder {
  /// Names the transaction while it is an ordinary one: pg_locks.virtualtransaction and pid,
  /// "3/117@2305". A prepared one has no pid, "3/117", and is renamed "-1/4711" by a restart.
  std::string transaction;
  bool prepared = false;
};

/// The high-water mark below which no further row can appear (docs/fence.md).
///
/// A writer locks the table before it draws created_at (or id) and lets go after its row is
/// visible. So a writer first seen in this poll drew its values after the previous poll's F, and
/// one seen earlier after the F before that: each keeps the bound it was first given. Order: F is
/// read before the holders, and rows are read by a later statement than both.
///
/// Lifetime: one per database session; what is not known from this session is bounded by the
/// cursor.
class Fence {
 public:
  /// `cursor` is the mark of the last delivered row: nothing at or below it is asked for again.
  explicit Fence(OrderKey cursor);

  /// Rows with a mark strictly below the answer are settled. `f` was read before `holders`.
  OrderKey settle(OrderKey f, std::span<const Holder> holders);

  /// What the last `settle` gave this one of its holders: it may still bring a row at or above.
  [[nodiscard]] OrderKey bound_of(const std::string& transaction) const;

 private:
  struct Seen {
    OrderKey bound = order_key_min;
    bool prepared = false;
    bool fresh = true;  ///< first seen in the latest poll
  };

  OrderKey least_bound_of_vanished(std::span<const Holder> holders) const;

  std::map<std::string, Seen> seen_;
  OrderKey previous_f_;
};

/// Strictly below: a row *at* a writer's bound may have an earlier sibling still to come.
[[nodiscard]] bool is_settled(OrderKey row, OrderKey settled);

/// Keyset comparison: does `row` come after the cursor? Ids compare as numbers.
[[nodiscard]] bool comes_after(const Position& row, const Position& cursor, OrderBy order);

}  // namespace seriatim::core
