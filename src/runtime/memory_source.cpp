#include "seriatim/testing/memory_source.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "core/fence.hpp"
#include "runtime/memory_store.hpp"

namespace seriatim::testing {

/// The rows, which all readers share, and the cursors.
struct MemorySource::State {
  State(OrderBy order_by, Where wanted) : order(order_by), where(std::move(wanted)) {}

  struct Row {
    Record record;
    std::uint64_t transaction = 0;
  };

  const OrderBy order;
  const Where where;
  const std::shared_ptr<MemoryCursors> cursors = std::make_shared<MemoryCursors>();
  mutable std::mutex mutex;
  std::vector<Row> rows;         ///< in the order their values were drawn
  std::set<std::uint64_t> open;  ///< transactions holding the table's lock
  std::set<std::uint64_t> rolled_back;
  std::uint64_t next_id = 1;
  std::uint64_t next_transaction = 1;
  OrderKey clock = 1'000'000;  ///< microseconds; advances by one at each read

  [[nodiscard]] OrderKey order_key_of(const Position& position) const {
    return order == OrderBy::id ? std::stoll(position.id) : position.created_at_us;
  }
  [[nodiscard]] bool visible(const Row& row) const {
    return !open.contains(row.transaction) && !rolled_back.contains(row.transaction);
  }
  [[nodiscard]] bool belongs(const Record& record, const LaneId& lane) const {
    return (!where || where(record)) && lane_of(record.key, lane.lanes) == lane.lane;
  }
  std::uint64_t begin() {
    const std::scoped_lock guard(mutex);
    open.insert(next_transaction);
    return next_transaction++;
  }
  std::string insert(Record record, std::uint64_t transaction) {
    const std::scoped_lock guard(mutex);
    record.position = {clock++, std::to_string(next_id++)};
    rows.push_back({record, transaction});
    return record.position.id;
  }
  void end(std::uint64_t transaction, bool commit) {
    {
      const std::scoped_lock guard(mutex);
      if (open.erase(transaction) == 0) return;
      if (!commit) rolled_back.insert(transaction);
    }
    cursors->hint();
  }
  /// Visible rows of the lane after the cursor, in order. Under the mutex.
  [[nodiscard]] std::vector<const Record*> waiting(const LaneId& lane,
                                                   const std::optional<Position>& after) const {
    std::vector<const Record*> found;
    for (const auto& row : rows) {
      const bool behind = after && !core::comes_after(row.record.position, *after, order);
      if (!behind && visible(row) && belongs(row.record, lane)) found.push_back(&row.record);
    }
    std::sort(found.begin(), found.end(), [&](const Record* a, const Record* b) {
      return core::comes_after(b->position, a->position, order);
    });
    return found;
  }
};

namespace {

class MemoryReader final : public Reader {
 public:
  MemoryReader(std::shared_ptr<MemorySource::State> state, LaneId lane, Waker& waker)
      : state_(std::move(state)),
        lane_(std::move(lane)),
        waker_(waker),
        generation_(state_->cursors->generation()) {}

  [[nodiscard]] Abilities abilities() const override { return {}; }
  [[nodiscard]] bool comes_after(const Position& row, const Position& other) const override {
    return core::comes_after(row, other, state_->order);
  }

  PollResult poll(const Wanted& wanted) override {
    refuse_dropped();
    const std::scoped_lock guard(state_->mutex);
    const auto& after = wanted.after;
    if (!fence_) fence_.emplace(after ? state_->order_key_of(*after) : order_key_min);
    const OrderKey settled = fence_->settle(high_mark(), holders());
    PollResult round;
    for (const auto* record : state_->waiting(lane_, after)) {
      if (!core::is_settled(state_->order_key_of(record->position), settled)) {
        round.fenced = true;
        break;
      }
      if (round.records.size() == wanted.rows_max) break;
      round.records.push_back(*record);
    }
    if (round.fenced) round.blockers.push_back({.application = "memory transaction"});
    return round;
  }

  PollResult reread(const std::vector<std::string>& ids, const std::optional<Position>& after,
                    unsigned rows_max) override {
    refuse_dropped();
    const std::scoped_lock guard(state_->mutex);
    PollResult round;
    for (const auto& id : ids) {
      const auto& rows = state_->rows;
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& candidate) {
        return candidate.record.id() == id && state_->visible(candidate);
      });
      if (row == rows.end() || round.records.size() == rows_max) break;
      round.records.push_back(row->record);
      auto& record = round.records.back();
      record.late = after && !comes_after(record.position, *after);
    }
    return round;
  }

  bool wait_until(Time deadline) override {
    const bool woken = waker_.wait_until(deadline);
    refuse_dropped();
    return woken;
  }
  [[nodiscard]] bool hints() const override { return true; }

 private:
  void refuse_dropped() const {
    if (generation_ != state_->cursors->generation()) throw SessionLost("the session was dropped");
  }
  [[nodiscard]] OrderKey high_mark() const {
    return state_->order == OrderBy::id ? static_cast<OrderKey>(state_->next_id) : state_->clock++;
  }
  [[nodiscard]] std::vector<core::Holder> holders() const {
    std::vector<core::Holder> holders;
    for (const auto transaction : state_->open) holders.push_back({std::to_string(transaction)});
    return holders;
  }

  std::shared_ptr<MemorySource::State> state_;
  LaneId lane_;
  Waker& waker_;
  unsigned generation_;
  std::optional<core::Fence> fence_;
};

class MemoryTransaction final : public MemorySource::Transaction {
 public:
  explicit MemoryTransaction(std::shared_ptr<MemorySource::State> state)
      : state_(std::move(state)), number_(state_->begin()) {}
  ~MemoryTransaction() override { state_->end(number_, false); }

  std::string append(Record row) override { return state_->insert(std::move(row), number_); }
  void commit() override { state_->end(number_, true); }

 private:
  std::shared_ptr<MemorySource::State> state_;
  std::uint64_t number_;
};

}  // namespace

MemorySource::MemorySource(OrderBy order, Where where)
    : state_(std::make_shared<State>(order, std::move(where))) {}
MemorySource::~MemorySource() = default;

std::string MemorySource::append(Record row) {
  const auto transaction = begin();
  auto id = transaction->append(std::move(row));
  transaction->commit();
  return id;
}

std::unique_ptr<MemorySource::Transaction> MemorySource::begin() {
  return std::make_unique<MemoryTransaction>(state_);
}

void MemorySource::pause(const LaneId& lane) {
  state_->cursors->pause(lane);
}

void MemorySource::resume(const LaneId& lane) {
  state_->cursors->resume(lane);
}

void MemorySource::hold(const LaneId& lane, bool on) {
  state_->cursors->hold(lane, on);
}

void MemorySource::retry(const LaneId& lane) {
  state_->cursors->retry(lane);
}

/// Only a row that was tried: before any other an earlier one may still be committed.
void MemorySource::skip(const LaneId& lane, const std::string& id) {
  const std::scoped_lock guard(state_->mutex);
  const auto waiting = state_->waiting(lane, state_->cursors->cursor(lane).position);
  if (waiting.empty() || waiting.front()->id() != id) {
    throw Error("the lane is not at row " + id);
  }
  state_->cursors->skip(lane, waiting.front()->position);
}

void MemorySource::redrive(const std::string& process) {
  state_->cursors->redrive(process);
}

std::vector<std::string> MemorySource::parked(const std::string& process) const {
  return state_->cursors->parked(process);
}

Cursor MemorySource::cursor(const LaneId& lane) const {
  return state_->cursors->cursor(lane);
}

void MemorySource::drop_sessions() {
  state_->cursors->drop_sessions();
}

Source::Lane MemorySource::open(const LaneId& lane, const ProcessConfig&, const std::string& holder,
                                Waker& waker) {
  return {MemoryCursors::open(state_->cursors, lane, holder, waker),
          std::make_unique<MemoryReader>(state_, lane, waker)};
}

}  // namespace seriatim::testing
