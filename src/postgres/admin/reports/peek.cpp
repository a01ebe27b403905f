// What waits, in lane order.
#include <algorithm>
#include <iterator>
#include <set>

#include "postgres/admin/reports/lane_report.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/row_reader.hpp"
#include "postgres/store/late_look.hpp"
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
        reader_(connection, table_, target.source, lane.id) {}

  Peeked rows() {
    const auto& after = lane_.cursor.position;
    if (after && target_.source.late_rows == OnLateRow::deliver) read_late(*after);
    const auto late = records_.size();
    if (!is_over()) read_waiting();
    const auto settled = settled_ids(late);
    Peeked peeked;
    auto sequence = lane_.cursor.sequence;
    for (auto& record : records_) {
      record.process = lane_.id.process;
      record.lane = lane_.id.lane;
      record.sequence = ++sequence;
      const bool is_settled = settled.contains(record.id());
      peeked.rows.push_back({std::move(record), is_settled});
    }
    if (unreadable_) {
      peeked.unread = UnreadRow{unreadable_->row_id, unreadable_->detail, unreadable_->reason,
                                peeked.rows.size()};
    }
    return peeked;
  }

 private:
  [[nodiscard]] bool is_over() const { return unreadable_ || records_.size() >= rows_max_; }
  [[nodiscard]] unsigned rows_left() const {
    return rows_max_ - static_cast<unsigned>(records_.size());
  }

  void take(RowReader::Batch batch) {
    std::move(batch.records.begin(), batch.records.end(), std::back_inserter(records_));
    unreadable_ = std::move(batch.unreadable);
  }

  /// Rows behind the cursor that go out first, in order.
  void read_late(const Position& cursor) {
    const auto window = read_late_window(connection_, lane_.id, cursor, target_.source.lookback);
    Recount rows(connection_, table_, lane_.id);
    std::vector<std::string> ids;
    for (const auto& row : rows.find(window.range, INT64_MAX, rows_max_)) ids.push_back(row.id);
    while (!ids.empty() && !is_over()) {  // one that cannot be read ends a batch before it
      const auto known = records_.size();
      take(reader_.read_ids(ids, cursor, rows_left()));
      if (records_.size() == known) return;
      const auto last = std::find(ids.begin(), ids.end(), records_.back().id());
      ids.erase(ids.begin(), last == ids.end() ? last : last + 1);
    }
  }

  void read_waiting() {
    auto after = lane_.cursor.position;
    while (!is_over()) {
      const auto known = records_.size();
      take(reader_.read({after, mark_max, std::nullopt}, rows_left()));
      if (records_.size() == known) return;
      after = records_.back().position;
    }
  }

  /// Late rows, and those of the others that could go out now. A row that no order has a place for
  /// is found when nothing else waits, as the lane finds it.
  std::set<std::string> settled_ids(std::size_t late) {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < late; ++i) ids.insert(records_[i].id());
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
  std::vector<Record> records_;
  std::optional<Round::Unreadable> unreadable_;
};

}  // namespace

Peeked peek_rows(Connection& connection, const Target& target, unsigned lane, unsigned rows_max) {
  const auto row = lane_of(connection, target, lane);
  return Peek(connection, target, row, rows_max).rows();
}

}  // namespace seriatim::postgres
