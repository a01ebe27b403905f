#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "contract/source_under_test.hpp"
#include "runtime/lane_session.hpp"

namespace seriatim::testing {

struct Promise {
  const char* name;
  void (*check)(SourceUnderTest&);
  Abilities needs{.fence = false, .reread = false};
};
/// What every source promises of its rows, of what is settled, and of who holds a lane.
[[nodiscard]] const std::vector<Promise>& promises_of_rows();
[[nodiscard]] const std::vector<Promise>& promises_of_calls();
[[nodiscard]] const std::vector<Promise>& promises_of_holders();

inline const LaneId lane_id{"process", 0, 1};
using Ids = std::vector<std::string>;

/// One relay's hands on the lane.
struct Relay {
  Relay(SourceUnderTest& under_test, std::string name)
      : under_test_(under_test), holder(std::move(name)) {
    config.name = lane_id.process;
    open();
  }
  void open() {
    session = std::make_unique<runtime::LaneSession>(under_test_.source(), lane_id, config, holder,
                                                     waker);
  }

  bool claim() {
    const auto answer = session->claim();
    cursor = answer.cursor;
    return answer.granted;
  }
  PollResult poll(unsigned rows_max = 100) { return session->poll(cursor.position, rows_max); }
  Ids waiting(unsigned rows_max = 100) {
    Ids ids;
    for (const auto& record : poll(rows_max).records) ids.push_back(record.id());
    return ids;
  }
  bool deliver_one() {
    const auto round = poll(1);
    REQUIRE(round.records.size() == 1);
    return start() && move_to(round.records[0].position);
  }
  bool start(bool again = false) { return session->start(cursor.epoch, 1, again) == Grant::ours; }
  bool settle(const Settlement& settlement) {
    return session->settle(cursor.epoch, settlement).grant == Grant::ours;
  }
  bool move_to(const Position& position) {
    if (!settle({cursor.position, {position}, {}, Rest{}})) return false;
    cursor = session->read_cursor();
    return true;
  }

 private:
  SourceUnderTest& under_test_;

 public:
  Waker waker;
  ProcessConfig config;
  std::string holder;
  std::unique_ptr<runtime::LaneSession> session;
  Cursor cursor;
};

}  // namespace seriatim::testing
