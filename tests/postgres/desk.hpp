#pragma once

#include <doctest/doctest.h>

#include <string>

#include "postgres/admin/admin.hpp"
#include "postgres/lane_fixture.hpp"

namespace seriatim::testing {

using postgres::Actor;
using postgres::Admin;
using postgres::Target;

inline constexpr const char* bookings = R"(
    CREATE TABLE bookings (
        id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        customer   text,
        payload    json
    );
    CREATE INDEX ON bookings (created_at, id);)";

inline const Actor alice{"alice@desk", "the number is wrong"};

/// A table with rows 1, 2, 3 and the relay's lane on it.
struct Desk {
  TestDatabase database;
  Target target;
  Admin admin{database.url()};

  explicit Desk(OrderBy order = OrderBy::created_at) {
    database.run(bookings);
    insert(3);
    target.process.name = "process";
    target.process.handler_deadline = milliseconds{200};
    target.source.table = "bookings";
    target.source.order_by = order;
  }

  void insert(int rows) {
    for (int i = 0; i < rows; ++i) database.run("INSERT INTO bookings (payload) VALUES ('{}')");
  }

  TestLane relay(const std::string& holder = "relay") {
    return {database, target.source, holder, {target.process.name, 0, target.process.lanes}};
  }

  std::string cursor(const std::string& columns) {
    return database.value("SELECT concat_ws('|', " + columns + ") FROM seriatim.cursor");
  }

  std::string journal(const std::string& columns) {
    return database.value(
        "SELECT concat_ws('|', " + columns +
        ") FROM seriatim.journal WHERE act NOT IN ('begin', 'claim', 'release', 'halt') "
        "ORDER BY id DESC LIMIT 1");
  }
};

/// A lane halted at the row after the cursor, as a relay does it.
inline void halt_at_next(TestLane& lane, HaltReason reason = HaltReason::poison) {
  const auto next = lane.poll(1).records.at(0).id();
  REQUIRE(lane.session->start(lane.cursor.epoch));
  REQUIRE(lane.session->lock(lane.cursor.epoch, lane.cursor.position));
  REQUIRE(lane.session->halt(lane.cursor.epoch, reason, {next, "receiver said 422"}));
}

}  // namespace seriatim::testing
