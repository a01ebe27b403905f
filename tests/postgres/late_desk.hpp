#pragma once

#include <string>
#include <utility>
#include <vector>

#include "postgres/desk.hpp"

namespace seriatim::testing {

/// Bookings stamped by the transaction's start, as most tables are.
struct LateDesk : Desk {
  LateDesk() {
    database.run("ALTER TABLE bookings ALTER COLUMN created_at SET DEFAULT now()");
    target.source.insert_latency = std::chrono::milliseconds{0};
    target.source.late_rows = OnLateRow::deliver;
  }
  void insert_at(int id, const std::string& before_now) {
    database.run("INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE VALUES (" +
                 std::to_string(id) + ", clock_timestamp() - interval '" + before_now + "', '{}')");
  }
  std::string planned() {
    return database.value(
        "SELECT coalesce(string_agg(row_id, ',' ORDER BY number), '') FROM seriatim.aside WHERE "
        "state = 'due' AND begun");
  }
  bool sound() {
    return admin.audit(target, true, [](std::uint64_t) {}).at(0).sound();
  }
};

inline std::vector<std::pair<std::string, bool>> ids_and_late(const PollResult& round) {
  std::vector<std::pair<std::string, bool>> seen;
  for (const auto& record : round.records) seen.emplace_back(record.id(), record.late);
  return seen;
}
using Seen = std::vector<std::pair<std::string, bool>>;

}  // namespace seriatim::testing
