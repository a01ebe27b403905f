#include "postgres/auditor/auditor.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/crash_point.hpp"
#include "core/ensure.hpp"
#include "postgres/auditor/audit_pass.hpp"
#include "postgres/reader/notification_listener.hpp"
#include "postgres/reader/poll_source.hpp"
#include "postgres/store/act.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/table/identity.hpp"
#include "postgres/table/table.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/sql_text.hpp"
#include "seriatim/outcome.hpp"
#include "sql/auditor.hpp"
#include "sql/table.hpp"

namespace seriatim::postgres {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

/// A statement holds back VACUUM for no longer, and neither does the wait for a lane's call.
constexpr milliseconds statement_timeout{60'000};
constexpr milliseconds lock_timeout{5'000};
/// Under a lane's lock a statement of the act may hold its delivery up so long. Twice that after
/// each that took longer, for what was found must come to be compared once.
constexpr milliseconds act_timeout{1'000};

/// A turn is followed by none for ten times its length, and at least so long.
constexpr int duty_cycle = 10;
constexpr milliseconds pause_min{250};
/// No further step of a turn begins after this; the newest rows have half of it.
constexpr milliseconds turn_max{25};

/// If inserts send no hints, only a check shows that rows came.
constexpr seconds unhinted_interval{1};
/// If they do, this finds what an UPDATE changed, or an INSERT past the triggers.
constexpr seconds pass_interval{60};
/// Does this instance hold other lanes? The one statement of an auditor at rest.
constexpr seconds rest_interval{10};
/// How often it is noted that a lane's passes are complete. `status` warns after 60 s.
constexpr seconds note_interval{20};

/// If there was nothing to seal.
constexpr seconds seal_interval{1};

class PostgresAuditor final : public AuditorSession {
 public:
  PostgresAuditor(const std::string& url, const ProcessConfig& config, const SourceConfig& source,
                  std::string holder, Waker& waker)
      : connection_(url, {.application = "seriatim/" + config.name + "/audit",
                          .statement_timeout = statement_timeout,
                          .lock_timeout = lock_timeout}),
        table_(resolve_table(connection_, source)),
        source_(source),
        process_(config.name),
        holder_(std::move(holder)),
        waker_(waker),
        wake_up_(connection_, table_, process_, waker, source.listen) {}

  Time check() override {
    waited_ = {};
    const auto began = worked();
    wake_up_.gather();
    see_lanes(wake_up_.heard(), false);
    check_newest(began + turn_max / 2);
    walk(began + turn_max);
    seal(began + turn_max);
    note_passes();
    const auto length = worked() - began;
    const auto ended = Clock::now();
    pause_end_ = ended + std::max<Clock::duration>(pause_min, duty_cycle * length);
    return std::max(pause_end_, next_due(ended));
  }

  void check_all(const std::function<bool()>& interrupted, std::optional<unsigned> only) override {
    see_lanes(true, true);
    for (auto& [number, lane] : lanes_) {
      if (only && number != *only) continue;
      check_newest(lane);
      while (lane.moves && !interrupted() && (lane.suspected || lane.pass.walks() == 0)) {
        if (lane.suspected) {
          check_newest(lane);
        } else {
          walk_on(lane);
        }
      }
      (void)lane.pass.seal(lane.place);
    }
    lanes_.clear();
  }

  void interrupt() noexcept override {
    interrupted_ = true;
    connection_.cancel();
  }

  /// A hint never cuts the pause short.
  void wait_until(Time due) override {
    if (waker_.wait_until(pause_end_)) return waker_.clear();
    if (due > pause_end_ && wake_up_.wait_until(due)) waker_.clear();
  }

 private:
  struct Lane {
    LaneId id;
    AuditPass pass;
    std::string epoch;
    std::string sequence;
    bool moves = false;  ///< it is neither halted nor paused, and has delivered a row
    AuditPass::Place place{};
    bool suspected = false;  ///< something was found, and could not be compared under the lock yet
    milliseconds act_max = act_timeout;
    bool seals = false;  ///< there were buckets to seal when that was asked last …
    Time asked_to_seal{};
    std::uint64_t walks_seen = 0;
    Time passed{};                ///< when a walk came to its end last
    std::optional<Time> noted{};  ///< when that was written down
  };

  void see_lanes(bool news, bool free_ones) {
    const auto lookback = source_.late_rows == OnLateRow::deliver
                              ? std::optional(std::to_string(source_.lookback.count()))
                              : std::nullopt;
    std::map<unsigned, Lane> seen;
    for (const auto& row :
         connection_.run(sql::auditor::held_lanes,
                         {process_, holder_, free_ones ? "true" : "false", lookback})) {
      const auto number = row["lane"].as<unsigned>();
      auto known = lanes_.extract(number);
      const auto epoch = row["epoch"].as<std::string>();
      const auto lanes = row["lanes"].as<unsigned>();
      if (known && (known.mapped().epoch != epoch || known.mapped().id.lanes != lanes)) known = {};
      auto& lane = known ? seen.insert(std::move(known)).position->second
                         : seen.emplace(number, new_lane({process_, number, lanes})).first->second;
      update(lane, row, news);
    }
    lanes_ = std::move(seen);
  }

  Lane new_lane(const LaneId& id) {
    return {.id = id, .pass = {connection_, table_, source_, id}, .epoch = {}, .sequence = {}};
  }

  void update(Lane& lane, const pqxx::row& row, bool news) {
    const bool moved = !lane.moves;
    lane.moves = row["moves"].as<bool>() && !row["position_id"].is_null();
    auto sequence = row["sequence"].as<std::string>();
    const auto interval = wake_up_.hints() ? pass_interval : unhinted_interval;
    const bool due = lane.pass.complete() && Clock::now() >= lane.passed + interval;
    if (news || due || moved || sequence != lane.sequence) lane.pass.prompt();
    lane.epoch = row["epoch"].as<std::string>();
    lane.sequence = std::move(sequence);
    if (row["position_id"].is_null()) return;
    lane.place.cursor = {row["position_us"].as<std::int64_t>(),
                         row["position_id"].as<std::string>()};
    lane.place.window_start =
        row["window_us"].is_null() ? std::nullopt : std::optional(row["window_us"].as<OrderKey>());
  }

  /// Of each lane in turn, beginning where the turn before ended.
  void check_newest(Time end) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      check_newest(next_after(newest_, [](const Lane&) { return true; })->second);
      if (worked() >= end) return;
    }
  }

  /// One step at least: if statements are slow the walk goes on too.
  void walk(Time end) {
    const auto open = [](const Lane& lane) {
      return lane.moves && !lane.suspected && !lane.pass.complete();
    };
    for (const auto rounds_end = walks() + lanes_.size(); walks() < rounds_end;) {
      const auto lane = next_after(walked_, open);
      if (lane == lanes_.end()) return;
      walk_on(lane->second);
      if (worked() >= end) return;
    }
  }

  /// One step of each lane, and of one lane at least.
  void seal(Time end) {
    const auto due = [](const Lane& lane) {
      return lane.moves && (lane.seals || Clock::now() >= lane.asked_to_seal + seal_interval);
    };
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const auto lane = next_after(sealed_, due);
      if (lane == lanes_.end()) return;
      refuse_if_interrupted();
      lane->second.seals = lane->second.pass.seal(lane->second.place);
      lane->second.asked_to_seal = Clock::now();
      if (worked() >= end) return;
    }
  }

  /// No lane is walked through over and over in one turn because rows came meanwhile.
  [[nodiscard]] std::uint64_t walks() const {
    std::uint64_t sum = 0;
    for (const auto& [number, lane] : lanes_) sum += lane.pass.walks();
    return sum;
  }

  std::map<unsigned, Lane>::iterator next_after(std::optional<unsigned>& last,
                                                bool (*fits)(const Lane&)) {
    auto lane = last ? lanes_.upper_bound(*last) : lanes_.begin();
    for (std::size_t i = 0; i < lanes_.size(); ++i, ++lane) {
      if (lane == lanes_.end()) lane = lanes_.begin();
      if (!fits(lane->second)) continue;
      last = lane->first;
      return lane;
    }
    return lanes_.end();
  }

  void refuse_if_interrupted() const {
    if (interrupted_) throw SessionLost("the audit was interrupted");
  }

  void check_newest(Lane& lane) {
    refuse_if_interrupted();
    if (!lane.moves || (lane.pass.complete() && !lane.suspected)) return;
    act_on(lane,
           lane.suspected ? lane.pass.check_again(lane.place) : lane.pass.check_newest(lane.place));
  }

  void walk_on(Lane& lane) {
    refuse_if_interrupted();
    act_on(lane, lane.pass.walk_on(lane.place));
    if (std::exchange(lane.walks_seen, lane.pass.walks()) < lane.pass.walks()) {
      lane.passed = Clock::now();
    }
  }

  void act_on(Lane& lane, const std::optional<AuditFinding>& found) {
    lane.suspected = found.has_value();
    if (!found) return;
    try {
      halt(lane);
      lane.suspected = false;
    } catch (const ActRefused&) {  // once more
      refuse_if_interrupted();
    } catch (const SessionLost& lost) {  // query_canceled, lock_not_available: likewise
      const bool too_long = lost.sqlstate() == "57014";
      if ((lost.sqlstate() != "55P03" && !too_long) || interrupted_) throw;
      connection_.rollback();
      if (too_long) lane.act_max = std::min(2 * lane.act_max, statement_timeout);
    }
  }

  /// What is found may have been delivered since, or be wrong because the table is another one now.
  /// So the cursor row is locked first, and everything compared under the lock. What the server may
  /// refuse is asked before: a refusal would end the transaction, and the lock with it.
  void halt(Lane& lane) {
    core::crash_point("before audit halt");
    const auto identity = read_identity(connection_, table_, source_);
    const auto goes_on = [this](const std::string&) { return !interrupted_; };
    Act act(connection_, process_, {"the auditor of " + holder_, {}}, goes_on, lane.id.lane);
    const auto locked = lock(act, lane);
    const auto found = judge_locked(lane, locked, identity);
    if (!found) return;
    core::ensure(connection_.in_transaction(), "the auditor halts under the lock it compared in");
    halt(act, lane.id, *found);
    lane.moves = false;
  }

  void halt(Act& act, const LaneId& lane, const AuditFinding& found) {
    const auto row = found.row_id.empty() ? std::nullopt : std::optional(found.row_id);
    const auto detail = storable_text(found.detail, Outcome::reason_bytes_max);
    Columns set{{"state", "halted"},
                {"reason", to_string(found.reason)},
                {"detail", detail},
                {"failed_id", row},
                {"next_attempt_at", {}}};
    act.because(std::string(to_string(found.reason)) + ": " + detail);
    act.change("halt", {{lane.lane, std::move(set), row}});
    if (found.reason == HaltReason::late_row) {
      connection_.run(sql::auditor::note_late_row, {process_, row, std::to_string(lane.lane)});
    }
    act.commit();
  }

  /// What it waits for a call in flight is no work of ours.
  std::vector<LaneRow> lock(Act& act, const Lane& lane) {
    struct Wait {
      Clock::duration& sum;
      Time began = Clock::now();
      ~Wait() { sum += Clock::now() - began; }
    };
    const Wait wait{waited_};
    auto locked = act.take_turn();
    connection_.run(sql::auditor::bound_act, {std::to_string(lane.act_max.count())});
    return locked;
  }
  [[nodiscard]] Time worked() const { return Clock::now() - waited_; }

  std::optional<AuditFinding> judge_locked(Lane& lane, const std::vector<LaneRow>& locked,
                                           const std::string& identity) {
    if (locked.size() != 1 || std::to_string(locked[0].cursor.epoch) != lane.epoch) return {};
    const auto& cursor = locked[0].cursor;
    if (cursor.state != Cursor::State::running && cursor.state != Cursor::State::retrying)
      return {};
    if (!cursor.position) return {};
    if (!read_identity_changes(connection_, process_, identity, lane.id.lane).empty()) return {};
    lane.place.cursor = *cursor.position;
    auto found = lane.pass.check_again(lane.place);
    if (!found || !is_same_table()) return {};
    if (found->reason == HaltReason::cursor_ahead) return found;
    try {  // then it is not the row that is late
      PollSource(connection_, table_, source_, lane.id).refuse_cursor_ahead(lane.place.cursor);
    } catch (const SourceBroken& broken) {
      if (broken.reason() != HaltReason::cursor_ahead) throw;
      return AuditFinding{HaltReason::cursor_ahead, {}, broken.what()};
    }
    return found;
  }

  /// Its name may be another's since this session began, or since the identity was read.
  bool is_same_table() {
    const auto now = connection_.run(sql::table::table_identity, {table_.name});
    return !now.empty() && now[0]["oid"].as<std::string>() == table_.oid;
  }

  /// A lane that is halted or paused has no pass that could be overdue.
  void note_passes() {
    std::string numbers;
    std::string ages;
    const auto now = Clock::now();
    for (auto& [number, lane] : lanes_) {
      const bool passed =
          !lane.moves ||
          (!lane.suspected && (lane.pass.complete() || lane.passed > lane.noted.value_or(Time{})));
      if (!passed || (lane.noted && now < *lane.noted + note_interval)) continue;
      numbers += (numbers.empty() ? "" : ",") + std::to_string(number);
      const auto age = !lane.moves || lane.pass.complete() ? Clock::duration{} : now - lane.passed;
      ages += (ages.empty() ? "" : ",") +
              std::to_string(std::chrono::duration_cast<milliseconds>(age).count());
      lane.noted = now;
    }
    if (numbers.empty()) return;
    connection_.run(sql::auditor::note_passes, {process_, "{" + numbers + "}", "{" + ages + "}"});
  }

  [[nodiscard]] Time next_due(Time now) const {
    const auto interval = wake_up_.hints() ? pass_interval : unhinted_interval;
    auto due = now + (wake_up_.hints() && !lanes_.empty() ? rest_interval : unhinted_interval);
    for (const auto& [number, lane] : lanes_) {
      if (!lane.moves) continue;
      const bool rests = lane.pass.complete() && !lane.suspected && !lane.seals;
      due = std::min(due, rests ? lane.passed + interval : now);
    }
    return due;
  }

  Connection connection_;
  Table table_;
  SourceConfig source_;
  std::string process_;
  std::string holder_;
  Waker& waker_;
  NotificationListener wake_up_;
  std::map<unsigned, Lane> lanes_;  ///< held, by number
  std::optional<unsigned> newest_;  ///< the lane checked last
  std::optional<unsigned> walked_;  ///< … and walked on
  std::optional<unsigned> sealed_;  ///< … and sealed buckets of
  Time pause_end_{};
  Clock::duration waited_{};  ///< of this turn, for locks
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

std::unique_ptr<AuditorSession> open_auditor(const std::string& url, const ProcessConfig& config,
                                             const SourceConfig& source, const std::string& holder,
                                             Waker& waker) {
  return std::make_unique<PostgresAuditor>(url, config, source, holder, waker);
}

}  // namespace seriatim::postgres
