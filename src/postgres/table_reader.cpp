#include "postgres/table_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/fence.hpp"

namespace seriatim::postgres {

namespace {

/// Puts late rows first, and as many of the others behind them as fit. A group that is sorted is
/// not cut.
void go_before(PollResult& round, LateCheck::Late late, const Wanted& wanted) {
  if (late.records.empty() && !late.unreadable) return;
  // Ahead of the cursor late rows are set aside, so that others need not wait for them.
  const bool others_wait = (!late.all && !wanted.ahead) || late.unreadable;
  // A row that was moved in between may be among both.
  std::erase_if(round.records, [&](const Record& record) {
    return std::any_of(late.records.begin(), late.records.end(),
                       [&](const Record& other) { return other.id() == record.id(); });
  });
  const auto stamp = [&](std::size_t row) { return round.records[row].position.created_at_us; };
  auto room = others_wait    ? 0
              : wanted.ahead ? round.records.size()
                             : wanted.rows_max - late.records.size();
  if (room < round.records.size()) {
    while (room > 0 && stamp(room - 1) == stamp(room)) room -= 1;
    round.records.resize(room);
    round.unreadable.reset();
  }
  if (others_wait) round.unreadable = std::move(late.unreadable);
  round.records.insert(round.records.begin(), std::make_move_iterator(late.records.begin()),
                       std::make_move_iterator(late.records.end()));
}

}  // namespace

TableReader::TableReader(std::shared_ptr<LaneConnection> shared, Parts parts,
                         const ProcessConfig& config, Waker& waker)
    : shared_(std::move(shared)),
      connection_(shared_->connection),
      source_(parts.source),
      poll_(connection_, shared_->table, source_, parts.lane),
      rereader_(connection_, shared_->table, source_, parts.lane),
      identity_(connection_, shared_->table, source_, parts.lane),
      setup_(connection_, shared_->table, {config, source_}, std::move(parts.sound),
             parts.recheck_interval),
      wake_up_(connection_, shared_->table, parts.lane.process, waker, source_.listen) {
  if (source_.late_rows == OnLateRow::deliver) {
    written_order_.emplace(connection_, shared_->table, source_, parts.lane);
    late_check_.emplace(connection_, shared_->table, source_, parts.lane, *written_order_);
  }
  if (!parts.prefetch) return;
  read_ahead_ = std::make_unique<ReadAhead>(std::move(parts.prefetch), source_.batch_bytes);
}

bool TableReader::comes_after(const Position& row, const Position& other) const {
  return core::comes_after(row, other, source_.order_by);
}

// --- rows ---------------------------------------------------------------------------------------

PollResult TableReader::poll(const Wanted& wanted) {
  refuse_changes();
  wake_up_.gather();
  const bool news = wake_up_.heard();
  auto round = settled_rows(wanted, news);
  round = with_late_rows(std::move(round), wanted);
  quiet_ = round.empty() && !round.fenced;
  const auto& latency = source_.insert_latency;
  const bool ripens = round.fenced && round.empty() && news && latency > milliseconds{0} &&
                      source_.order_by == OrderBy::created_at;
  if (ripens) ripe_at_ = std::chrono::steady_clock::now() + latency;
  return round;
}

/// Before rows go out, new ones or due ones.
void TableReader::refuse_changes() {
  connection_.rollback();
  if (late_check_) late_check_->begin();
  identity_.refuse_mismatch();
  setup_.refuse_unsound();
}

PollResult TableReader::settled_rows(const Wanted& wanted, bool news) {
  auto behind = std::exchange(shared_->behind, std::nullopt);
  const bool expected = news || !wake_up_.hints() || !quiet_;
  if (expected) poll_.prompt();
  if (late_check_) late_check_->see_transactions();
  if (read_ahead_) {
    if (auto round = read_ahead_->take(wanted.after, wanted.rows_max)) {
      round->prefetched = true;
      return *std::move(round);
    }
  }
  if (shared_->says_flushed.value_or(false)) poll_.ask_written();
  return poll_.poll(wanted.after, wanted.rows_max, expected, std::move(behind));
}

PollResult TableReader::with_late_rows(PollResult round, const Wanted& wanted) {
  if (!late_check_) return round;
  const auto& cursor = wanted.ahead ? wanted.cursor : wanted.after;
  const bool idle = round.empty();
  // Ahead of the cursor the next poll goes on after the last row, so rows go by their positions.
  if (!wanted.up_to && !wanted.ahead) written_order_->sort(round, cursor, poll_.cut());
  go_before(round, late_check_->run(cursor, wanted.rows_max, idle), wanted);
  round.planned = true;
  round.looked_at = looked_at(round, cursor);
  return round;
}

/// The cursor at the last complete check; before the cursor has moved, the place of the first row.
OrderKey TableReader::looked_at(const PollResult& round, const std::optional<Position>& cursor) {
  if (cursor) return late_check_->looked_at().value_or(order_key_min);
  if (first_row_at_ == order_key_min && !round.records.empty()) {
    first_row_at_ = round.records.front().position.created_at_us;
  }
  return first_row_at_;
}

PollResult TableReader::reread(const std::vector<std::string>& ids,
                               const std::optional<Position>& after, unsigned rows_max) {
  refuse_changes();
  auto batch = rereader_.read_ids(ids, after, rows_max);
  PollResult round;
  round.records = std::move(batch.records);
  round.unreadable = std::move(batch.unreadable);
  if (late_check_) round.looked_at = looked_at(round, after);
  return round;
}

// --- rows read before they are asked for --------------------------------------------------------

void TableReader::expect(const Position& after, unsigned rows_max, Expected when) {
  if (when == Expected::after_this_call) {
    if (read_ahead_) read_ahead_->begin(after, rows_max);
    return;
  }
  shared_->behind.reset();
  const bool prefetches = read_ahead_ && read_ahead_->is_asked_for(after);
  if (prefetches || late_check_) return;
  if (shared_->says_flushed.value_or(false)) poll_.ask_written();
  auto statement = poll_.begins_with(after, rows_max);
  if (!statement) return;
  shared_->behind = {
      after, rows_max, {.statement = *std::move(statement), .answer = {}, .refusal = {}}};
}

std::size_t TableReader::ready(const Position& after) {
  return read_ahead_ && !setup_.due() ? read_ahead_->ready(after) : 0;
}

void TableReader::claimed(std::uint64_t epoch, bool anew) {
  if (anew) poll_.forget_ids();
  if (anew && late_check_) late_check_->forget();
  if (anew) first_row_at_ = order_key_min;
  identity_.compare(epoch);
}

void TableReader::started() {
  if (late_check_) late_check_->started();
}

void TableReader::forget() {
  if (read_ahead_) read_ahead_->forget();
  shared_->behind.reset();
}

bool TableReader::wait_until(Time deadline) {
  connection_.rollback();
  const auto ripe = std::exchange(ripe_at_, std::nullopt).value_or(deadline);
  return wake_up_.wait_until(std::min(ripe, deadline)) || ripe < deadline;
}

}  // namespace seriatim::postgres
