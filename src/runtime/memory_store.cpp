#include "runtime/memory_store.hpp"

#include <algorithm>

namespace seriatim::testing {

using std::chrono::milliseconds;

namespace {

using Clock = std::chrono::steady_clock;

bool contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool is_active(Cursor::State state) {
  return state == Cursor::State::running || state == Cursor::State::retrying;
}

}  // namespace

class MemoryCursors::LaneStore final : public Store {
 public:
  LaneStore(std::shared_ptr<MemoryCursors> all, LaneId id, std::string holder, Waker& waker)
      : all_(std::move(all)), id_(std::move(id)), holder_(std::move(holder)), waker_(waker) {
    const std::scoped_lock guard(all_->mutex_);
    generation_ = all_->generation_;
    all_->wakers_.insert(&waker_);
  }

  ~LaneStore() override {
    const std::scoped_lock guard(all_->mutex_);
    all_->wakers_.erase(all_->wakers_.find(&waker_));
    for (auto& [key, lane] : all_->lanes_) {
      if (lane.store == this) lane.store = nullptr;
    }
  }

  Claim claim() override {
    const auto guard = enter();
    auto& lane = all_->lanes_[{id_.process, id_.lane}];
    const bool held = lane.store != nullptr && lane.store != this && lane.holder != holder_;
    if (held) return {false, current(lane), lane.holder};
    const bool joins = lane.holder == holder_ && !claimed_;
    if (lane.holder != holder_) take_over(lane);
    if (joins) lane.cursor.epoch += 1;
    claimed_ = true;
    lane.store = this;
    return {true, current(lane), holder_, !set_aside().empty(), {}, joins};
  }

  Cursor read_cursor() override {
    const auto guard = enter();
    return current(own());
  }

  Grant start(std::uint64_t epoch, const Start& start, const Batch& batch) override {
    const auto guard = enter();
    auto& lane = own();
    if (!active(lane, epoch) || lane.cursor.position != start.from) return Grant::lost;
    if (lane.cursor.held) return Grant::held;
    if (!start.again) lane.cursor.attempts += 1;
    lane.cursor.state = Cursor::State::running;
    lane.handed_to = std::max(lane.handed_to, lane.cursor.sequence + start.rows);
    for (const auto& row : batch.rows) {
      auto& kept = kept_aside(row.position, row.key);
      kept.begun = kept.redriven = true;
    }
    return Grant::ours;
  }

  SettleAnswer settle(std::uint64_t epoch, const Settlement& settlement,
                      const Batch& batch) override {
    const auto guard = enter();
    auto& lane = own();
    SettleAnswer settled;
    if (!active(lane, epoch) || lane.cursor.position != settlement.from) return settled;
    const bool calls = settlement.in_flight && settlement.in_flight->calls;
    const bool announces = settlement.announces() && !lane.cursor.held;
    settled.grant =
        (settlement.announces() || calls) && lane.cursor.held ? Grant::held : Grant::ours;
    move(lane, settlement, batch);
    lane.cursor.sequence += settlement.unused;
    lane.cursor.set_aside += settlement.unused;
    if (settlement.in_flight) keep(lane, *settlement.in_flight);
    if (announces) {
      lane.cursor.attempts = 1;
      const auto rows = std::get<Next>(settlement.fate).rows;
      lane.handed_to = std::max(lane.handed_to, lane.cursor.sequence + rows);
    }
    if (const auto* retry = std::get_if<Retry>(&settlement.fate)) {
      note(lane, retry->failure, Cursor::State::retrying, std::nullopt);
      lane.retry_at = Clock::now() + retry->delay;
    }
    if (const auto* halt = std::get_if<Halt>(&settlement.fate)) {
      note(lane, halt->failure, Cursor::State::halted, halt->reason);
    }
    settle_aside(settlement, batch, settled);
    settled.position = lane.cursor.position;
    return settled;
  }

  void release(std::uint64_t epoch, bool untouched) override {
    const auto guard = enter();
    auto& lane = own();
    if (lane.cursor.epoch != epoch) return;
    if (untouched && lane.cursor.attempts > 0) lane.cursor.attempts -= 1;
    lane.store = nullptr;
    lane.holder.clear();
    lane.released = true;
  }

  ParkedKeys parked_keys() override {
    const auto guard = enter();
    ParkedKeys keys;
    for (const auto& row : set_aside()) {
      if (row.holds_key) keys.insert(row.key);
    }
    return keys;
  }

  DueRows due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice) override {
    const auto guard = enter();
    const auto& lane = own();
    DueRows due{lane.handed_to > lane.cursor.sequence, {}};
    if (lane.cursor.epoch == epoch) due.held_for = release_held();
    for (const auto& row : set_aside()) {
      const bool ours = row.redriven && lane_of(row.key, id_.lanes) == id_.lane;
      if (!ours || (row.holds_key && choice.not_of.contains(row.key)) ||
          contains(choice.not_these, row.row.id)) {
        continue;
      }
      due.rows.push_back({.id = row.row.id,
                          .begun = row.begun,
                          .redriven = true,
                          .attempts = row.retry_at ? row.attempts : 0,
                          .holds_key = row.holds_key,
                          .key = row.key});
    }
    const auto rank = [&](const DueRow& row) {
      return std::pair(contains(choice.first, row.id) ? 0 : 1, row.begun ? 0 : 1);
    };
    std::stable_sort(due.rows.begin(), due.rows.end(),
                     [&](const DueRow& a, const DueRow& b) { return rank(a) < rank(b); });
    if (due.rows.size() > rows_max) due.rows.resize(rows_max);
    return due;
  }

  /// Rows stay in memory, so nothing is ever left out but by a source that drops rows.
  LeftOut leave_out(std::uint64_t epoch, const DueRow& row,
                    const std::optional<std::string>&) override {
    const auto guard = enter();
    auto& lane = own();
    if (lane.cursor.epoch != epoch) return LeftOut::refused;
    const bool numbered =
        row.begun && lane.handed_to > lane.cursor.sequence && lane.cursor.ahead == RowsAhead{};
    for (auto& kept : set_aside()) {
      if (kept.row.id == row.id) kept.redriven = kept.begun = false;
    }
    if (!numbered) return LeftOut::quietly;
    lane.cursor.sequence += 1;
    lane.cursor.set_aside += 1;
    return LeftOut::number_unused;
  }

 private:
  std::unique_lock<std::mutex> enter() {
    std::unique_lock guard(all_->mutex_);
    if (generation_ != all_->generation_) throw SessionLost("the session was dropped");
    return guard;
  }

  Lane& own() { return all_->lane(id_); }
  std::vector<SetAside>& set_aside() { return all_->set_aside_[id_.process]; }

  static bool active(const Lane& lane, std::uint64_t epoch) {
    return lane.cursor.epoch == epoch && is_active(lane.cursor.state);
  }

  void take_over(Lane& lane) {
    const bool in_call = lane.cursor.state == Cursor::State::running && lane.cursor.attempts > 0;
    if (in_call && !lane.released) {  // one crash a start: the attempt has ended
      lane.cursor.crashes += 1;
      lane.cursor.state = Cursor::State::retrying;
      lane.retry_at = {};
    }
    lane.cursor.epoch += 1;
    lane.holder = holder_;
    lane.released = false;
  }

  /// Over what is done, what queues and what is parked; nothing else is known of the row after it.
  static void move(Lane& lane, const Settlement& settlement, const Batch& batch) {
    const auto* park = std::get_if<Park>(&settlement.fate);
    const auto aside = settlement.queued.size() + settlement.put_back() + (park != nullptr ? 1 : 0);
    if (settlement.done.empty() && settlement.done_aside.empty() && aside == 0) return;
    const auto before = lane.cursor;
    Cursor moved;
    moved.position = before.position;
    moved.sequence =
        before.sequence + settlement.done.size() + settlement.done_aside.size() + aside;
    moved.set_aside = before.set_aside + aside;
    moved.epoch = before.epoch;
    moved.held = before.held;
    moved.ahead = before.ahead;
    if (settlement.failed() && park == nullptr) {
      moved.attempts = settlement.done.empty() ? before.attempts : 1;
    }
    auto queued = settlement.queued.begin();
    for (std::size_t i = 0; i <= settlement.done.size(); ++i) {
      for (; queued != settlement.queued.end() && queued->before == i; ++queued) {
        if (!queued->late) moved.position = queued->position;
      }
      const bool late = i == settlement.done.size() || batch.late.contains(settlement.done[i].id);
      if (!late) moved.position = settlement.done[i];
    }
    if (park != nullptr && !park->late) moved.position = park->row;
    lane.cursor = moved;
  }

  /// What is said of rows after the cursor.
  static void keep(Lane& lane, const InFlight& in_flight) {
    auto& cursor = lane.cursor;
    cursor.ahead = in_flight.ahead;
    cursor.attempts = in_flight.attempts;
    cursor.state = Cursor::State::running;
    lane.handed_to = std::max(lane.handed_to, in_flight.ahead.numbered_to);
  }

  static void note(Lane& lane, const Failure& failure, Cursor::State state,
                   std::optional<HaltReason> reason) {
    lane.cursor.state = state;
    lane.cursor.reason = reason;
    lane.cursor.row_id = failure.row_id;
    lane.cursor.detail = failure.detail;
  }

  SetAside& kept_aside(const Position& row, const std::optional<std::string>& key) {
    auto& rows = set_aside();
    const auto found = std::find_if(rows.begin(), rows.end(),
                                    [&](const SetAside& kept) { return kept.row == row; });
    return found != rows.end() ? *found : rows.emplace_back(SetAside{row, key});
  }

  /// Makes held rows due whose time has come, with the rows of their keys. Until the next one.
  std::optional<milliseconds> release_held() {
    std::optional<milliseconds> next;
    for (const auto& held : set_aside()) {
      if (!held.retry_at || held.redriven || lane_of(held.key, id_.lanes) != id_.lane) continue;
      const auto left = std::chrono::ceil<milliseconds>(*held.retry_at - Clock::now());
      if (left > milliseconds{0}) {
        next = std::min(next.value_or(left), left);
        continue;
      }
      for (auto& row : set_aside()) {
        if (row.holds_key && row.key == held.key) row.redriven = true;
      }
    }
    return next;
  }

  /// In the order of CursorRepository::settle_in_transaction.
  void settle_aside(const Settlement& settlement, const Batch& batch, SettleAnswer& settled) {
    const auto before = counted();
    const auto set_aside = [&](const Park& failed) {
      if (park(failed)) settled.parked_keys.insert(kept_aside(failed.row, failed.key).key);
    };
    for (const auto& failed : settlement.parks) {
      if (!failed.redriven) set_aside(failed);
    }
    for (const auto& row : settlement.queued) {
      if (!row.aside) settled.makes_due |= queue(row);
    }
    const auto& taken = batch.planned ? settlement.done : settlement.done_aside;
    settled.ended_keys = take(taken, settled.makes_due);
    for (const auto& failed : settlement.parks) {
      if (failed.redriven) set_aside(failed);
    }
    if (const auto* failed = std::get_if<Park>(&settlement.fate)) set_aside(*failed);
    const auto after = counted();
    settled.parked = after.first - before.first;
    settled.held_keys = after.second - before.second;
  }

  /// Parked rows, and held keys.
  std::pair<int, int> counted() {
    std::pair<int, int> counts;
    for (const auto& row : set_aside()) {
      if (row.failed) (row.retry_at ? counts.second : counts.first) += 1;
    }
    return counts;
  }

  /// Answers the keys of which no row is left.
  std::vector<std::optional<std::string>> take(const std::vector<Position>& done, bool& makes_due) {
    auto& rows = set_aside();
    std::vector<std::optional<std::string>> ended;
    for (const auto& position : done) {
      const auto gone = std::find_if(rows.begin(), rows.end(),
                                     [&](const SetAside& row) { return row.row == position; });
      if (gone == rows.end()) continue;
      const auto left = *gone;
      rows.erase(gone);
      if (!left.holds_key) continue;
      const auto next = std::find_if(rows.begin(), rows.end(), [&](const SetAside& other) {
        return other.holds_key && other.key == left.key;
      });
      if (next == rows.end()) {
        ended.push_back(left.key);
        continue;
      }
      next->retry_at = left.retry_at;
      next->failed = true;  // the first of its key
      makes_due = true;
    }
    return ended;
  }

  /// Answers whether it is due at once: the rows before it were delivered since it was read.
  bool queue(const QueuedRow& row) {
    bool ended = true;
    bool redriven = false;
    for (const auto& other : set_aside()) {
      if (!other.holds_key || other.key != row.key) continue;
      ended = false;
      redriven = redriven || other.redriven;
    }
    auto& kept = kept_aside(row.position, row.key);
    kept.holds_key = true;
    kept.redriven = redriven;
    kept.begun = false;
    if (ended) {
      kept.failed = true;  // the first of its key
      kept.retry_at = Clock::now();
    }
    return ended;
  }

  /// A row parked before stays, and the rows of its key wait with it.
  bool park(const Park& failed) {
    auto& kept = kept_aside(failed.row, failed.key);
    if (!kept.failed) kept.holds_key = kept.holds_key || failed.holds_key;
    kept.failed = true;
    kept.attempts += failed.attempts;
    kept.retry_at.reset();
    if (failed.retry_in) kept.retry_at = Clock::now() + *failed.retry_in;
    for (auto& row : set_aside()) {
      const bool same_queue = kept.holds_key && row.holds_key && row.key == failed.key;
      if (row.row == failed.row || same_queue) row.redriven = row.begun = false;
    }
    return kept.holds_key;
  }

  Cursor current(const Lane& lane) {
    auto cursor = lane.cursor;
    cursor.handed_to = lane.handed_to;
    const auto [parked, held] = counted();
    cursor.parked = static_cast<unsigned>(parked);
    cursor.held_keys = static_cast<unsigned>(held);
    if (cursor.state == Cursor::State::retrying) {
      const auto left = lane.retry_at - Clock::now();
      cursor.retry_in = std::max(std::chrono::ceil<milliseconds>(left), milliseconds{0});
    }
    return cursor;
  }

  std::shared_ptr<MemoryCursors> all_;
  LaneId id_;
  std::string holder_;
  Waker& waker_;
  unsigned generation_ = 0;
  bool claimed_ = false;
};

std::unique_ptr<Store> MemoryCursors::open(std::shared_ptr<MemoryCursors> cursors,
                                           const LaneId& lane, const std::string& holder,
                                           Waker& waker) {
  return std::make_unique<LaneStore>(std::move(cursors), lane, holder, waker);
}

// --- what operators do --------------------------------------------------------------------------

MemoryCursors::Lane& MemoryCursors::lane(const LaneId& id) {
  const auto found = lanes_.find({id.process, id.lane});
  if (found == lanes_.end()) throw Error("no cursor of process \"" + id.process + "\" yet");
  return found->second;
}

void MemoryCursors::wake_all() const {
  for (auto* waker : wakers_) waker->wake();
}

void MemoryCursors::hint() const {
  const std::scoped_lock guard(mutex_);
  wake_all();
}

void MemoryCursors::pause(const LaneId& id) {
  const std::scoped_lock guard(mutex_);
  lane(id).cursor.state = Cursor::State::paused;
  wake_all();
}

void MemoryCursors::resume(const LaneId& id) {
  const std::scoped_lock guard(mutex_);
  auto& cursor = lane(id).cursor;
  if (cursor.state != Cursor::State::paused) throw Error("the lane is not paused");
  cursor.state = Cursor::State::running;
  wake_all();
}

void MemoryCursors::hold(const LaneId& id, bool on) {
  const std::scoped_lock guard(mutex_);
  lane(id).cursor.held = on;
  wake_all();
}

void MemoryCursors::retry(const LaneId& id) {
  const std::scoped_lock guard(mutex_);
  auto& cursor = lane(id).cursor;
  if (cursor.state != Cursor::State::halted && cursor.state != Cursor::State::retrying) {
    throw Error("the lane is neither halted nor retrying");
  }
  cursor.state = Cursor::State::running;
  cursor.crashes = 0;
  wake_all();
}

void MemoryCursors::skip(const LaneId& id, const Position& row) {
  const std::scoped_lock guard(mutex_);
  auto& cursor = lane(id).cursor;
  if (cursor.row_id != row.id) throw Error("the lane is not at row " + row.id);
  Cursor moved;
  moved.position = row;
  moved.sequence = cursor.sequence + 1;
  moved.set_aside = cursor.set_aside + 1;
  moved.epoch = cursor.epoch;
  moved.ahead = cursor.ahead;
  cursor = moved;
  wake_all();
}

void MemoryCursors::redrive(const std::string& process) {
  const std::scoped_lock guard(mutex_);
  for (auto& row : set_aside_[process]) row.redriven = true;
  for (auto& [key, lane] : lanes_) {
    if (key.first == process) lane.cursor.epoch += 1;
  }
  wake_all();
}

std::vector<std::string> MemoryCursors::parked(const std::string& process) const {
  const std::scoped_lock guard(mutex_);
  std::vector<std::string> ids;
  const auto found = set_aside_.find(process);
  if (found == set_aside_.end()) return ids;
  for (const auto& row : found->second) ids.push_back(row.row.id);
  return ids;
}

Cursor MemoryCursors::cursor(const LaneId& id) const {
  const std::scoped_lock guard(mutex_);
  return const_cast<MemoryCursors*>(this)->lane(id).cursor;
}

void MemoryCursors::drop_sessions() {
  const std::scoped_lock guard(mutex_);
  generation_ += 1;
  for (auto& [key, lane] : lanes_) lane.store = nullptr;
  wake_all();
}

unsigned MemoryCursors::generation() const {
  const std::scoped_lock guard(mutex_);
  return generation_;
}

}  // namespace seriatim::testing
