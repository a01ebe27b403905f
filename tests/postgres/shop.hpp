#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "postgres/admin/reports/row_report.hpp"
#include "postgres/desk.hpp"
#include "seriatim/relay.hpp"

namespace seriatim::testing {

using namespace seriatim::postgres;
using std::chrono::milliseconds;

inline const Actor bob{"bob@desk", "fixed"};

inline std::vector<std::uint64_t> numbers(const std::vector<Record>& records) {
  std::vector<std::uint64_t> numbers;
  for (const auto& record : records) numbers.push_back(record.sequence);
  return numbers;
}

/// A process by customer, whose receiver refuses the rows named.
struct Shop : Desk {
  std::set<std::string> refused;
  std::vector<Record> calls;
  Ids accepted;

  explicit Shop(OnPoison on_poison = OnPoison::park_key, OrderBy order = OrderBy::created_at)
      : Desk(order) {
    database.run("TRUNCATE bookings RESTART IDENTITY");
    target.process.on_poison = on_poison;
    target.process.lease = milliseconds{2'000};
    target.source.key = "customer";
  }

  /// One row a customer, ids 1, 2, 3 …
  void book(const Ids& customers) {
    for (const auto& customer : customers) {
      database.run("INSERT INTO bookings (customer, payload) VALUES (nullif('" + customer +
                   "', ''), '{}')");
    }
  }

  /// A relay until nothing is left to deliver; what was accepted by then, in order.
  Ids drain() {
    accepted.clear();
    calls.clear();
    Relay relay({.drain = true});
    relay.add(target.process, postgres_source(database.url(), target.source),
              handler_from([this](const Record& record) {
                calls.push_back(record);
                if (refused.contains(record.id())) return Outcome::poison("HTTP 422");
                accepted.push_back(record.id());
                return Outcome::done();
              }));
    relay.run({});
    return accepted;
  }

  Ids parked() {
    Ids ids;
    admin.parked(target, std::nullopt, 1'000,
                 [&](const ParkedRow& row) { ids.push_back(row.position.id); });
    return ids;
  }

  bool audit_is_sound() {
    const auto lanes = admin.audit(target, true, [](std::uint64_t) {});
    for (const auto& lane : lanes) {
      for (const auto& text : lane.mismatch_texts) MESSAGE(text);
      for (const auto& row : lane.late) MESSAGE("late: ", row.id);
    }
    return std::all_of(lanes.begin(), lanes.end(), [](const auto& lane) { return lane.sound(); });
  }

  RowReport::State why(const std::string& id) { return admin.why(target, id).state; }
};

}  // namespace seriatim::testing
