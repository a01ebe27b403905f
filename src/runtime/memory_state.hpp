#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/fence.hpp"
#include "core/queueing.hpp"
#include "seriatim/testing/memory_source.hpp"

namespace seriatim::testing {

namespace memory {

struct Row {
  Record record;
  std::uint64_t transaction = 0;
};

struct Lane {
  Cursor cursor;
  unsigned lanes = 1;
  std::string holder;
  const void* session = nullptr;  ///< of the holder; null once it is gone
  bool released = true;
  std::chrono::steady_clock::time_point retry_at;
  std::optional<std::string> redriving;  ///< the parked row whose call was started
};

using LaneKey = std::pair<std::string, unsigned>;

/// A row that is set aside, in the order they were.
struct Parked {
  Record record;
  bool holds_key = false;
  bool failed = false;
  bool redriven = false;
};

}  // namespace memory

/// What a memory source and its sessions share, under one mutex.
struct MemorySource::State {
  State(OrderBy order_by, Where wanted) : order(order_by), where(std::move(wanted)) {}

  const OrderBy order;
  const Where where;
  mutable std::mutex mutex;
  std::vector<memory::Row> rows;  ///< in the order their values were drawn
  std::set<std::uint64_t> open;   ///< transactions holding the table's lock
  std::set<std::uint64_t> rolled_back;
  std::map<memory::LaneKey, memory::Lane> lanes;
  std::map<std::string, std::vector<memory::Parked>> parked;  ///< by process
  std::set<Waker*> wakers;
  std::uint64_t next_id = 1;
  std::uint64_t next_transaction = 1;
  Mark clock = 1'000'000;   ///< microseconds; advances by one at each look
  unsigned generation = 0;  ///< sessions of an older one are lost

  Mark mark_of(const Record& record) const {
    return order == OrderBy::id ? std::stoll(record.position.id) : record.position.created_at_us;
  }
  std::string insert(Record record, std::uint64_t transaction) {
    record.position = {clock++, std::to_string(next_id++)};
    rows.push_back({record, transaction});
    return record.position.id;
  }
  void end(std::uint64_t transaction, bool commit) {
    if (open.erase(transaction) == 0) return;
    if (!commit) rolled_back.insert(transaction);
    hint();
  }
  void hint() const {
    for (auto* waker : wakers) waker->wake();
  }
  bool visible(const memory::Row& row) const {
    return !open.contains(row.transaction) && !rolled_back.contains(row.transaction);
  }
  memory::Lane& lane(const LaneId& id) {
    const auto found = lanes.find({id.process, id.lane});
    if (found == lanes.end()) throw Error("no cursor of process \"" + id.process + "\" yet");
    return found->second;
  }
  bool belongs(const Record& record, const LaneId& id) const {
    if (where && !where(record)) return false;
    const auto hash = record.key ? std::hash<std::string>{}(*record.key) : 0;
    return hash % id.lanes == id.lane;
  }
  std::vector<const memory::Row*> waiting(const LaneId& id,
                                          const std::optional<Position>& after) const;
  const Record& record(const Position& position) const;
  core::ParkedKeys parked_keys(const std::string& process) const;
};

}  // namespace seriatim::testing
