#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/lane_session.hpp"
#include "seriatim/error.hpp"
#include "seriatim/postgres.hpp"
#include "seriatim/source.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

namespace seriatim::testing {

/// A session on a table of a test database, and the few things a relay would do with it.
struct TestLane {
  Waker waker;
  ProcessConfig config;
  LaneId id;
  std::string holder;
  std::shared_ptr<Source> source;
  std::unique_ptr<runtime::LaneSession> session;
  Cursor cursor;
  std::size_t rows_of_call = 1;  ///< of the last poll

  TestLane(const TestDatabase& database, const SourceConfig& table,
           std::string holder_name = "relay", LaneId lane = {"process", 0, 1})
      : TestLane(database.url(), table, std::move(holder_name), std::move(lane)) {}

  TestLane(const std::string& url, const SourceConfig& table, std::string holder_name = "relay",
           LaneId lane = {"process", 0, 1})
      : id(std::move(lane)), holder(std::move(holder_name)) {
    config.name = id.process;
    config.lanes = id.lanes;
    source = postgres_source(url, table);
    open();
  }

  void open() {
    session = std::make_unique<runtime::LaneSession>(*source, id, config, holder, waker);
  }

  bool claim() {
    auto answer = session->claim();
    cursor = answer.cursor;
    return answer.granted;
  }

  /// Claims until the lane is granted; a short lease makes that soon.
  void claim_in_the_end() {
    config.lease = std::chrono::milliseconds{50};
    open();
    wait_until("the lane is granted", [this] { return claim(); });
  }

  PollResult poll(unsigned rows_max = 100) {
    auto round = session->poll(cursor.position, rows_max);
    rows_of_call =
        std::min<std::size_t>(config.commit_every, round.records.size()) + round.queued.size();
    return round;
  }

  /// Delivers what is settled; the ids. Nothing where the lane was refused.
  std::vector<std::string> deliver(unsigned rows_max = 100) {
    const auto round = poll(rows_max);
    if (round.records.empty() || !advance(round)) return {};
    std::vector<std::string> ids;
    for (const auto& record : round.records) ids.push_back(record.id());
    return ids;
  }

  /// Announces a call: it was granted. `again`: the attempt counted last was not made.
  bool start(bool again = false) {
    return session->start(cursor.epoch, rows_of_call, again) == Grant::ours;
  }
  /// What became of it is settled.
  bool settle(const Settlement& settlement) {
    return session->settle(cursor.epoch, settlement).grant == Grant::ours;
  }

  /// Starts, and settles all that the round brought; false if the lane was refused.
  bool advance(const PollResult& round) {
    std::vector<Position> done;
    for (const auto& record : round.records) done.push_back(record.position);
    const bool moved = start() && settle({cursor.position, done, {}, Rest{}});
    if (moved) cursor = session->read_cursor();
    return moved;
  }
};

inline std::vector<std::string> ids_of(const PollResult& round) {
  std::vector<std::string> ids;
  for (const auto& record : round.records) ids.push_back(record.id());
  return ids;
}

using Ids = std::vector<std::string>;

/// A table as configured, without the wait for young rows.
inline SourceConfig table(const std::string& name, OrderBy order_by = OrderBy::created_at) {
  SourceConfig source;
  source.table = name;
  source.order_by = order_by;
  source.insert_latency = std::chrono::milliseconds{0};
  return source;
}

inline const std::string stamped = "created_at timestamptz NOT NULL DEFAULT clock_timestamp()";

/// A lane already claimed.
struct Opened {
  explicit Opened(TestDatabase& database, const SourceConfig& source, LaneId id = {"process", 0, 1})
      : lane(database, source, "relay", std::move(id)) {
    if (!lane.claim()) throw Error("the lane could not be claimed");
  }
  TestLane lane;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace seriatim::testing

/// A test case of either order by `order`.
#define BOTH_ORDERS                    \
  OrderBy order = OrderBy::created_at; \
  SUBCASE("created_at order") {}       \
  SUBCASE("id order") {                \
    order = OrderBy::id;               \
  }
