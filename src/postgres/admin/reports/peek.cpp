// What waits, in lane order.
#include <algorithm>
#include <optional>
#include <set>

#include "core/queueing.hpp"
#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/reader/written_order.hpp"
#include "postgres/store/aside.hpp"
#include "postgres/store/late_check.hpp"
#include "seriatim/error.hpp"

namespace seriatim::postgres {

namespace {

LaneRow lane_of(Connection& connection, const Target& target, unsigned lane) {
  const auto rows = all_lanes(connection, target);
  refuse_retired(rows);
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const LaneRow& r) { return r.id.lane == lane; });
  if (row != rows.end()) return *row;
  throw Error("process \"" + target.process.name + "\" has lanes 0 to " +
              std::to_string(rows.size() - 1) + ", not " + std::to_string(lane));
}

class Peek {
 public:
  Peek(Connection& connection, const Target& target, const LaneRow& lane, unsigned rows_max)
      : connection_(connection),
        target_(target),
        lane_(lane),
        rows_max_(rows_max),
        table_(resolve_table(connection, target.source)),
        reader_(connection, table_, target.source, lane.id) {
    if (target.source.late_rows == OnLateRow::deliver) {
      written_order_.emplace(connection, table_, target.source, lane.id);
    }
  }

  Peeked rows() {
    const auto& after = lane_.cursor.position;
    std::vector<std::string> due;
    std::set<std::string> redriven;
    for (const auto& row : read_due_rows(connection_, lane_.id, rows_max_).rows) {
      due.push_back(row.id);
      if (row.redriven) redriven.insert(row.id);
    }
    read_behind(std::move(due));
    find_parked_keys(redriven);
    if (after && written_order_ && !is_over()) read_behind(late_ids(*after));
    const auto first = records_.size();
    if (!is_over()) read_waiting();
    if (records_.size() > rows_max_) cut();
    return numbered(settled_ids(first));
  }

 private:
  [[nodiscard]] bool is_over() const { return unreadable_ || records_.size() >= rows_max_; }
  [[nodiscard]] unsigned rows_left() const {
    return rows_max_ - static_cast<unsigned>(records_.size());
  }

  /// Once the rows that are redriven are delivered, their keys are free.
  void find_parked_keys(const std::set<std::string>& redriven) {
    parked_keys_ = read_parked_keys(connection_, lane_.id.process);
    for (const auto& record : records_) {
      if (redriven.contains(record.id())) parked_keys_.erase(record.key);
    }
  }

  /// A group of rows with one created_at was read whole.
  void cut() {
    records_.erase(records_.begin() + rows_max_, records_.end());
    unreadable_.reset();
  }

  /// Rows that are read already are left out: due ones, and those of a group that was read whole.
  void take(std::vector<Record> records, std::optional<PollResult::Unreadable> unreadable) {
    for (auto& record : records) {
      if (ids_.insert(record.id()).second) records_.push_back(std::move(record));
    }
    unreadable_ = std::move(unreadable);
  }

  std::vector<std::string> late_ids(const Position& cursor) {
    const auto window = read_late_window(connection_, lane_.id, cursor, target_.source.lookback);
    Recount rows(connection_, table_, lane_.id);
    auto late = rows.find(window.range, INT64_MAX, rows_max_);
    written_order_->sort(late);
    std::vector<std::string> ids;
    for (const auto& row : late) ids.push_back(row.id);
    return ids;
  }

  /// Rows that go out before those after the cursor, in the order of `ids`.
  void read_behind(std::vector<std::string> ids) {
    std::erase_if(ids, [&](const std::string& id) { return ids_.contains(id); });
    while (!ids.empty() && !is_over()) {  // one that cannot be read ends a batch before it
      auto batch = reader_.read_ids(ids, lane_.cursor.position, rows_left());
      if (batch.records.empty()) {
        unreadable_ = std::move(batch.unreadable);
        return;
      }
      const auto last = std::find(ids.begin(), ids.end(), batch.records.back().id());
      ids.erase(ids.begin(), last == ids.end() ? last : last + 1);
      take(std::move(batch.records), std::move(batch.unreadable));
    }
  }

  void read_waiting() {
    for (auto after = lane_.cursor.position; !is_over();) {
      const auto left = rows_left();
      auto batch = reader_.read({after, order_key_max, std::nullopt}, left);
      if (batch.records.empty()) {
        unreadable_ = std::move(batch.unreadable);
        return;
      }
      PollResult round;
      round.records = std::move(batch.records);
      round.unreadable = std::move(batch.unreadable);
      const auto full = round.records.size() >= left;
      const auto before = after;
      after = round.records.back().position;
      if (written_order_) written_order_->sort(round, before, full);
      take(std::move(round.records), std::move(round.unreadable));
    }
  }

  Peeked numbered(const std::set<std::string>& settled) {
    PollResult round;
    round.records = records_;
    core::queue_rows_of(parked_keys_, round);
    core::number_records(round, 0, 0, lane_.id, cursor_of_next_call());
    if (!round.records.empty()) round.records.front().attempt = next_attempt();
    Peeked peeked;
    auto numbered = round.records.begin();
    for (auto& record : records_) {
      const bool queues = numbered == round.records.end() || numbered->id() != record.id();
      if (!queues) record = std::move(*numbered++);
      const bool is_settled = settled.contains(record.id());
      peeked.rows.push_back({std::move(record), is_settled, queues});
    }
    if (unreadable_) {
      peeked.unread = UnreadRow{unreadable_->row_id, unreadable_->detail, unreadable_->reason,
                                peeked.rows.size()};
    }
    return peeked;
  }

  /// Whoever takes a lane that nobody holds gets an epoch of its own.
  [[nodiscard]] Cursor cursor_of_next_call() const {
    auto cursor = lane_.cursor;
    if (!lane_.holder_alive) cursor.epoch += 1;
    return cursor;
  }

  [[nodiscard]] unsigned next_attempt() const {
    const auto& cursor = lane_.cursor;
    if (cursor.state == Cursor::State::halted) return 1;  // whoever lets it go on counts anew
    const bool called = lane_.holder_alive && cursor.state == Cursor::State::running;
    return called ? std::max(cursor.attempts, 1U) : cursor.attempts + 1;
  }

  /// Rows before `first`, and those of the others that could go out now. A row that no order has a
  /// place for is found when nothing else waits, as the lane finds it.
  std::set<std::string> settled_ids(std::size_t first) {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < std::min(first, records_.size()); ++i) ids.insert(records_[i].id());
    PollSource source(connection_, table_, target_.source, lane_.id);
    auto round = source.poll(lane_.cursor.position, rows_max_);
    while (!round.records.empty()) {
      for (const auto& record : round.records) ids.insert(record.id());
      if (ids.size() >= records_.size()) return ids;
      round = source.poll(round.records.back().position, rows_max_);
    }
    if (records_.empty() && !unreadable_) unreadable_ = std::move(round.unreadable);
    return ids;
  }

  Connection& connection_;
  const Target& target_;
  const LaneRow& lane_;
  unsigned rows_max_;
  Table table_;
  RowReader reader_;
  std::optional<WrittenOrder> written_order_;  ///< with late_rows = "deliver"
  std::vector<Record> records_;
  std::set<std::string> ids_;  ///< of them
  ParkedKeys parked_keys_;     ///< of the process
  std::optional<PollResult::Unreadable> unreadable_;
};

}  // namespace

Peeked peek_rows(Connection& connection, const Target& target, unsigned lane, unsigned rows_max) {
  const auto row = lane_of(connection, target, lane);
  return Peek(connection, target, row, rows_max).rows();
}

}  // namespace seriatim::postgres
