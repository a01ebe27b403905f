#include "postgres/reader/poll_source.hpp"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "postgres/wire/sql_text.hpp"
#include "sql/reader.hpp"
#include "sql/wire.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;

/// A row younger than `insert_latency` is waited for inside a poll, if for no longer than this.
constexpr milliseconds ripening_max{50};

/// Rows that come with a read of the clock, before it is known which of them may go out. A guess: a
/// few bytes a row against a round trip.
constexpr unsigned with_clock_max = 64;

std::int64_t microseconds(milliseconds m) {
  return std::chrono::microseconds(m).count();
}

}  // namespace

PollSource::PollSource(Connection& connection, Table table, SourceConfig config, const LaneId& lane)
    : connection_(connection),
      table_(std::move(table)),
      config_(std::move(config)),
      reader_(connection_, table_, config_, lane),
      writers_(connection_, table_),
      newest_by_id_(statement_for(sql::reader::newest_by_id, table_, lane)),
      whole_table_(table_.is_whole_for(lane)) {}

PollResult PollSource::poll(const std::optional<Position>& after, unsigned rows_max, bool expected,
                            std::optional<PolledBehind> behind) {
  const bool by_id = config_.order_by == OrderBy::id;
  Connection::OneBackend scope(connection_);
  PollResult round;
  if (by_id || expected || !nothing_after(after)) {
    round = by_id ? poll_by_id(after, rows_max, std::move(behind))
                  : poll_by_created_at(after, rows_max);
  }
  if (round.records.empty() && !round.fenced && !round.unreadable) find_lost_rows(after, round);
  scope.end();
  return round;
}

// --- created_at order ---------------------------------------------------------------------------

/// Instead of clock, locks and rows, which only say what of them may go out.
bool PollSource::nothing_after(const std::optional<Position>& after) {
  return !reader_.first_row({after, order_key_max, floor_for(after)});
}

PollResult PollSource::poll_by_created_at(const std::optional<Position>& after, unsigned rows_max) {
  const Range all{after, order_key_max, floor_for(after)};
  for (bool waited = false;; waited = true) {
    auto seen = read_at(all, rows_max);
    refuse_clock_back(seen.clock, after);
    const OrderKey f = seen.clock - microseconds(config_.insert_latency);
    const Range range{after, settle(f, after, seen.holders), all.floor};
    auto found = seen.rows ? settled_of(*seen.rows, range, rows_max) : std::nullopt;
    seen.rows.reset();
    if (!found) found = find_settled(range, rows_max);
    auto& [round, waiting] = *found;
    if (!waiting) return std::move(round);
    // Without writers F itself was the bound, so what waits is not below it.
    const bool ripens =
        !waited && seen.holders.empty() && *waiting - f < microseconds(ripening_max);
    if (!ripens) {
      round.fenced = true;
      round.blockers = blockers_of(*waiting, seen.holders);
      return std::move(round);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(*waiting - f + 1));
  }
}

/// F first, then the locks, then rows, each by a statement of its own. The rows come along unasked
/// whether they are settled: that spares a poll that finds some a round trip, and one that has to
/// wait two, 5 to 9 % of the time from commit to call (bench/profiles.md).
ClockAndHolders PollSource::read_at(const Range& all, unsigned rows_max) {
  if (config_.guard == Guard::latency) {
    return {connection_.run_prepared(sql::wire::clock, {})[0][0].as<OrderKey>(), {}, std::nullopt};
  }
  if (const auto rows = reader_.asking_for(all, std::min(rows_max, with_clock_max))) {
    try {
      return read_clock_and_holders(connection_, table_, rows);
    } catch (const SourceBroken&) {  // one is refused: reading them apart says if it is settled
    }
  }
  return read_clock_and_holders(connection_, table_);
}

/// Of rows that came with the clock; nothing if more of them may go out than came.
std::optional<PollSource::Settled> PollSource::settled_of(const Answer& rows, const Range& range,
                                                          unsigned rows_max) {
  const auto asked = std::min(rows_max, with_clock_max);
  auto batch = reader_.brought(rows, asked);
  auto& records = batch.records;
  const auto first = std::find_if(records.begin(), records.end(), [&](const Record& record) {
    return !core::is_settled(record.position.created_at_us, range.settled);
  });
  const bool more = first == records.end() && !batch.complete;
  if (more && (records.empty() || asked < rows_max)) return std::nullopt;
  Settled found;
  if (first == records.begin() && first != records.end()) {
    found.waiting = first->position.created_at_us;
  }
  cut_ = more;
  records.erase(first, records.end());
  found.round.records = std::move(records);
  found.round.durable_after = std::move(batch.written);
  return found;
}

PollSource::Settled PollSource::find_settled(const Range& range, unsigned rows_max) {
  Settled found{read_settled(range, rows_max), {}};
  const auto& round = found.round;
  if (round.records.empty() && !round.unreadable) found.waiting = reader_.first_unsettled(range);
  return found;
}

/// Behind what was stamped already.
void PollSource::refuse_clock_back(OrderKey clock, const std::optional<Position>& after) {
  const auto step = microseconds(config_.insert_latency);
  if (last_clock_ && clock < *last_clock_ - step) {
    throw SourceBroken(HaltReason::clock_back,
                       "the server's clock went back by " + std::to_string(*last_clock_ - clock) +
                           " µs, insert_latency allows " + std::to_string(step));
  }
  // The latest ever seen: small steps back add up, and F was just below it.
  last_clock_ = std::max(clock, last_clock_.value_or(clock));
  if (after && after->created_at_us > clock) {
    throw SourceBroken(HaltReason::clock_back,
                       "the cursor is at " + timestamp_text(after->created_at_us) +
                           ", the server's clock at " + timestamp_text(clock));
  }
}

OrderKey PollSource::settle(OrderKey f, const std::optional<Position>& after,
                            const Holders& holders) {
  if (config_.guard == Guard::latency) return f;
  const OrderKey cursor = after ? order_key_of(*after, config_.order_by) : order_key_min;
  if (!fence_ || cursor < fence_from_) {
    fence_.emplace(cursor);
    fence_from_ = cursor;
  }
  return fence_->settle(f, holders);
}

/// Of all who hold the table those who may still bring a row before the one that waits.
std::vector<Blocker> PollSource::blockers_of(OrderKey waiting, const Holders& holders) {
  std::set<std::string> blocking;
  for (const auto& holder : holders) {
    if (fence_->bound_of(holder.transaction) <= waiting) blocking.insert(holder.transaction);
  }
  return writers_.of(blocking, Clock::now());
}

PollResult PollSource::read_settled(const Range& range, unsigned rows_max) {
  auto batch = reader_.read(range, rows_max);
  remember_floor(range, batch);
  cut_ = !batch.complete;
  PollResult round;
  round.records = std::move(batch.records);
  round.unreadable = std::move(batch.unreadable);
  round.durable_after = std::move(batch.written);
  return round;
}

// --- id order -----------------------------------------------------------------------------------

/// Ids drawn one by one (CACHE 1): whoever may still insert an id below one that was seen drew it
/// before, so it shows as a hole and as a lock. No hole, no question.
PollResult PollSource::poll_by_id(const std::optional<Position>& after, unsigned rows_max,
                                  std::optional<PolledBehind> behind) {
  const Range unbounded{after, order_key_max, floor_for(after)};
  if (whole_table_) {
    auto batch = first_rows(unbounded, rows_max, std::move(behind));
    const auto settled = run_without_hole(batch.records, after);
    const bool hole = settled < batch.records.size() || batch.unreadable;
    if (!hole || settled > 0) {
      PollResult round;
      round.records = std::move(batch.records);
      round.records.resize(settled);
      round.durable_after = std::move(batch.written);
      return round;
    }
  }
  const auto candidates = reader_.candidates(unbounded, rows_max);
  if (candidates.empty()) return {};
  const OrderKey last = candidates.back();
  const auto holders =
      config_.guard == Guard::latency ? Holders{} : read_lock_holders(connection_, table_);
  const OrderKey settled = settle(last == order_key_max ? order_key_max : last + 1, after, holders);
  auto round = read_settled({after, settled, unbounded.floor}, rows_max);
  if (!round.records.empty() || round.unreadable || settled > last) return round;
  const auto waiting = std::lower_bound(candidates.begin(), candidates.end(), settled);
  round.fenced = true;
  round.blockers = blockers_of(*waiting, holders);
  return round;
}

/// Those that came already are enough if they show the first row, or that there is none.
RowReader::Batch PollSource::first_rows(const Range& range, unsigned rows_max,
                                        std::optional<PolledBehind> behind) {
  if (behind && behind->after == range.after && behind->rows_max == rows_max) {
    const auto& [statement, rows, refusal] = behind->asked;
    if (refusal) return reader_.refused(refusal, range);
    if (rows) {
      auto batch = reader_.brought(*rows, rows_max);
      if (!batch.records.empty() || batch.complete) return batch;
    }
  }
  return reader_.read(range, rows_max);
}

std::optional<Statement> PollSource::begins_with(const Position& after, unsigned rows_max) {
  if (config_.order_by != OrderBy::id || !whole_table_) return std::nullopt;
  return reader_.asking_for({after, order_key_max, floor_for(after)}, rows_max);
}

/// How many leading records continue the cursor's id without a hole.
std::size_t PollSource::run_without_hole(const std::vector<Record>& records,
                                         const std::optional<Position>& after) const {
  if (!after) return 0;
  OrderKey previous = id_of(*after);
  std::size_t length = 0;
  for (; length < records.size(); ++length) {
    const OrderKey id = id_of(records[length].position);
    if (previous == order_key_max || id != previous + 1) break;
    previous = id;
  }
  return length;
}

// --- rows that can never come -------------------------------------------------------------------

void PollSource::find_lost_rows(const std::optional<Position>& after, PollResult& round) {
  if (!recheck_.due(Clock::now())) return;
  (void)read_lock_holders(connection_, table_);  // refuses another table in the place of ours
  if (config_.order_by == OrderBy::created_at) {
    round.unreadable = reader_.unstamped();
  } else if (after) {
    refuse_cursor_ahead(*after);
  }
  recheck_.checked(Clock::now(), {}, true);
}

void PollSource::refuse_cursor_ahead(const Position& cursor) {
  if (config_.order_by != OrderBy::id) return;
  const OrderKey id = id_of(cursor);
  const auto ahead = [&](const std::string& why) {
    throw SourceBroken(HaltReason::cursor_ahead, "the cursor of table " + table_.name +
                                                     " is at id " + cursor.id + ", but " + why);
  };
  const auto sequence = connection_.run(sql::reader::sequence_value, {table_.name, table_.id_name});
  if (!sequence.empty() && !sequence[0][0].is_null() && sequence[0][0].as<OrderKey>() < id) {
    ahead("its sequence goes on after " + sequence[0][0].as<std::string>() +
          ": rows would be inserted behind the cursor");
  }
  const auto newest = connection_.run(newest_by_id_);
  if (newest.empty() || newest[0]["id"].as<OrderKey>() >= id) return;
  if (newest[0]["created_at_us"].as<OrderKey>() > cursor.created_at_us) {
    ahead("row " + newest[0]["id"].as<std::string>() + " behind it was created later");
  }
}

// --- the floor: what `where` and lanes leave out is not scanned again ----------------------------

std::optional<OrderKey> PollSource::floor_for(const std::optional<Position>& after) const {
  return floor_ && floor_->cursor == after ? std::optional(floor_->mark) : std::nullopt;
}

/// Everything that matched below `settled` is in the batch and nothing can come there any more: so
/// it holds for the cursor after the whole batch, and for no other. A cursor inside the batch (a
/// failure, a lost lock) still has rows of it before it. A row made to match by a later UPDATE is
/// not seen: `where` is about what a row is, not about what it becomes.
void PollSource::remember_floor(const Range& range, const RowReader::Batch& batch) {
  if (whole_table_ || !batch.complete || range.settled == order_key_max ||
      range.settled == order_key_min) {
    return;
  }
  const auto& last = batch.records;
  floor_ = {range.settled, last.empty() ? range.after : std::optional(last.back().position)};
}

}  // namespace seriatim::postgres
