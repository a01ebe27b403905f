#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/fence.hpp"
#include "postgres/table/rewind_place.hpp"
#include "postgres/table/table.hpp"
#include "postgres/table/target.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Finds where a process begins that has no cursor yet.
///
/// `start = "now"` is the moment of the first read. Every row committed later is delivered, also
/// one whose place lies before rows committed earlier: the cursor is put before all that the
/// transactions writing the table at that moment can still commit. If it cannot be seen when one of
/// them began (another role's, prepared), its end is awaited first, and what it commits then counts
/// as earlier.
class StartFinder {
 public:
  explicit StartFinder(SourceConfig source) : source_(std::move(source)) {}

  /// The row each lane begins after, absent: before the first. Nothing: not known yet, ask again;
  /// `waits_for` says why. Error: `start` names no place in the table.
  using Places = std::vector<std::optional<Position>>;
  std::optional<Places> find(Connection& connection, const Table& table, const std::string& process,
                             unsigned lanes);
  /// "pid 4711 psql, prepared 'order-17'"
  [[nodiscard]] const std::string& waits_for() const { return waits_for_; }

 private:
  /// Rows of before "now" lie below a mark of the order, or below a time.
  struct Now {
    std::optional<OrderKey> mark;
    std::string time;
  };
  std::optional<Now> now(Connection& connection, const Table& table);

  SourceConfig source_;
  core::Fence fence_{order_key_min};  ///< of all reads: who wrote at the first has no bound
  std::optional<OrderKey> first_read_;
  std::string waits_for_;
};

/// Asks again and again, for `patience` at most; then Error.
[[nodiscard]] StartFinder::Places find_start(Connection& connection, const Table& table,
                                             const Target& target, milliseconds patience);

struct Beginning {
  std::string process;
  std::string start;  ///< as configured
};
/// For the journal.
struct BeginAct {
  std::string act;
  std::optional<std::string> who;
  std::optional<std::string> why;
};
/// Creates the cursors. False: somebody else did meanwhile. `identity`: absent where not known yet.
bool begin_process(Connection& connection, const Beginning& process,
                   const StartFinder::Places& places, const std::optional<std::string>& identity,
                   const BeginAct& act);

/// Why a process without a cursor is no new one: the ledger or the journal knows it. Empty: it is.
[[nodiscard]] std::string why_not_new(Connection& connection, const std::string& process);

/// What is said where a process is configured with another number of lanes than it is cut into.
[[nodiscard]] std::string other_lanes_text(const std::string& process, unsigned cut,
                                           unsigned configured);

/// What is said of a cursor row that is missing though the process has begun.
[[nodiscard]] std::string row_gone_text(const std::string& process);

}  // namespace seriatim::postgres
