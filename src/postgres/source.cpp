#include "postgres/source.hpp"

#include <algorithm>

#include "core/fence.hpp"
#include "core/lane.hpp"
#include "postgres/admin/check/setup_recheck.hpp"
#include "postgres/auditor/auditor.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/reader/read_ahead.hpp"
#include "postgres/reader/wake_up.hpp"
#include "postgres/reader/written_order.hpp"
#include "postgres/store/aside.hpp"
#include "postgres/store/cursor_memory.hpp"
#include "postgres/store/cursor_repository.hpp"
#include "postgres/store/late_look.hpp"
#include "postgres/store/roster.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/lent_transaction.hpp"
#include "seriatim/postgres.hpp"
#include "sql/source.hpp"
#include "sql/store.hpp"

namespace seriatim {

namespace postgres {

namespace {

/// One statement may read a batch of large rows, or pass over all of a long table that `where` does
/// not match (once: what was scanned is remembered), but not for ever. A dead server is noticed by
/// the network bounds of connection.cpp, long before.
constexpr milliseconds statement_timeout{600'000};
/// Waiting for a lock on a table means waiting for DDL, or for an operator's act.
constexpr milliseconds lock_timeout{5'000};

Connection::Options connection_options(const LaneId& lane, const ProcessConfig& config) {
  return {.application = "seriatim/" + lane.process + "/" + std::to_string(lane.lane),
          .statement_timeout = statement_timeout,
          .lock_timeout = lock_timeout,
          .idle_in_transaction_timeout = config.handler_deadline + core::Lane::lock_slack,
          .one_plan = true};
}

/// Polls on a connection of its own, to the same server as `other`.
class ReaderBeside final : public ReadAhead::Reader {
 public:
  ReaderBeside(const std::string& url, const LaneId& lane, const ProcessConfig& config,
               const SourceConfig& source, int other, const std::string& other_began)
      : connection_(url, connection_options(lane, config)),
        poll_(connection_, resolve_table(connection_, source), source, lane) {
    const auto same =
        connection_.run(sql::source::same_server, {std::to_string(other), other_began});
    if (!same[0]["same"].as<bool>()) throw Error("the URL leads to several servers");
  }
  Round read(const Position& after, unsigned rows_max) override {
    return poll_.poll(after, rows_max);
  }

 private:
  Connection connection_;
  PollSource poll_;
};

/// What the lanes of one source have in common. Sessions may outlive the source.
struct SourceShared {
  SourceTiming timing;
  std::shared_ptr<CursorMemory> cursors = std::make_shared<CursorMemory>();
  std::shared_ptr<SoundSetup> sound = std::make_shared<SoundSetup>();
};

/// A lane's session: one connection, and the parts that share it.
class PostgresSession final : public LaneSession {
 public:
  PostgresSession(const std::string& url, const LaneId& lane, const ProcessConfig& config,
                  const SourceConfig& source, const std::string& holder, Waker& waker,
                  SourceShared shared)
      : connection_(url, connection_options(lane, config)),
        table_(resolve_table(connection_, source)),
        order_(source.order_by),
        guard_(source.guard),
        insert_latency_(order_ == OrderBy::id ? milliseconds{0} : source.insert_latency),
        cursor_(connection_, table_, source, lane, holder,
                {config.lease, core::Lane::call_lease(config)}, std::move(shared.cursors)),
        identity_(connection_, table_, source, lane),
        setup_(connection_, table_, {config, source}, std::move(shared.sound),
               shared.timing.recheck_interval),
        poll_(connection_, table_, source, lane),
        late_rows_(connection_, table_, lane),
        aside_(connection_, table_, source, lane),
        wake_up_(connection_, table_, lane.process, waker, source.listen) {
    if (source.late_rows == OnLateRow::deliver) {
      written_order_.emplace(connection_, table_, source, lane);
      late_look_.emplace(connection_, table_, source, lane, *written_order_);
    }
    // Late rows are looked for after the rows after the cursor were read, so these are not read
    // ahead.
    if (!config.read_ahead || !connection_.direct() || late_look_) return;
    const auto began = connection_.run(sql::source::own_backend)[0][0].as<std::string>();
    read_ahead_ = std::make_unique<ReadAhead>(
        [=, pid = connection_.backend_pid()] {
          return std::make_unique<ReaderBeside>(url, lane, config, source, pid, began);
        },
        source.batch_bytes);
  }

  Claim claim() override {
    forget_rows();
    auto answer = cursor_.claim();
    barrier_ = answer.cursor.barrier;
    const bool anew = answer.cursor.epoch != std::exchange(epoch_, answer.cursor.epoch);
    if (anew && late_look_) late_look_->forget();
    if (answer.granted) identity_.compare(answer.cursor.epoch);
    aside_.load(answer.has_parked, answer.cursor.epoch);
    return answer;
  }
  Round poll(const std::optional<Position>& after, unsigned rows_max, bool may_redrive) override {
    position_ = after;
    rows_max_ = rows_max;
    if (late_look_) late_look_->begin();
    read_on_ = false;
    written_.reset();
    if (std::exchange(announced_, false)) {
      if (auto round = read_ahead_->take(after, rows_max)) {
        round->announced = true;
        aside_.choose(*round, false);
        return in_hand(std::move(*round));
      }
    }
    connection_.rollback();
    identity_.refuse_mismatch();
    setup_.refuse_unsound();
    wake_up_.gather();
    notice_news();
    return in_hand(next_round(after, rows_max, may_redrive));
  }
  void read_ahead(const Position& after, unsigned rows_max) override {
    if (!read_ahead_) return;
    read_ahead_->begin(after, rows_max);
    read_on_ = true;
  }
  std::size_t rows_ahead() override {
    const bool plain = !aside_.any() && !barrier_ && !setup_.due();
    return plain && read_ahead_ && hand_end_ ? read_ahead_->ready(*hand_end_) : 0;
  }
  Grant start(std::uint64_t epoch, std::size_t rows, bool again) override {
    connection_.rollback();
    CursorRepository::Start start{
        .from = position_, .again = again, .rows = rows, .written = written_};
    if (const auto& batch = aside_.batch()) {
      const bool looks = late_look_ && !batch->redriven;
      const auto grant = cursor_.start_due(epoch, start, *batch,
                                           looks ? std::optional(looked_at(*batch)) : std::nullopt);
      if (grant == Grant::ours && looks) late_look_->started();
      return grant;
    }
    // A due row that asks for the next number must know how many a receiver may have seen; and of a
    // lookalike nobody knows what it means by flushed.
    start.may_be_lost = !aside_.any() && guard_ == Guard::fence;
    return cursor_.start(epoch, start);
  }
  Transaction* transaction() override { return &lent_; }
  Grant settle(std::uint64_t epoch, const Settlement& settlement) override {
    if (forgets_writes(settlement)) connection_.rollback();
    const auto* park = std::get_if<Park>(&settlement.fate);
    const auto ids = ids_of(settlement.done);
    const auto taken = aside_.take(ids);
    auto move = move_of(settlement);
    if (taken) move.with.push_back(*taken);
    if (auto queued = aside_.queue(settlement.queued)) move.with.push_back(*std::move(queued));
    auto polled = polled_behind(settlement);
    const auto settled = cursor_.settle(epoch, move, polled ? &*polled : nullptr);
    lent_.forget();
    if (settled.grant == Grant::lost) return settled.grant;
    if (taken) aside_.taken(ids, settled.answers.front());
    if (park) aside_.parked(*park, settled.holds_key);
    if (polled) poll_.keep(settlement.done.back(), rows_max_, *std::move(polled));
    const auto* next = std::get_if<Next>(&settlement.fate);
    announced_ = next && next->read_ahead && settled.grant == Grant::ours;
    position_ = move.to;
    return settled.grant;
  }
  void release(std::uint64_t epoch, bool untouched) override { cursor_.release(epoch, untouched); }
  Cursor look() override {
    forget_rows();
    auto cursor = cursor_.look();
    barrier_ = cursor.barrier;
    return cursor;
  }
  bool is_lost() noexcept override { return connection_.is_lost(); }
  bool wait_until(std::chrono::steady_clock::time_point deadline) override {
    connection_.rollback();
    const auto ripe = std::exchange(ripe_at_, std::nullopt).value_or(deadline);
    return wake_up_.wait_until(std::min(ripe, deadline)) || ripe < deadline;
  }
  [[nodiscard]] bool hints() const override { return wake_up_.hints(); }

 private:
  Round in_hand(Round round) {
    poll_.forget();
    quiet_ = nothing_in(round) && round.queued.empty() && !round.fenced;
    if (round.fenced && nothing_in(round) && news_ && insert_latency_ > milliseconds{0}) {
      ripe_at_ = std::chrono::steady_clock::now() + insert_latency_;
    }
    hand_end_ = round.records.empty() ? std::nullopt : std::optional(round.records.back().position);
    return round;
  }
  /// An operator may have corrected them.
  void forget_rows() {
    if (read_ahead_) read_ahead_->forget();
    poll_.forget();
  }
  void notice_news() {
    news_ = wake_up_.heard();
    expected_ = news_ || !wake_up_.hints() || !quiet_;
    if (!expected_) return;
    poll_.prompt();
  }
  /// Due rows come first; but after a batch of them one of new rows, so that many due ones do not
  /// hold the others up.
  Round next_round(const std::optional<Position>& after, unsigned rows_max, bool may_begin) {
    using Begin = Aside::Begin;
    const bool begins = may_begin && !std::exchange(due_went_out_, false);
    auto round = aside_.due(after, rows_max, begins ? Begin::caught_up : Begin::none);
    bool from_aside = !nothing_in(round);
    if (!round.redriven) round = up_to_barrier(std::move(round));
    if (!from_aside) {
      round = waiting(after, rows_max);
      if (nothing_in(round) && !barrier_) {
        const auto begin = may_begin ? Begin::caught_up : Begin::none;
        auto due = aside_.due(after, rows_max, round.fenced ? begin : Begin::idle);
        from_aside = !nothing_in(due);
        if (from_aside) round = std::move(due);
      }
    }
    due_went_out_ = round.redriven;
    aside_.choose(round, from_aside);
    if (!round.redriven) core::queue_rows_of(aside_.keys(), round);
    return round;
  }
  /// What waits, and is to be handed over or to queue.
  Round waiting(const std::optional<Position>& after, unsigned rows_max) {
    if (late_look_) late_look_->see_transactions();
    auto round = settled_rows(after, rows_max);
    if (late_look_) {
      const bool idle = nothing_in(round);
      if (!barrier_) written_order_->sort(round, after, poll_.cut());
      go_before(round, late_look_->look(after, rows_max, idle), rows_max);
    }
    return up_to_barrier(std::move(round));
  }
  /// The cursor at the last complete look; of the first batch, where that begins.
  [[nodiscard]] Mark looked_at(const DueBatch& batch) const {
    if (!position_ && !batch.rows.empty()) return batch.rows.front().position.created_at_us;
    return late_look_->looked_at().value_or(mark_min);
  }
  /// Nobody knows what became of the row, so nothing of what its handler wrote here is kept.
  [[nodiscard]] bool forgets_writes(const Settlement& settlement) const {
    const auto* halt = std::get_if<Halt>(&settlement.fate);
    return lent_.used() && halt && halt->reason == HaltReason::unknown_outcome &&
           settlement.done.empty();
  }
  void begin_lent() {
    if (cursor_.lock(epoch_, position_)) return;
    throw SessionLost("the lane was taken, or changed, before its handler began to write");
  }
  CursorRepository::Move move_of(const Settlement& settlement) {
    CursorRepository::Move move{.from = settlement.from,
                                .to = settlement.from,
                                .set_aside = settlement.queued.size(),
                                .redriven = aside_.redriving(),
                                .delivered = ids_of(settlement.done),
                                .fate = settlement.fate};
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
      pass(done, aside_.is_late(done.id));
    }
    if (const auto* park = std::get_if<Park>(&settlement.fate)) {
      pass(park->row, park->late);
      move.set_aside += 1;
    }
    if (!move.redriven && !late.empty()) note_late(late, move);
    return move;
  }
  /// Late rows count in the bucket of the ledger in which they stand: in the same transaction.
  void note_late(const std::vector<Position>& late, CursorRepository::Move& move) {
    if (!connection_.in_transaction()) connection_.begin(sql::store::no_time_limit);
    for (auto& id : late_rows_.note(late)) {
      for (const auto& row : late) {
        if (row.id == id) move.saw(row);
      }
      move.open_ids.push_back(std::move(id));
    }
  }
  /// What is polled after the last move of a round, where that is the rows themselves.
  std::optional<Connection::Behind> polled_behind(const Settlement& settlement) {
    const bool rows_come_first = !read_on_ && !late_look_ && !aside_.any();
    const bool rests = std::holds_alternative<Rest>(settlement.fate);
    if (!rests || !rows_come_first || settlement.done.empty() || rows_max_ == 0) {
      return std::nullopt;
    }
    if (cursor_.knows_flushed()) poll_.tell_written();
    auto statement = poll_.begins_with(settlement.done.back(), rows_max_);
    if (!statement) return std::nullopt;
    return Connection::Behind{.statement = *std::move(statement), .answer = {}, .refusal = {}};
  }
  Round settled_rows(const std::optional<Position>& after, unsigned rows_max) {
    if (read_ahead_) {
      if (auto round = read_ahead_->take(after, rows_max)) return std::move(*round);
    }
    if (cursor_.knows_flushed()) poll_.tell_written();
    auto round = poll_.poll(after, rows_max, expected_);
    written_ = poll_.written();
    return round;
  }
  static std::vector<std::string> ids_of(const std::vector<Position>& rows) {
    std::vector<std::string> ids;
    for (const auto& row : rows) ids.push_back(row.id);
    return ids;
  }
  static bool nothing_in(const Round& round) { return round.records.empty() && !round.unreadable; }
  /// Late rows, and as many of the others as there is room for behind the last of them: none of a
  /// group that is sorted is left behind.
  static void go_before(Round& round, LateLook::Late late, unsigned rows_max) {
    if (late.records.empty() && !late.unreadable) return;
    const bool others_wait = !late.all || late.unreadable;
    // A row that was moved in between may be among both.
    std::erase_if(round.records, [&](const Record& record) {
      return std::any_of(late.records.begin(), late.records.end(),
                         [&](const Record& other) { return other.id() == record.id(); });
    });
    const auto stamp = [&](std::size_t row) { return round.records[row].position.created_at_us; };
    auto room = others_wait ? 0 : rows_max - late.records.size();
    if (room < round.records.size()) {
      while (room > 0 && stamp(room - 1) == stamp(room)) room -= 1;
      round.records.resize(room);
      round.unreadable.reset();
    }
    if (others_wait) round.unreadable = std::move(late.unreadable);
    round.records.insert(round.records.begin(), std::make_move_iterator(late.records.begin()),
                         std::make_move_iterator(late.records.end()));
  }

  /// A barrier is set with a new epoch, so the start of a batch read before it is refused.
  Round up_to_barrier(Round round) const {
    if (!barrier_) return round;
    const auto beyond = std::find_if(
        round.records.begin(), round.records.end(),
        [&](const auto& r) { return core::comes_after(r.position, *barrier_, order_); });
    if (beyond == round.records.end()) return round;
    round.records.erase(beyond, round.records.end());
    round.unreadable.reset();
    return round;
  }

  Connection connection_;
  LentTransaction lent_{connection_, [this] { begin_lent(); }};
  Table table_;
  OrderBy order_;
  Guard guard_;
  milliseconds insert_latency_;       ///< none in id order
  unsigned rows_max_ = 0;             ///< of the last poll
  bool read_on_ = false;              ///< what comes after it is read ahead
  std::optional<Position> hand_end_;  ///< the last record of the round in hand
  bool news_ = false;                 ///< a hint came before this poll
  /// Rows that came while the lane is fenced are safe from newcomers once a poll found them older
  /// than insert_latency: one then, or who begins to write until the next hint holds them up too.
  std::optional<std::chrono::steady_clock::time_point> ripe_at_;
  bool quiet_ = false;    ///< the last poll saw nothing
  bool expected_ = true;  ///< … or may have missed what has come since
  std::optional<Position> barrier_;
  std::uint64_t epoch_ = 0;             ///< at the last claim
  std::optional<Position> position_;    ///< the cursor's, as of the last poll or settlement
  std::optional<std::string> written_;  ///< to there the server's log, when that round was read
  CursorRepository cursor_;
  IdentityGuard identity_;
  SetupRecheck setup_;
  PollSource poll_;
  Recount late_rows_;
  Aside aside_;
  bool due_went_out_ = false;                  ///< the last round was begun from there
  std::optional<WrittenOrder> written_order_;  ///< if late rows are delivered
  std::optional<LateLook> late_look_;          ///< … too
  WakeUp wake_up_;
  bool announced_ = false;  ///< a call of what was read ahead, by the last settlement
  std::unique_ptr<ReadAhead> read_ahead_;  ///< where asked for, and no pooler in between
};

class PostgresSource final : public Source {
 public:
  PostgresSource(std::string url, SourceConfig table, SourceTiming timing)
      : url_(std::move(url)), table_(std::move(table)), shared_{timing} {}

  std::unique_ptr<LaneSession> open(const LaneId& lane, const ProcessConfig& config,
                                    const std::string& holder, Waker& waker) override {
    return std::make_unique<PostgresSession>(url_, lane, config, table_, holder, waker, shared_);
  }
  std::unique_ptr<RosterSession> open_roster(const ProcessConfig& config,
                                             const std::string& holder) override {
    return postgres::open_roster(url_, config, holder, shared_.cursors);
  }
  std::unique_ptr<AuditorSession> open_auditor(const ProcessConfig& config,
                                               const std::string& holder, Waker& waker) override {
    return postgres::open_auditor(url_, config, table_, holder, waker);
  }

 private:
  std::string url_;
  SourceConfig table_;
  SourceShared shared_;
};

}  // namespace

std::shared_ptr<Source> make_source(std::string url, SourceConfig table, SourceTiming timing) {
  return std::make_shared<PostgresSource>(std::move(url), std::move(table), timing);
}

}  // namespace postgres

std::shared_ptr<Source> postgres_source(std::string url, SourceConfig table) {
  return postgres::make_source(std::move(url), std::move(table), {});
}

}  // namespace seriatim
