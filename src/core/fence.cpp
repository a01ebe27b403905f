#include "core/fence.hpp"

#include <algorithm>
#include <tuple>

#include "core/mutant.hpp"

namespace seriatim::core {

Fence::Fence(OrderKey cursor) : previous_f_(cursor) {}

OrderKey Fence::least_bound_of_vanished(std::span<const Holder> holders) const {
  OrderKey least = order_key_max;
  for (const auto& known : seen_) {
    const auto same = [&](const Holder& h) { return h.transaction == known.first; };
    if (std::none_of(holders.begin(), holders.end(), same)) {
      least = std::min(least, known.second.bound);
    }
  }
  return least;
}

OrderKey Fence::settle(OrderKey f, std::span<const Holder> holders) {
  // PREPARE renames a transaction, so a prepared one may be an ordinary one that vanished and must
  // not get a younger bound than it had. pg_locks reads the backends' fast-path slots before the
  // shared table, so a PREPARE in between shows under both names at once and its old name vanishes
  // only in the next poll: a prepared holder inherits in its second poll too.
  const OrderKey vanished = least_bound_of_vanished(holders);
  std::map<std::string, Seen> now;
  OrderKey settled = f;
  for (const auto& holder : holders) {
    const auto known = seen_.find(holder.transaction);
    Seen seen = known == seen_.end() ? Seen{previous_f_, holder.prepared, true} : known->second;
    const bool first = known == seen_.end() && !mutant(Mutant::no_inheritance);
    const bool second = known != seen_.end() && known->second.fresh &&
                        !mutant(Mutant::no_late_inheritance) && !mutant(Mutant::no_inheritance);
    if (holder.prepared && (first || second)) seen.bound = std::min(seen.bound, vanished);
    seen.fresh = known == seen_.end();
    settled = std::min(settled, seen.bound);
    now.emplace(holder.transaction, seen);
  }
  seen_ = std::move(now);
  previous_f_ = f;
  return mutant(Mutant::no_fence) ? f : settled;
}

OrderKey Fence::bound_of(const std::string& transaction) const {
  const auto known = seen_.find(transaction);
  return known == seen_.end() ? order_key_max : known->second.bound;
}

bool is_settled(OrderKey row, OrderKey settled) {
  return mutant(Mutant::settled_inclusive) ? row <= settled : row < settled;
}

namespace {

// Decimal numbers without leading zeros or sign: the longer is the larger.
auto by_value(const std::string& id) {
  return std::make_pair(id.size(), std::string_view(id));
}

}  // namespace

bool comes_after(const Position& row, const Position& cursor, OrderBy order) {
  if (order == OrderBy::id) return by_value(row.id) > by_value(cursor.id);
  if (mutant(Mutant::ties_dropped)) return row.created_at_us > cursor.created_at_us;
  return std::make_tuple(row.created_at_us, by_value(row.id)) >
         std::make_tuple(cursor.created_at_us, by_value(cursor.id));
}

}  // namespace seriatim::core
