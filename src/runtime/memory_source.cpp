#include "seriatim/testing/memory_source.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "core/fence.hpp"
#include "core/queueing.hpp"

namespace seriatim::testing {

namespace {

struct Row {
  Record record;
  std::uint64_t transaction = 0;
};

struct Lane {
  Cursor cursor;
  unsigned lanes = 1;
  std::string holder;
  const void* session = nullptr;  ///< of the holder; null once it is gone
  const void* locked_by = nullptr;
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

}  // namespace

struct MemorySource::State {
  State(OrderBy order_by, Where wanted) : order(order_by), where(std::move(wanted)) {}

  const OrderBy order;
  const Where where;
  mutable std::mutex mutex;
  std::vector<Row> rows;         ///< in the order their values were drawn
  std::set<std::uint64_t> open;  ///< transactions holding the table's lock
  std::set<std::uint64_t> rolled_back;
  std::map<LaneKey, Lane> lanes;
  std::map<std::string, std::vector<Parked>> parked;  ///< by process
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
  bool visible(const Row& row) const {
    return !open.contains(row.transaction) && !rolled_back.contains(row.transaction);
  }
  Lane& lane(const LaneId& id) {
    const auto found = lanes.find({id.process, id.lane});
    if (found == lanes.end()) throw Error("no cursor of process \"" + id.process + "\" yet");
    return found->second;
  }
  bool belongs(const Record& record, const LaneId& id) const {
    if (where && !where(record)) return false;
    const auto hash = record.key ? std::hash<std::string>{}(*record.key) : 0;
    return hash % id.lanes == id.lane;
  }
  std::vector<const Row*> waiting(const LaneId& id, const std::optional<Position>& after) const;
  const Record& record(const Position& position) const;
  core::ParkedKeys parked_keys(const std::string& process) const;
};

const Record& MemorySource::State::record(const Position& position) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return row.record.position == position; });
  if (found == rows.end()) throw Error("there is no row " + position.id);
  return found->record;
}

core::ParkedKeys MemorySource::State::parked_keys(const std::string& process) const {
  core::ParkedKeys keys;
  const auto found = parked.find(process);
  if (found == parked.end()) return keys;
  for (const auto& row : found->second) {
    if (row.holds_key) keys.insert(row.record.key);
  }
  return keys;
}

/// Visible rows of the lane after the cursor, in order.
std::vector<const Row*> MemorySource::State::waiting(const LaneId& id,
                                                     const std::optional<Position>& after) const {
  std::vector<const Row*> found;
  for (const auto& row : rows) {
    const bool behind = after && !core::comes_after(row.record.position, *after, order);
    if (!behind && visible(row) && belongs(row.record, id)) found.push_back(&row);
  }
  std::sort(found.begin(), found.end(), [&](const Row* a, const Row* b) {
    return core::comes_after(b->record.position, a->record.position, order);
  });
  return found;
}

namespace {

class MemorySession final : public LaneSession {
 public:
  MemorySession(std::shared_ptr<MemorySource::State> state, LaneId id, std::string holder,
                Waker& waker)
      : state_(std::move(state)), id_(std::move(id)), holder_(std::move(holder)), waker_(waker) {
    const std::scoped_lock guard(state_->mutex);
    generation_ = state_->generation;
    state_->wakers.insert(&waker_);
  }

  ~MemorySession() override {
    const std::scoped_lock guard(state_->mutex);
    state_->wakers.erase(&waker_);
    for (auto& [key, lane] : state_->lanes) {
      if (lane.session == this) lane.session = nullptr;
      if (lane.locked_by == this) lane.locked_by = nullptr;
    }
  }

  Claim claim() override {
    const auto guard = enter();
    auto& lane = state_->lanes[{id_.process, id_.lane}];
    lane.lanes = id_.lanes;
    const bool locked = lane.locked_by != nullptr && lane.locked_by != this;
    const bool held = lane.session != nullptr && lane.session != this && lane.holder != holder_;
    if (locked || held) return {false, current(lane), lane.holder};
    if (lane.holder != holder_) take_over(lane);
    lane.session = this;
    return {true, current(lane), holder_};
  }

  Round poll(const std::optional<Position>& after, unsigned rows_max, bool may_redrive) override {
    const auto guard = enter();
    if (auto redriven = next_redriven(may_redrive))
      return {{std::move(*redriven)}, false, {}, {}, {}};
    if (!fence_) fence_.emplace(after ? mark_of(*after) : mark_min);
    const Mark settled = fence_->settle(high_mark(), holders());
    Round round;
    for (const auto* row : state_->waiting(id_, after)) {
      if (!core::is_settled(state_->mark_of(row->record), settled)) {
        round.fenced = true;
        break;
      }
      if (round.records.size() == rows_max) break;
      round.records.push_back(row->record);
    }
    if (round.fenced) round.blockers.push_back({.application = "memory transaction"});
    core::queue_rows_of(state_->parked_keys(id_.process), round);
    return round;
  }

  bool start(std::uint64_t epoch, bool again) override {
    const auto guard = enter();
    auto& lane = own();
    if (!active(lane, epoch) || locked_by_other(lane)) return false;
    if (!again) lane.cursor.attempts += 1;
    lane.redriving = redriving_;
    lane.cursor.state = Cursor::State::running;
    return true;
  }

  bool lock(std::uint64_t epoch, const std::optional<Position>& expected) override {
    const auto guard = enter();
    auto& lane = own();
    unlock(lane);
    if (locked_by_other(lane) || !active(lane, epoch) || lane.cursor.position != expected)
      return false;
    lane.locked_by = this;
    return true;
  }

  bool advance(std::uint64_t epoch, const Advance& advance) override {
    const auto guard = enter();
    auto& lane = own();
    const bool ours = lane.locked_by == this && lane.cursor.epoch == epoch &&
                      lane.cursor.position == advance.from &&
                      !(advance.done.empty() && advance.queued.empty());
    unlock(lane);
    if (!ours) return false;
    auto moved = moved_by(lane, advance.done.size() + advance.queued.size());
    moved.attempts = advance.next_started ? 1 : 0;
    for (const auto& position : advance.done) pass(moved, position);
    for (const auto& row : advance.queued) {
      pass(moved, row.position);
      queue(state_->record(row.position));
    }
    if (redriving_)
      std::erase_if(parked(), [&](const Parked& p) { return p.record.id() == *redriving_; });
    lane.cursor = moved;
    lane.redriving.reset();
    return true;
  }

  bool park(std::uint64_t epoch, const Parking& parking) override {
    const auto guard = enter();
    auto& lane = own();
    unlock(lane);
    const bool ours = active(lane, epoch) && lane.cursor.position == parking.from;
    if (!ours || locked_by_other(lane)) return false;
    auto moved = moved_by(lane, 1);
    pass(moved, parking.row);
    const auto& record = state_->record(parking.row);
    for (auto& row : parked()) {  // a row parked before stays, and the rows of its key wait with it
      if (row.record.id() == record.id() || (parking.holds_key && row.record.key == record.key)) {
        row.redriven = false;
      }
    }
    if (!redriving_) parked().push_back({record, parking.holds_key, true, false});
    lane.redriving.reset();
    lane.cursor = moved;
    return true;
  }

  bool note_retry(std::uint64_t epoch, const Failure& failure, milliseconds delay) override {
    return note(epoch, failure, Cursor::State::retrying, std::nullopt, delay);
  }

  bool halt(std::uint64_t epoch, HaltReason reason, const Failure& failure) override {
    return note(epoch, failure, Cursor::State::halted, reason, {});
  }

  void release(std::uint64_t epoch, bool untouched) override {
    const auto guard = enter();
    auto& lane = own();
    unlock(lane);
    if (lane.cursor.epoch != epoch) return;
    if (untouched && lane.cursor.attempts > 0) lane.cursor.attempts -= 1;
    lane.session = nullptr;
    lane.holder.clear();
    lane.released = true;
  }

  Cursor look() override {
    const auto guard = enter();
    unlock(own());
    return current(own());
  }

  bool wait_until(std::chrono::steady_clock::time_point deadline) override {
    const bool woken = waker_.wait_until(deadline);
    const auto guard = enter();
    return woken;
  }

  [[nodiscard]] bool hints() const override { return true; }

 private:
  std::unique_lock<std::mutex> enter() {
    std::unique_lock guard(state_->mutex);
    if (generation_ != state_->generation) throw SessionLost("the session was dropped");
    return guard;
  }

  Lane& own() { return state_->lane(id_); }

  static bool active(const Lane& lane, std::uint64_t epoch) {
    const auto state = lane.cursor.state;
    return lane.cursor.epoch == epoch &&
           (state == Cursor::State::running || state == Cursor::State::retrying);
  }
  bool locked_by_other(const Lane& lane) const {
    return lane.locked_by != nullptr && lane.locked_by != this;
  }
  void unlock(Lane& lane) const {
    if (lane.locked_by == this) lane.locked_by = nullptr;
  }

  void take_over(Lane& lane) {
    const bool in_hand = lane.cursor.state == Cursor::State::running && lane.cursor.attempts > 0;
    if (in_hand && !lane.released) {  // one crash a start: the attempt has ended
      lane.cursor.crashes += 1;
      lane.cursor.state = Cursor::State::retrying;
      lane.retry_at = {};
    }
    lane.cursor.epoch += 1;
    lane.holder = holder_;
    lane.released = false;
  }

  bool note(std::uint64_t epoch, const Failure& failure, Cursor::State state,
            std::optional<HaltReason> reason, milliseconds delay) {
    const auto guard = enter();
    auto& lane = own();
    unlock(lane);
    if (!active(lane, epoch) || locked_by_other(lane)) return false;
    lane.cursor.state = state;
    lane.cursor.reason = reason;
    lane.cursor.row_id = failure.row_id;
    lane.cursor.detail = failure.detail;
    lane.retry_at = std::chrono::steady_clock::now() + delay;
    return true;
  }

  Cursor current(const Lane& lane) {
    auto cursor = lane.cursor;
    for (const auto& row : parked()) cursor.parked += row.failed ? 1 : 0;
    if (cursor.state == Cursor::State::retrying) {
      const auto left = lane.retry_at - std::chrono::steady_clock::now();
      cursor.retry_in = std::max(std::chrono::ceil<milliseconds>(left), milliseconds{0});
    }
    return cursor;
  }

  std::vector<Parked>& parked() { return state_->parked[id_.process]; }

  static Cursor moved_by(const Lane& lane, std::size_t rows) {
    Cursor moved;
    moved.position = lane.cursor.position;
    moved.sequence = lane.cursor.sequence + rows;
    moved.epoch = lane.cursor.epoch;
    return moved;
  }

  /// A row behind the cursor moves nothing.
  void pass(Cursor& cursor, const Position& row) const {
    const bool behind = cursor.position && !core::comes_after(row, *cursor.position, state_->order);
    if (!behind) cursor.position = row;
  }

  void queue(const Record& record) {
    const bool redriven = std::any_of(parked().begin(), parked().end(), [&](const Parked& p) {
      return p.holds_key && p.record.key == record.key && p.redriven;
    });
    parked().push_back({record, true, false, redriven});
  }

  /// One that was begun goes out before anything else.
  std::optional<Record> next_redriven(bool may_begin) {
    redriving_.reset();
    const auto& started = own().redriving;
    for (const auto& row : parked()) {
      const bool next = started ? row.record.id() == *started : may_begin && row.redriven;
      if (!next || !state_->belongs(row.record, id_)) continue;
      redriving_ = row.record.id();
      auto record = row.record;
      record.late = true;
      return record;
    }
    return std::nullopt;
  }

  Mark mark_of(const Position& position) const {
    return state_->order == OrderBy::id ? std::stoll(position.id) : position.created_at_us;
  }
  Mark high_mark() const {
    return state_->order == OrderBy::id ? static_cast<Mark>(state_->next_id) : state_->clock++;
  }
  std::vector<core::Holder> holders() const {
    std::vector<core::Holder> holders;
    for (const auto transaction : state_->open) holders.push_back({std::to_string(transaction)});
    return holders;
  }

  std::shared_ptr<MemorySource::State> state_;
  LaneId id_;
  std::string holder_;
  Waker& waker_;
  unsigned generation_ = 0;
  std::optional<std::string> redriving_;  ///< in the last round
  std::optional<core::Fence> fence_;
};

class MemoryTransaction final : public MemorySource::Transaction {
 public:
  explicit MemoryTransaction(std::shared_ptr<MemorySource::State> state)
      : state_(std::move(state)) {
    const std::scoped_lock guard(state_->mutex);
    number_ = state_->next_transaction++;
    state_->open.insert(number_);
  }
  ~MemoryTransaction() override { end(false); }

  std::string append(Record row) override {
    const std::scoped_lock guard(state_->mutex);
    return state_->insert(std::move(row), number_);
  }
  void commit() override { end(true); }

 private:
  void end(bool commit) {
    const std::scoped_lock guard(state_->mutex);
    state_->end(number_, commit);
  }

  std::shared_ptr<MemorySource::State> state_;
  std::uint64_t number_ = 0;
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
  const std::scoped_lock guard(state_->mutex);
  state_->lane(lane).cursor.state = Cursor::State::paused;
  state_->hint();
}

void MemorySource::resume(const LaneId& lane) {
  const std::scoped_lock guard(state_->mutex);
  auto& cursor = state_->lane(lane).cursor;
  if (cursor.state != Cursor::State::paused) throw Error("the lane is not paused");
  cursor.state = Cursor::State::running;
  state_->hint();
}

void MemorySource::retry(const LaneId& lane) {
  const std::scoped_lock guard(state_->mutex);
  auto& cursor = state_->lane(lane).cursor;
  if (cursor.state != Cursor::State::halted && cursor.state != Cursor::State::retrying) {
    throw Error("the lane is neither halted nor retrying");
  }
  cursor.state = Cursor::State::running;
  cursor.crashes = 0;
  state_->hint();
}

void MemorySource::skip(const LaneId& lane, const std::string& id) {
  const std::scoped_lock guard(state_->mutex);
  auto& cursor = state_->lane(lane).cursor;
  const auto waiting = state_->waiting(lane, cursor.position);
  // Only a row that was tried: before any other an earlier one may still be committed.
  if (cursor.row_id != id || waiting.empty() || waiting.front()->record.id() != id) {
    throw Error("the lane does not stand at row " + id);
  }
  Cursor moved;
  moved.position = waiting.front()->record.position;
  moved.sequence = cursor.sequence + 1;
  moved.epoch = cursor.epoch;
  cursor = moved;
  state_->hint();
}

void MemorySource::redrive(const std::string& process) {
  const std::scoped_lock guard(state_->mutex);
  for (auto& row : state_->parked[process]) row.redriven = true;
  state_->hint();
}

std::vector<std::string> MemorySource::parked(const std::string& process) const {
  const std::scoped_lock guard(state_->mutex);
  std::vector<std::string> ids;
  const auto found = state_->parked.find(process);
  if (found == state_->parked.end()) return ids;
  for (const auto& row : found->second) ids.push_back(row.record.id());
  return ids;
}

Cursor MemorySource::cursor(const LaneId& lane) const {
  const std::scoped_lock guard(state_->mutex);
  return state_->lane(lane).cursor;
}

void MemorySource::drop_sessions() {
  const std::scoped_lock guard(state_->mutex);
  state_->generation += 1;
  for (auto& [key, lane] : state_->lanes) lane.session = lane.locked_by = nullptr;
  state_->hint();
}

std::unique_ptr<LaneSession> MemorySource::open(const LaneId& lane, const ProcessConfig&,
                                                const std::string& holder, Waker& waker) {
  return std::make_unique<MemorySession>(state_, lane, holder, waker);
}

}  // namespace seriatim::testing
