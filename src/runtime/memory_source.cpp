#include "seriatim/testing/memory_source.hpp"

#include <utility>

#include "runtime/memory_session.hpp"
#include "runtime/memory_state.hpp"

namespace seriatim::testing {

namespace {

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

void MemorySource::hold(const LaneId& lane, bool on) {
  const std::scoped_lock guard(state_->mutex);
  state_->lane(lane).cursor.held = on;
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
  moved.set_aside = cursor.set_aside + 1;
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
  for (auto& [key, lane] : state_->lanes) lane.session = nullptr;
  state_->hint();
}

std::unique_ptr<LaneSession> MemorySource::open(const LaneId& lane, const ProcessConfig&,
                                                const std::string& holder, Waker& waker) {
  return memory::open_session(state_, lane, holder, waker);
}

}  // namespace seriatim::testing
