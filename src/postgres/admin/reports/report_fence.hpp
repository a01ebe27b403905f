#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postgres/admin/admin.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// Writers that the last report saw, by transaction, and when each was seen first: one that is seen
/// again was no short one. Kept from report to report it spares all but the first a wait.
struct KnownWriters {
  using Clock = std::chrono::steady_clock;
  bool were_read = false;
  std::map<std::string, Clock::time_point> first_seen;
};

/// A row that waits, and goes out next if nothing holds it back.
struct RowInFront {
  std::string id;
  std::optional<std::int64_t> created_at_us;
};

/// Says of the lanes whether the fence holds their first rows back, and who does.
///
/// From outside, nobody knows when a writer was seen first by a lane. So each that began before the
/// row was stamped is taken to hold it, unless it is short: writers gone within `short_writer` hold
/// nobody up. Its age shows that, or an earlier report that saw it. If neither does, the first
/// report reads the writers again after that time, once for all lanes; a later one leaves it to the
/// next.
void report_fence(Connection& connection, const Table& table,
                  const std::map<LaneReport*, RowInFront>& lanes, KnownWriters& known);

inline constexpr milliseconds short_writer{100};

}  // namespace seriatim::postgres
