#include "postgres/store/cursor_repository.hpp"

#include <algorithm>

#include "core/mutant.hpp"
#include "postgres/store/noted_ids.hpp"
#include "postgres/store/rows_ahead.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/store.hpp"

namespace seriatim::postgres {

namespace {

Cursor::State state_from(const std::string& text) {
  if (text == "running") return Cursor::State::running;
  if (text == "retrying") return Cursor::State::retrying;
  if (text == "halted" || text == "retired") return Cursor::State::halted;
  if (text == "paused") return Cursor::State::paused;
  throw SourceBroken(HaltReason::source_changed,
                     "the cursor is in state \"" + text + "\", unknown to this program");
}

bool is_active(Cursor::State state) {
  return state == Cursor::State::running || state == Cursor::State::retrying;
}

std::optional<std::string> at(const std::optional<Position>& position) {
  return position ? std::optional(timestamp_text(position->created_at_us)) : std::nullopt;
}

std::optional<std::string> id(const std::optional<Position>& position) {
  return position ? std::optional(position->id) : std::nullopt;
}

std::vector<std::string> ids_of(const std::vector<Position>& rows) {
  std::vector<std::string> ids;
  for (const auto& row : rows) ids.push_back(row.id);
  return ids;
}

std::string stored(const std::string& detail) {
  return storable_text(detail, Outcome::reason_bytes_max);
}

/// What a settlement writes of the row after those that are done.
struct Written {
  std::optional<std::string> attempts;  ///< absent: as counted already
  std::string state = "running";
  std::optional<std::string> reason;
  std::optional<std::string> failed_id;
  std::optional<std::string> detail;
  std::optional<std::string> delay;  ///< ms
};

Written written(const Fate& fate, bool after_others) {
  Written row;
  const auto fail = [&](std::string state, const Failure& failure) {
    row.state = std::move(state);
    if (after_others) row.attempts = "1";
    if (!failure.row_id.empty()) row.failed_id = failure.row_id;
    row.detail = stored(failure.detail);
  };
  if (const auto* retry = std::get_if<Retry>(&fate)) {
    fail("retrying", retry->failure);
    row.delay = std::to_string(retry->delay.count());
  } else if (const auto* halt = std::get_if<Halt>(&fate)) {
    fail("halted", halt->failure);
    row.reason = to_string(halt->reason);
  } else {
    row.attempts = std::holds_alternative<Next>(fate) ? "1" : "0";
  }
  return row;
}

}  // namespace

Cursor cursor_from(const pqxx::row& row) {
  Cursor cursor;
  if (!row["position_id"].is_null()) {
    cursor.position = {row["position_us"].as<std::int64_t>(), row["position_id"].as<std::string>()};
  }
  cursor.sequence = row["sequence"].as<std::uint64_t>();
  cursor.handed_to = row["handed_to"].as<std::uint64_t>();
  cursor.set_aside = row["set_aside"].as<std::uint64_t>();
  if (!row["ahead"].is_null()) cursor.ahead = rows_ahead_from(row["ahead"].c_str());
  cursor.epoch = row["epoch"].as<std::uint64_t>();
  cursor.state = state_from(row["state"].as<std::string>());
  cursor.attempts = row["attempts"].as<unsigned>();
  cursor.crashes = row["crashes"].as<unsigned>();
  cursor.retry_in = milliseconds{std::max<std::int64_t>(0, row["retry_ms"].as<std::int64_t>(0))};
  cursor.reason = halt_reason_from(row["reason"].as<std::string>(""));
  cursor.detail = row["detail"].as<std::string>("");
  if (!row["barrier_id"].is_null()) {
    cursor.barrier = {row["barrier_us"].as<std::int64_t>(), row["barrier_id"].as<std::string>()};
  }
  cursor.parked = row["parked"].as<unsigned>();
  cursor.held_keys = row["held_keys"].as<unsigned>();
  cursor.held = row["held"].as<bool>();
  if (!row["failed_id"].is_null()) cursor.row_id = row["failed_id"].as<std::string>();
  return cursor;
}

CursorRepository::CursorRepository(std::shared_ptr<LaneConnection> shared,
                                   const SourceConfig& source, LaneId lane, std::string holder,
                                   Leases leases, std::shared_ptr<CursorMemory> memory)
    : shared_(std::move(shared)),
      connection_(shared_->connection),
      table_(shared_->table),
      source_(source),
      lane_(std::move(lane)),
      holder_(std::move(holder)),
      leases_(leases),
      memory_(std::move(memory)),
      late_rows_(connection_, table_, lane_),
      forget_due_(fill(sql::store::forget_due, {{"counted", sql::store::number_unused}})),
      put_back_parked_(
          fill(sql::store::put_back_parked, {{"counted", sql::store::number_unused}})) {
  if (!table_.delivered_at.empty())
    mark_rows_ = statement_for(sql::store::mark_rows, table_, lane_);
  start_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_in_doubt}});
  start_unwaited_ = fill(sql::store::start_attempt, {{"known", sql::store::rows_are_durable}});
  start_due_ = fill(sql::store::start_due, {{"start", start_}});
  const auto one = [](std::string_view answer) {
    return fill(sql::store::settle,
                {{"answer", answer}, {"goes_on", sql::store::goes_on}, {"ahead", ""}});
  };
  const auto several = [](std::string_view answer) {
    return fill(sql::store::settle, {{"answer", answer},
                                     {"goes_on", sql::store::goes_on_in_flight},
                                     {"ahead", sql::store::keep_ahead}});
  };
  one_ = texts_of(one, sql::store::settled);
  several_ = texts_of(several, sql::store::settled_in_flight);
}

CursorRepository::SettleTexts CursorRepository::texts_of(
    const std::function<std::string(std::string_view)>& settle, std::string_view answer) {
  const auto texts = [&](std::string_view refused) {
    return Texts{
        fill(sql::store::settle_surely, {{"settle", settle(answer)}, {"refused", refused}}),
        fill(sql::store::halt, {{"halt", settle("c.*")}, {"refused", refused}})};
  };
  SettleTexts all{texts("'lost'"), texts("(1 / count(*))::text")};
  all.alone.settle = settle(answer);
  return all;
}

Params CursorRepository::lane_and(std::initializer_list<std::optional<std::string>> more) const {
  Params params{lane_.process, std::to_string(lane_.lane)};
  params.insert(params.end(), more);
  return params;
}

/// What the cursor's epoch is compared with.
std::string CursorRepository::expected(std::uint64_t epoch) const {
  if (!core::mutant(core::Mutant::no_epoch)) return std::to_string(epoch);
  return connection_.run(sql::store::read_cursor, lane_and({}))[0]["epoch"].as<std::string>();
}

// --- holding ------------------------------------------------------------------------------------

void CursorRepository::release(std::uint64_t epoch, bool untouched) {
  connection_.rollback();
  connection_.run(sql::store::release_lane,
                  lane_and({expected(epoch), holder_, untouched ? "true" : "false"}));
}

Cursor CursorRepository::read_cursor() {
  connection_.rollback();
  const auto row = connection_.run(sql::store::read_cursor, lane_and({}));
  if (row.empty()) {
    throw SessionLost("the cursor row of process \"" + lane_.process + "\" is gone");
  }
  refuse_reborn(row[0]);  // its epochs begin again, so the epoch alone does not say
  return cursor_from(row[0]);
}

// --- one call -----------------------------------------------------------------------------------

Params CursorRepository::start_params(std::uint64_t epoch, const Start& start,
                                      const std::optional<OrderKey>& looked_at) const {
  return lane_and({expected(epoch), std::to_string(leases_.call.count()), start.again ? "0" : "1",
                   std::to_string(start.rows), began_text(),
                   looked_at ? std::optional(timestamp_text(*looked_at)) : std::nullopt,
                   at(start.from), id(start.from)});
}

/// A call that was announced before, and is not made now, must not keep a person waiting.
Grant CursorRepository::granted(std::uint64_t epoch, bool started) {
  if (started) return Grant::ours;
  const auto cursor = read_cursor();
  if (cursor.epoch != epoch || !cursor.held) return Grant::lost;
  connection_.run(sql::store::withdraw_call, lane_and({expected(epoch)}));
  return Grant::held;
}

Grant CursorRepository::start(std::uint64_t epoch, const Start& start, const Batch& batch) {
  connection_.rollback();
  if (batch.planned) return start_planned(epoch, start, batch);
  if (core::mutant(core::Mutant::no_durability)) return Grant::ours;
  auto params = start_params(epoch, start, std::nullopt);
  // Of a lookalike of PostgreSQL nobody knows what it means by flushed.
  const bool may_be_lost = start.may_be_lost && source_.guard == Guard::fence;
  const bool unwaited = connection_.direct() && may_be_lost && asks_what_is_flushed();
  if (unwaited) params.push_back(batch.durable_after);
  const auto started = connection_.run_prepared(unwaited ? start_unwaited_ : start_, params);
  return granted(epoch, !started.empty());
}

Grant CursorRepository::start_planned(std::uint64_t epoch, const Start& start, const Batch& batch) {
  std::vector<std::string> ids;
  std::vector<std::string> times;
  std::vector<std::optional<std::string>> keys;
  std::string late;
  for (const auto& row : batch.rows) {
    ids.push_back(row.position.id);
    times.push_back(timestamp_text(row.position.created_at_us));
    keys.push_back(row.key);
    late += (late.empty() ? "" : ",") + std::string(row.late ? "t" : "f");
  }
  auto params = start_params(epoch, start, batch.looked_at);
  params.insert(params.end(), {array_text(ids), array_text(times), nullable_array_text(keys),
                               '{' + late + '}', batch.redriven ? "true" : "false"});
  return granted(epoch, !connection_.run_prepared(start_due_, params).empty());
}

bool CursorRepository::asks_what_is_flushed() {
  auto& known = shared_->says_flushed;
  if (!known) {
    const auto answer = connection_.attempt(sql::store::flushed_is_known, {});
    const auto* result = std::get_if<pqxx::result>(&answer);
    known = result != nullptr && (*result)[0][0].as<bool>();
  }
  return *known;
}

bool CursorRepository::lock(std::uint64_t epoch, const std::optional<Position>& position) {
  const bool locked = connection_.begin_prepared(
      {sql::store::lock_cursor,
       lane_and({expected(epoch), at(position), id(position), began_text()})});
  if (!locked) connection_.rollback();
  return locked;
}

Transaction* CursorRepository::transaction(std::uint64_t epoch,
                                           const std::optional<Position>& position) {
  return &lent_.emplace(connection_, [this, epoch, position] {
    if (lock(epoch, position)) return;
    throw SessionLost("the lane was taken, or changed, before its handler began to write");
  });
}

/// In their order, those that queue among the others.
CursorRepository::Move CursorRepository::move_of(const Settlement& settlement, const Batch& batch) {
  Move move{.to = settlement.from, .rows = 0, .open_ids = {}, .newest = {}};
  std::vector<Position> late;
  const auto pass = [&](const Position& position, bool is_late) {
    move.rows += 1;
    if (is_late) return late.push_back(position);
    move.to = position;
    move.open_ids.push_back(position.id);
    move.saw(position);
  };
  auto queued = settlement.queued.begin();
  for (std::size_t i = 0; i <= settlement.done.size(); ++i) {
    for (; queued != settlement.queued.end() && queued->before == i; ++queued) {
      pass(queued->position, queued->late);
    }
    if (i == settlement.done.size()) break;
    const auto& done = settlement.done[i];
    pass(done, batch.late.contains(done.id));
  }
  if (const auto* park = std::get_if<Park>(&settlement.fate)) pass(park->row, park->late);
  for (const auto& row : settlement.done_late) pass(row, true);
  for (const auto& park : settlement.parks) {
    if (park.late && !park.redriven) pass(park.row, true);
  }
  if (!batch.redriven && !late.empty()) note_late(late, move);
  return move;
}

/// Late rows count in the bucket of the ledger in which they belong: in the same transaction.
void CursorRepository::note_late(const std::vector<Position>& late, Move& move) {
  if (!connection_.in_transaction()) connection_.begin(sql::store::no_time_limit);
  for (auto& id : late_rows_.note(late)) {
    for (const auto& row : late) {
      if (row.id == id) move.saw(row);
    }
    move.open_ids.push_back(std::move(id));
  }
}

Params CursorRepository::settle_params(std::uint64_t epoch, const Settlement& settlement,
                                       const Move& move, const Batch& batch) const {
  const auto noted = noted_ids(move.open_ids, table_.integer_id(), id(settlement.from));
  const auto row = written(settlement.fate, !settlement.done.empty());
  const auto* next = std::get_if<Next>(&settlement.fate);
  const bool parks = std::holds_alternative<Park>(settlement.fate);
  const auto& several = settlement.in_flight;
  // The numbers of rows that are put back stay unused too.
  const auto given_up = settlement.unused + settlement.put_back();
  const auto announced = several ? several->numbers : next ? next->rows : 0;
  const bool announces = next || (several && several->calls);
  auto params = lane_and(
      {expected(epoch),
       at(settlement.from),
       id(settlement.from),
       at(move.to),
       id(move.to),
       std::to_string(move.rows + settlement.done_aside.size() + given_up),
       several ? std::to_string(several->attempts) : row.attempts,
       std::to_string(leases_.lane.count()),
       array_text(noted.listed),
       std::to_string(settlement.queued.size() + settlement.parked_late() + (parks ? 1 : 0) +
                      given_up),
       std::to_string(announced),
       noted.ranges,
       move.newest ? std::optional(timestamp_text(*move.newest)) : std::nullopt,
       std::to_string((batch.redriven ? move.rows : 0) + settlement.done_aside.size() + given_up),
       row.state,
       row.reason,
       row.failed_id,
       row.detail,
       row.delay,
       began_text(),
       announces ? std::optional(std::to_string(leases_.call.count())) : std::nullopt});
  if (several) {
    params.push_back(json_of(several->ahead));
    const bool searched = batch.looked_at && !several->late_rows_left;
    params.push_back(searched ? std::optional(timestamp_text(*batch.looked_at)) : std::nullopt);
  }
  return params;
}

SettleAnswer CursorRepository::settle(std::uint64_t epoch, const Settlement& settlement,
                                      const Batch& batch) {
  const auto* halt = std::get_if<Halt>(&settlement.fate);
  const bool unknown = halt && halt->reason == HaltReason::unknown_outcome;
  // Nobody knows what became of the row, so nothing of what its handler wrote here is kept.
  if (lent_ && lent_->used() && unknown && settlement.done.empty()) connection_.rollback();
  const auto move = move_of(settlement, batch);
  auto taken = batch.planned ? settlement.done : settlement.done_aside;
  taken.insert(taken.end(), settlement.done_late.begin(), settlement.done_late.end());
  const bool parks = std::holds_alternative<Park>(settlement.fate) || !settlement.parks.empty();
  const bool marks = !mark_rows_.empty() && !settlement.done.empty();
  const bool alone = !connection_.in_transaction() && settlement.queued.empty() && taken.empty() &&
                     !marks && !parks;
  const auto& all = settlement.in_flight ? several_ : one_;
  const auto& texts = alone ? all.alone : all.surely;
  Statement statement{halt ? texts.halt : texts.settle,
                      settle_params(epoch, settlement, move, batch)};
  SettleAnswer settled;
  try {
    settled = alone ? SettleAnswer{.grant = settle_alone(statement)}
                    : settle_in_transaction(std::move(statement), settlement, taken);
  } catch (const SourceBroken& refused) {
    const bool division_by_zero = refused.sqlstate() == "22012";  // or by a trigger of the user's
    if (alone || !division_by_zero || !changed_hands(epoch, settlement.from)) throw;
  }
  lent_.reset();
  settled.position = move.to;
  return settled;
}

namespace {

/// Somebody has locked what a statement needs, which has changed nothing, and its limit is over.
bool waited_too_long(const SessionLost& lost) {
  return lost.sqlstate() == "55P03" || lost.sqlstate() == "57014";
}

Grant grant_from(const Answer& answer) {
  const auto text = answer.empty() ? std::nullopt : answer.value(0, "answer");
  if (text == "ours") return Grant::ours;
  return text == "held" ? Grant::held : Grant::lost;
}

}  // namespace

/// A row is delivered, so giving up because others have locked something would deliver it again.
Grant CursorRepository::settle_alone(const Statement& statement) {
  auto* behind = shared_->behind ? &shared_->behind->asked : nullptr;
  try {
    return grant_from(connection_.run_then(statement, behind));
  } catch (const SessionLost& lost) {
    if (!waited_too_long(lost)) throw;
  }
  const auto answers = connection_.commit_with({{sql::store::no_time_limit}, statement});
  return grant_from(answers[1]);
}

namespace {

void note_queued(const Answer& answer, SettleAnswer& settled) {
  for (std::size_t row = 0; row < answer.size(); ++row) {
    if (answer.value(row, "held") != "true") continue;
    settled.held_keys += 1;
    settled.makes_due = true;
  }
}

void note_taken(const Answer& answer, SettleAnswer& settled) {
  for (std::size_t row = 0; row < answer.size(); ++row) {
    const bool held = answer.value(row, "held") == "true";
    if (answer.value(row, "followed") == "true") {
      settled.makes_due = true;
      continue;
    }
    (held ? settled.held_keys : settled.parked) -= 1;
    if (answer.value(row, "holds_key") == "true") {
      settled.ended_keys.push_back(answer.value(row, "key"));
    }
  }
}

void note_parked(const Answer& answer, const Park& park, SettleAnswer& settled) {
  const auto before = answer.value(0, "before");
  if (before == "held") settled.held_keys -= 1;
  if (before == "parked") settled.parked -= 1;
  (park.retry_in ? settled.held_keys : settled.parked) += 1;
  if (answer.value(0, "holds_key") == "true") settled.parked_keys.insert(answer.value(0, "key"));
}

}  // namespace

/// `taken`: rows that leave those set aside. Rows that queue are written after the one that they
/// follow, and before it is taken.
SettleAnswer CursorRepository::settle_in_transaction(Statement settle, const Settlement& settlement,
                                                     const std::vector<Position>& taken) {
  SettleAnswer settled;
  std::vector<Statement> statements;
  std::vector<std::function<void(const Answer&)>> notes;
  const auto add = [&](Statement statement, std::function<void(const Answer&)> note) {
    statements.push_back(std::move(statement));
    notes.push_back(std::move(note));
  };
  const auto set_aside = [&](const Park& park) {
    add(park_statement(settlement.from, park),
        [&](const Answer& answer) { note_parked(answer, park, settled); });
  };
  add({sql::store::no_time_limit}, {});
  add(std::move(settle), [&](const Answer& answer) { settled.grant = grant_from(answer); });
  for (const auto& park : settlement.parks) {
    if (!park.redriven) set_aside(park);
  }
  if (auto queue = queue_statement(settlement.queued)) {
    add(*std::move(queue), [&](const Answer& answer) { note_queued(answer, settled); });
  }
  if (!taken.empty()) {
    add({sql::store::take_aside, {lane_.process, array_text(ids_of(taken))}},
        [&](const Answer& answer) { note_taken(answer, settled); });
  }
  auto delivered = ids_of(settlement.done);
  for (const auto& row : settlement.done_aside) delivered.push_back(row.id);
  for (const auto& row : settlement.done_late) delivered.push_back(row.id);
  if (!mark_rows_.empty() && !delivered.empty()) add({mark_rows_, {array_text(delivered)}}, {});
  for (const auto& park : settlement.parks) {
    if (park.redriven) set_aside(park);
  }
  if (const auto* park = std::get_if<Park>(&settlement.fate)) set_aside(*park);
  const auto answers = connection_.commit_with(statements);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes[i]) notes[i](answers[i]);
  }
  return settled;
}

/// So that settling it was refused.
bool CursorRepository::changed_hands(std::uint64_t epoch, const std::optional<Position>& from) {
  const auto cursor = read_cursor();
  return cursor.epoch != epoch || cursor.position != from || !is_active(cursor.state);
}

}  // namespace seriatim::postgres
