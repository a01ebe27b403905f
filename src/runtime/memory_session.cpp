#include "runtime/memory_session.hpp"

namespace seriatim::testing::memory {

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
    }
  }

  Claim claim() override {
    const auto guard = enter();
    auto& lane = state_->lanes[{id_.process, id_.lane}];
    lane.lanes = id_.lanes;
    const bool held = lane.session != nullptr && lane.session != this && lane.holder != holder_;
    if (held) return {false, current(lane), lane.holder};
    const bool joins = lane.holder == holder_ && !claimed_;
    if (lane.holder != holder_) take_over(lane);
    if (joins) lane.cursor.epoch += 1;
    claimed_ = true;
    lane.session = this;
    return {true, current(lane), holder_, false, {}, joins};
  }

  Round poll(const std::optional<Position>& after, unsigned rows_max, bool may_redrive) override {
    const auto guard = enter();
    if (auto redriven = next_redriven(may_redrive))
      return {{std::move(*redriven)}, false, {}, {}, {}, true};
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

  Grant start(std::uint64_t epoch, std::size_t /*rows*/, bool again) override {
    const auto guard = enter();
    auto& lane = own();
    if (!active(lane, epoch)) return Grant::lost;
    if (lane.cursor.held) return Grant::held;
    if (!again) lane.cursor.attempts += 1;
    lane.redriving = redriving_;
    lane.cursor.state = Cursor::State::running;
    return Grant::ours;
  }

  Grant settle(std::uint64_t epoch, const Settlement& settlement) override {
    const auto guard = enter();
    auto& lane = own();
    const auto* park = std::get_if<Park>(&settlement.fate);
    const auto rows = settlement.done.size() + settlement.queued.size();
    const bool ours = active(lane, epoch) && lane.cursor.position == settlement.from;
    if (!ours) return Grant::lost;
    if (park || rows > 0) move(lane, settlement, park);
    if (const auto* retry = std::get_if<Retry>(&settlement.fate)) {
      note(lane, retry->failure, Cursor::State::retrying, std::nullopt);
      lane.retry_at = std::chrono::steady_clock::now() + retry->delay;
    }
    if (const auto* halt = std::get_if<Halt>(&settlement.fate)) {
      note(lane, halt->failure, Cursor::State::halted, halt->reason);
    }
    return settlement.announces() && lane.cursor.held ? Grant::held : Grant::ours;
  }

  void release(std::uint64_t epoch, bool untouched) override {
    const auto guard = enter();
    auto& lane = own();
    if (lane.cursor.epoch != epoch) return;
    if (untouched && lane.cursor.attempts > 0) lane.cursor.attempts -= 1;
    lane.session = nullptr;
    lane.holder.clear();
    lane.released = true;
  }

  Cursor look() override {
    const auto guard = enter();
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

  void move(Lane& lane, const Settlement& settlement, const Park* park) {
    const auto rows = settlement.done.size() + settlement.queued.size() + (park ? 1 : 0);
    auto moved = moved_by(lane, rows);
    moved.set_aside += settlement.queued.size() + (park ? 1 : 0);
    moved.attempts = settlement.done.empty() ? lane.cursor.attempts : 1;
    if (!settlement.failed() || park) {
      moved.attempts = settlement.announces() && !lane.cursor.held ? 1 : 0;
    }
    for (const auto& position : settlement.done) pass(moved, position);
    if (redriving_ && !settlement.done.empty())
      std::erase_if(parked(), [&](const Parked& p) { return p.record.id() == *redriving_; });
    for (const auto& row : settlement.queued) {
      pass(moved, row.position);
      queue(state_->record(row.position));
    }
    if (park) {
      pass(moved, park->row);
      set_aside(*park);
    }
    lane.cursor = moved;
    lane.redriving.reset();
  }

  /// A row parked before stays, and the rows of its key wait with it.
  void set_aside(const Park& park) {
    const auto& record = state_->record(park.row);
    for (auto& row : parked()) {
      if (row.record.id() == record.id() || (park.holds_key && row.record.key == record.key)) {
        row.redriven = false;
      }
    }
    if (!redriving_) parked().push_back({record, park.holds_key, true, false});
  }

  static void note(Lane& lane, const Failure& failure, Cursor::State state,
                   std::optional<HaltReason> reason) {
    lane.cursor.state = state;
    lane.cursor.reason = reason;
    lane.cursor.row_id = failure.row_id;
    lane.cursor.detail = failure.detail;
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
    moved.set_aside = lane.cursor.set_aside;
    moved.epoch = lane.cursor.epoch;
    moved.held = lane.cursor.held;
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
  bool claimed_ = false;
  std::optional<std::string> redriving_;  ///< in the last round
  std::optional<core::Fence> fence_;
};

}  // namespace

std::unique_ptr<LaneSession> open_session(std::shared_ptr<MemorySource::State> state, LaneId id,
                                          std::string holder, Waker& waker) {
  return std::make_unique<MemorySession>(std::move(state), std::move(id), std::move(holder), waker);
}

}  // namespace seriatim::testing::memory
