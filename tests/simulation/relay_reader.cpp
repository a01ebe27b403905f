// Of a simulated relay: its polls, made of the parts src/postgres makes one of.
#include <algorithm>

#include "simulation/relay_parts.hpp"

namespace seriatim::simulation {

namespace {

constexpr Micros check_duty_cycle =
    10;  ///< a check is followed by none for so many times its length

/// Late rows, and as many of the others as there is room for behind the last of them.
void go_before(PollResult& round, PollResult late, bool all, const Wanted& wanted) {
  if (late.empty()) return;
  const bool others_wait = (!all && !wanted.ahead) || late.unreadable;
  const auto room = others_wait    ? 0
                    : wanted.ahead ? round.records.size()
                                   : wanted.rows_max - late.records.size();
  if (room < round.records.size()) {
    round.records.resize(room);
    round.unreadable.reset();
  }
  if (others_wait) round.unreadable = std::move(late.unreadable);
  round.records.insert(round.records.begin(), late.records.begin(), late.records.end());
}

}  // namespace

bool Relay::TableReader::comes_after(const Position& row, const Position& other) const {
  return core::comes_after(row, other, relay_.stage_.setup.order);
}

bool Relay::TableReader::hints() const {
  return relay_.stage_.setup.hints;
}

bool Relay::TableReader::wait_until(Time deadline) {
  const bool early = relay_.wait_until(deadline);
  if (!backend_->alive) throw SessionLost("the session is gone");
  return early;
}

/// The next statement of a poll reaches the server.
void Relay::TableReader::at_server(Micros delay) {
  relay_.pass(delay);
  if (!backend_->alive) throw SessionLost("poll failed");
}

// --- a poll --------------------------------------------------------------------------------------

PollResult Relay::TableReader::poll(const Wanted& wanted) {
  auto& stage = relay_.stage_;
  relay_.count_action();
  soon_.reset();
  if (stage.strikes(stage.setup.answer_lost)) {
    relay_.server_.end(backend_, "connection lost in a poll");
  }
  at_server(relay_.latency());
  auto round = settled_rows(wanted);
  if (stage.setup.lookback > 0) round = with_late_rows(std::move(round), wanted);
  trace(round);
  relay_.pass(relay_.latency());
  return round;
}

PollResult Relay::TableReader::settled_rows(const Wanted& asked) {
  auto wanted = asked;
  if (auto round = take_ahead(wanted)) return *std::move(round);
  if (auto round = take_behind(wanted)) return *std::move(round);
  const auto& wal = relay_.server_.table().wal;
  auto round = read(wanted, memory_);
  round.durable_after = std::to_string(wal.written);
  return round;
}

PollResult Relay::TableReader::reread(const std::vector<std::string>& ids,
                                      const std::optional<Position>& after, unsigned rows_max) {
  soon_.reset();
  at_server(relay_.latency());
  PollResult round;
  for (const auto& id : ids) {
    const auto row = relay_.server_.table().row(id);
    if (!row || round.unreadable || round.records.size() == rows_max) break;
    add(round, *row, after);
  }
  if (relay_.stage_.setup.lookback > 0) round.looked_at = looked_at(round, after);
  relay_.pass(relay_.latency());
  return round;
}

void Relay::TableReader::add(PollResult& round, const Table::Row& row,
                             const std::optional<Position>& cursor) const {
  if (row.bad) {
    round.unreadable = {std::to_string(row.id), HaltReason::bad_payload, "too long"};
    return;
  }
  auto& record = round.records.emplace_back();
  record.position = position_of(row);
  record.payload = payload_of(row.number);
  record.key = row.key;
  record.late = cursor && !comes_after(record.position, *cursor);
}

void Relay::TableReader::trace(const PollResult& round) const {
  auto& stage = relay_.stage_;
  stage.trace(stage.now(), relay_.name_.c_str(), [&] {
    std::string rows;
    for (const auto& record : round.records) {
      rows += ' ' + record.id() + (record.late ? " (late)" : "");
    }
    return "polls: rows" + rows + (round.fenced ? ", fenced" : "") +
           (round.prefetched ? ", read ahead" : "");
  });
}

// --- F, the locks, the rows ----------------------------------------------------------------------

PollResult Relay::TableReader::read(const Wanted& wanted, Memory& memory) {
  const auto& table = relay_.server_.table();
  if (clock_went_back(wanted, memory)) {
    throw SourceBroken(HaltReason::clock_back, "the clock went back");
  }
  const auto f = table.high_mark(wanted.after, wanted.rows_max);
  if (!f) return {};
  at_server(relay_.latency());
  // pg_locks reads the backends' fast-path slots, then the shared table.
  auto holders = table.fast_path_holders();
  at_server(relay_.stage_.random.between(1, relay_.stage_.setup.scan_gap_max));
  const auto shared = table.shared_holders();
  holders.insert(holders.end(), shared.begin(), shared.end());
  const auto settled = settle(*f, holders, wanted, memory);
  at_server(relay_.latency());
  return settled_of(table.rows_after(wanted.after), wanted, settled);
}

/// By more than rows must be old since this session last read it, or to before the cursor.
bool Relay::TableReader::clock_went_back(const Wanted& wanted, Memory& memory) const {
  const auto& setup = relay_.stage_.setup;
  if (setup.order == OrderBy::id) return false;
  const OrderKey clock = relay_.server_.table().clock();
  auto& latest = memory.latest_clock;
  if (latest != order_key_min && clock < latest - setup.insert_latency) return true;
  latest = std::max(latest, clock);
  return wanted.after && wanted.after->created_at_us > clock;
}

OrderKey Relay::TableReader::settle(OrderKey f, const std::vector<core::Holder>& holders,
                                    const Wanted& wanted, Memory& memory) const {
  const OrderKey cursor =
      wanted.after ? relay_.server_.table().order_key_of(*wanted.after) : order_key_min;
  if (!memory.fence || cursor < memory.fence_from) {
    memory.fence.emplace(cursor);
    memory.fence_from = cursor;
  }
  return memory.fence->settle(f, holders);
}

PollResult Relay::TableReader::settled_of(const std::vector<Table::Row>& rows, const Wanted& wanted,
                                          OrderKey bound) const {
  const auto& table = relay_.server_.table();
  const bool by_id = relay_.stage_.setup.order == OrderBy::id;
  // In id order a run without a hole after the cursor is settled, whoever writes.
  OrderKey run_end = by_id && wanted.after ? table.order_key_of(*wanted.after) : order_key_min;
  PollResult round;
  for (const auto& row : rows) {
    if (round.records.size() == wanted.rows_max || round.unreadable) break;
    const OrderKey mark = table.order_key_of(row);
    if (run_end != order_key_min && mark == run_end + 1) run_end = mark;
    const bool settled = core::is_settled(mark, bound);
    if (!settled && mark != run_end) {
      round.fenced = true;
      break;
    }
    add(round, row, wanted.after);
  }
  return round;
}

// --- rows that come before they are asked for ----------------------------------------------------

void Relay::TableReader::expect(const Position& after, unsigned rows_max, Expected when) {
  const auto& setup = relay_.stage_.setup;
  if (when == Expected::after_this_settlement) {
    backend_->behind.reset();
    const bool prefetches = ahead_ && ahead_->after == after;
    const bool asks = setup.asks_behind && setup.order == OrderBy::id && setup.lookback == 0;
    if (asks && !prefetches) backend_->behind = {after, rows_max};
    return;
  }
  if (setup.lookback > 0 || (ahead_ && ahead_->after == after && ahead_->rows_max == rows_max)) {
    return;
  }
  reading_ahead_.reset();
  ahead_ = std::make_shared<Ahead>(Ahead{after, rows_max, false, {}});
  reading_ahead_ = std::make_shared<Fiber>([this, ahead = ahead_] {
    try {
      at_server(relay_.latency());
      ahead->round = read({ahead->after, ahead->rows_max}, ahead_memory_);
    } catch (const std::exception&) {  // the lane's own poll will find what is wrong
    }
    ahead->done = true;
  });
  relay_.go_on(reading_ahead_);
}

std::size_t Relay::TableReader::ready(const Position& after) {
  const bool there = ahead_ && ahead_->done && ahead_->after == after;
  return there ? ahead_->round.records.size() : 0;
}

/// In the place of a poll's own statements, once it is there; if it is of no use they come.
std::optional<PollResult> Relay::TableReader::take_ahead(const Wanted& wanted) {
  if (!ahead_) return std::nullopt;
  const auto ahead = ahead_;
  const bool asked = wanted.after == ahead->after && wanted.rows_max == ahead->rows_max;
  while (asked && !ahead->done) at_server(relay_.latency());
  ahead_.reset();
  reading_ahead_.reset();
  if (!asked || ahead->round.records.empty()) return std::nullopt;
  ahead->round.prefetched = true;
  return std::move(ahead->round);
}

/// In the place of a poll's own statements, if they show the first row or that there is none.
std::optional<PollResult> Relay::TableReader::take_behind(Wanted& wanted) {
  const auto& stage = relay_.stage_;
  const auto behind = backend_->behind;
  if (!stage.sabotaged(Sabotage::behind_kept)) backend_->behind.reset();
  if (behind && stage.sabotaged(Sabotage::behind_kept)) wanted.after = behind->after;
  if (!behind || !behind->answered || behind->after != wanted.after ||
      behind->rows_max != wanted.rows_max) {
    return std::nullopt;
  }
  const auto settled =
      stage.sabotaged(Sabotage::behind_hole_passed) ? order_key_max : order_key_min;
  auto round = settled_of(behind->rows, wanted, settled);
  if (round.records.empty() && !behind->rows.empty()) return std::nullopt;
  round.fenced = false;
  round.unreadable.reset();
  round.durable_after = std::to_string(behind->written);
  return round;
}

void Relay::TableReader::forget() {
  reading_ahead_.reset();
  ahead_.reset();
  if (!relay_.stage_.sabotaged(Sabotage::behind_kept)) backend_->behind.reset();
}

// --- late rows, delivered ------------------------------------------------------------------------

void Relay::TableReader::claimed(std::uint64_t, bool anew) {
  const bool kept = relay_.stage_.sabotaged(Sabotage::window_past_cursor);
  if (!anew || kept) return;
  looked_at_ = soon_ = std::nullopt;
  first_row_at_ = order_key_min;
  found_ = false;
  next_check_ = 0;
}

void Relay::TableReader::started() {
  if (soon_) looked_at_ = soon_;
  found_ = false;
}

/// The cursor at the last complete check; for the first batch, the place of its first row.
OrderKey Relay::TableReader::looked_at(const PollResult& round,
                                       const std::optional<Position>& after) {
  if (!after && first_row_at_ == order_key_min && !round.records.empty()) {
    first_row_at_ = round.records.front().position.created_at_us;
  }
  if (!after) return first_row_at_;
  return soon_ ? *soon_ : looked_at_.value_or(order_key_min);
}

PollResult Relay::TableReader::with_late_rows(PollResult round, const Wanted& wanted) {
  auto& stage = relay_.stage_;
  auto& cursors = relay_.server_.cursors();
  const auto& behind = wanted.ahead ? wanted.cursor : wanted.after;
  round.planned = true;
  round.looked_at = looked_at(round, behind);
  if (!behind) return round;
  const auto& cursor = *behind;
  const bool idle = round.empty();
  if (!idle && !found_ && stage.now() < next_check_) return round;
  const auto window = cursors.looked_at(cursor);
  // The cursor may have been taken back since this session read it.
  const bool clamped = !stage.sabotaged(Sabotage::window_past_cursor);
  const auto marked = looked_at_.value_or(window);
  looked_at_ = std::max(window, clamped ? std::min(marked, cursor.created_at_us) : marked);
  const auto took = relay_.latency();
  at_server(took);
  std::vector<std::string> ids;
  const auto range = cursors.ledger().since(window - stage.setup.lookback, cursor);
  for (const auto& row : cursors.late_rows(range, wanted.rows_max)) {
    ids.push_back(std::to_string(row.id));
  }
  const bool complete = ids.size() < wanted.rows_max;
  next_check_ = stage.now() + (complete ? check_duty_cycle * took : 0);
  found_ = !ids.empty();
  if (ids.empty()) looked_at_ = cursor.created_at_us;
  if (!ids.empty() && (complete || stage.sabotaged(Sabotage::late_row_forgotten))) {
    soon_ = cursor.created_at_us;
  }
  if (!ids.empty()) {
    at_server(relay_.latency());
    PollResult late;
    for (const auto& id : ids) {
      if (late.unreadable) break;
      if (const auto row = relay_.server_.table().row(id)) add(late, *row, behind);
    }
    go_before(round, std::move(late), complete, wanted);
  }
  round.looked_at = looked_at(round, behind);
  return round;
}

}  // namespace seriatim::simulation
