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

inline constexpr OrderBy orders[] = {OrderBy::created_at, OrderBy::id};

/// Before VALUES: a row where the test wants it.
inline constexpr const char* behind =
    "INSERT INTO bookings (id, created_at, payload) OVERRIDING SYSTEM VALUE ";

/// Closes a bucket of 64 rows too, as keep_cursor_ranges.sql closes one of 1 000: few rows make
/// several.
inline constexpr const char* small_buckets = R"(
    CREATE FUNCTION close_early() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seriatim.ledger (process_name, lane, lanes, number, from_at, from_id, to_at,
                                     to_id, rows, ids, ranges, newest_at)
        VALUES (NEW.process_name, NEW.lane, NEW.lanes, NEW.sequence, NEW.bucket_at, NEW.bucket_id,
                NEW.position_at, NEW.position_id,
                seriatim.ledger_rows(NEW.bucket_ids, NEW.bucket_ranges), NEW.bucket_ids,
                nullif(NEW.bucket_ranges, '{}'), NEW.bucket_newest_at);
        NEW.bucket_at := NEW.position_at;
        NEW.bucket_id := NEW.position_id;
        NEW.bucket_ids := '{}';
        NEW.bucket_ranges := '{}';
        NEW.bucket_newest_at := NULL;
        RETURN NEW;
    END $$;
    CREATE TRIGGER "later than cursor_keep" BEFORE UPDATE ON seriatim.cursor FOR EACH ROW
        WHEN (NEW.epoch = OLD.epoch
              AND seriatim.ledger_rows(NEW.bucket_ids, NEW.bucket_ranges) >= 64)
        EXECUTE FUNCTION close_early();)";

inline const Actor alice{"alice@desk", "the number is wrong"};

/// A table with rows 1, 2, 3 and the relay's lane on it.
struct Desk {
  TestDatabase database;
  Target target;
  Admin admin{database.url()};

  explicit Desk(OrderBy order = OrderBy::created_at) {
    database.run(bookings);
    database.run(small_buckets);
    insert(3);
    target.process.name = "process";
    target.process.handler_deadline = std::chrono::milliseconds{200};
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
  REQUIRE(lane.start());
  REQUIRE(lane.settle({lane.cursor.position, {}, {}, Halt{reason, {next, "receiver said 422"}}}));
}

}  // namespace seriatim::testing
