#pragma once

#include <algorithm>

#include "core/action.hpp"
#include "core/event.hpp"
#include "core/pace.hpp"
#include "core/window.hpp"
#include "seriatim/config.hpp"
#include "seriatim/observer.hpp"

namespace seriatim::core {

/// The lane: event in, exactly one action out. Pure: no clock, thread, socket, database or chance.
/// The picture is in ARCHITECTURE.md.
///
/// It decides when a row may be called and when the cursor may move, so the promises P2–P6 rest
/// here and on the compare-and-set of the session that carries the actions out.
class Lane {
 public:
  struct Options {
    bool drain = false;  ///< end once everything committed is delivered
    bool hints = false;  ///< the source notifies of new rows, so idle polling may be slow
  };

  Lane(const ProcessConfig& config, unsigned lane, Options options);

  Action on(Event event, const Moment& moment);

  [[nodiscard]] LaneStatus status() const;
  [[nodiscard]] LaneState state() const { return state_; }
  void set_hints(bool hints) { options_.hints = hints; }

  /// A call, and each further row of a batch, begins within this time or not at all. A holder that
  /// was frozen must not begin a call when its lease may be over. The time counts from sending the
  /// statement that announced the call, because a frozen holder cannot know how long the answer
  /// was waiting. A round trip to the database that takes longer than this delivers nothing.
  static constexpr std::chrono::milliseconds call_begin_max{3'000};
  /// What a call may take beyond its deadline before another relay takes the lane.
  static constexpr std::chrono::milliseconds lock_slack{5'000};
  /// The lease of a holder with an announced call. It covers the call until `lock_slack` after the
  /// call's deadline.
  [[nodiscard]] static std::chrono::milliseconds call_lease(const ProcessConfig& config) {
    return std::max(config.lease, call_begin_max + config.handler_deadline + lock_slack);
  }
  /// The longest pause of an idle lane where hints come, unless `poll_interval_max` is longer.
  static constexpr std::chrono::milliseconds hinted_interval{2'500};
  /// A transaction that held rows up may end without a hint, for example if it is rolled back. So
  /// the lane polls again after 1 / fenced_share of the time for which it has waited already.
  static constexpr int fenced_share = 8;
  /// How often a halted or paused lane checks for an operator's act that sent no hint.
  static constexpr std::chrono::milliseconds operator_interval{1'000};
  static constexpr std::chrono::milliseconds refused_pause{
      5};  ///< before claiming again after a refusal
  /// With `hold_key` a key may fill 1 / key_share of the window. Its further rows are set aside and
  /// go out from there, so that a long backlog of one key leaves room for others.
  static constexpr unsigned key_share = 16;
  /// How many rows may fail one after another, with none delivered in between. After that
  /// `hold_key` takes the receiver for broken: the lane waits at each further row once before it
  /// holds its key. So a receiver that is down does not put every key aside.
  static constexpr unsigned held_at_once = 5;

 private:
  Action handle(Begin&, const Moment&);
  Action handle(Opened&, const Moment&);
  Action handle(Claimed&, const Moment&);
  Action handle(CursorRead&, const Moment&);
  Action handle(Polled&, const Moment&);
  Action handle(Started&, const Moment&);
  Action handle(Called&, const Moment&);
  Action handle(CallExpired&, const Moment&);
  Action handle(Answered&, const Moment&);
  Action handle(Settled&, const Moment&);
  Action handle(Released&, const Moment&);
  Action handle(Closed&, const Moment&);
  Action handle(Woken&, const Moment&);
  Action handle(SessionEnded&, const Moment&);
  Action handle(SourceFailed&, const Moment&);

  /// A row that failed.
  struct Failed {
    const Record& record;
    const Outcome& outcome;
    unsigned attempts;  ///< since it was set aside, if it was
    const DueRow* due;  ///< null: it was not
  };

  Action stand_by(bool holder_lives, const Moment&);
  [[nodiscard]] std::string held_by(const Claim&) const;
  [[nodiscard]] bool is_idle_at(const Cursor&) const;
  Action follow_cursor(const Moment&);
  Action poll(const Moment&);
  Action nothing_to_do(const Moment&);
  [[nodiscard]] std::chrono::milliseconds idle_interval_max() const;
  Action call(const Moment&);
  Action start(const Moment&);
  [[nodiscard]] std::size_t rows_to_call(std::size_t first) const;
  bool take_tokens(std::size_t first, const Moment&);
  void give_back_tokens(std::size_t used = 0);
  [[nodiscard]] const std::optional<std::string>& key_of(std::size_t row) const;
  Action wait_for_token(const Moment&);
  [[nodiscard]] std::size_t rows_announced(std::size_t first, std::size_t first_queued) const;
  [[nodiscard]] std::optional<PollSource> poll_after(std::size_t end) const;
  Action go_on(const Moment&);
  Action settle(std::size_t done, std::size_t rows_ahead, const Moment&);
  [[nodiscard]] Fate fate_after(std::size_t end, std::size_t rows_ahead, const Moment&);
  void move_over_settled();
  [[nodiscard]] std::uint64_t numbers_given_up(const Settlement&) const;
  [[nodiscard]] Fate fate_of(const Failed&, const Moment&);
  Fate hold_or_wait(const Failed&, std::chrono::milliseconds, const Moment&);
  [[nodiscard]] Fate poison(const Failed&, const std::string& detail) const;
  [[nodiscard]] bool gives_up(unsigned attempts) const;
  [[nodiscard]] bool halts_unknown(const Outcome&) const;
  [[nodiscard]] bool has_room_to_park(unsigned more = 0) const;
  void count_aside(const Settled&);
  Action halt(HaltReason, std::string row_id, std::string detail);
  void suffer(const Fate&);
  [[nodiscard]] static std::string crashes_text(unsigned crashes);

  // Several calls in flight (lane_window.cpp).
  using Rows = std::vector<std::shared_ptr<Record>>;
  [[nodiscard]] bool several() const;
  Action fill_window(const Moment&);
  [[nodiscard]] bool wants_due_rows(const Moment&) const;
  Action poll_due();
  Action add_due(PollResult round, const Moment&);
  Action add_rows(PollResult round, const Moment&);
  [[nodiscard]] bool kills() const;
  [[nodiscard]] std::optional<std::string> row_that_kills() const;
  bool set_aside(std::uint64_t number, const Outcome&, const Moment&);
  [[nodiscard]] bool may_be_set_aside(const Window::Failed&) const;
  [[nodiscard]] std::optional<Window::Failed> failed() const;
  [[nodiscard]] bool halts_at(const Window::Failed&) const;
  Action advance(const Moment&);
  [[nodiscard]] bool stops(const Moment&) const;
  Action call_rows(Rows rows, const Moment&);
  Action collect(Time until, bool revoke);
  [[nodiscard]] bool commit_is_due(const Moment&) const;
  Action commit(const Moment&);
  [[nodiscard]] Cursor after(const Settlement&) const;
  Action committed(Settled&, const Moment&);
  Action after_calls(Action action, const Moment&);
  Action collected(const Answered&, const Moment&);
  void drop_window();
  void announce_again();
  [[nodiscard]] static std::string not_begun_text();

  Action refused(const Moment&);
  Action wait_for_turn(const Moment&);
  Action rest(const Moment&);
  [[nodiscard]] static bool going(const Moment&);
  Action depart(const Moment&);
  Action leave();
  Action give_way(const Moment&);
  void enter(LaneState, std::string detail = {});
  void read_cursor(const Cursor&, bool rejoined = false);
  [[nodiscard]] bool uncalled() const { return uncalled_ == cursor_.sequence + 1; }
  [[nodiscard]] bool renewal_due(const Moment&) const;
  [[nodiscard]] bool more_rows() const { return next_ < round_.records.size(); }
  [[nodiscard]] std::size_t queued_before(std::size_t record) const;

  ProcessConfig config_;
  unsigned lane_;
  Options options_;
  Pace pace_;

  LaneState state_ = LaneState::claiming;
  std::string detail_;  ///< what holds it, in words

  enum class Has { nothing, session, lane };  ///< the lane: as far as we know
  Has has_ = Has::nothing;
  bool stale_ = false;            ///< the session was opened before its source was found broken
  std::uint64_t held_epoch_ = 0;  ///< the epoch at which the lane was last ours; 0: never
  Cursor cursor_;
  PollResult round_;
  std::size_t next_ = 0;           ///< first record of round_ not yet delivered
  std::size_t next_queued_ = 0;    ///< first row of round_.queued not yet set aside
  std::size_t calling_ = 0;        ///< records in the call or settlement in flight
  std::vector<Pace::Key> tokens_;  ///< taken for the next call, if there is a rate limit
  bool waits_for_token_ = false;   ///< the next row of round_ does
  /// Sequence number of the row whose attempt is counted but whose call is still to come.
  std::optional<std::uint64_t> uncalled_;
  std::uint64_t seen_to_ = 0;    ///< no receiver has seen a greater number
  std::uint64_t unused_ = 0;     ///< numbers given up by the settlement in flight
  std::optional<Fate> failure_;  ///< of the record after the first `calling_`, until it is settled
  unsigned solo_rows_ = 0;       ///< rows still delivered one by one after an unclean end
  unsigned failed_in_turn_ = 0;  ///< rows of different keys that failed since one was delivered
  std::string failed_id_;        ///< … the last of them
  std::optional<Time> held_until_;  ///< then rows that are aside may go out
  unsigned session_failures_ = 0;
  std::chrono::milliseconds idle_interval_{0};
  Time claimed_at_;
  std::optional<Time> refused_since_;  ///< since when another holds the lane
  std::optional<Time> fenced_since_;   ///< since when the fence lets nothing out
  std::chrono::milliseconds fenced_for_{0};
  Time announced_at_;  ///< the statement that announced the call was sent

  // Several calls in flight.
  std::optional<Window> window_;
  std::size_t calls_out_ = 0;   ///< handed over and not answered, of this window or one before
  std::optional<Action> then_;  ///< once these have ended, whatever became of them
  struct Flight {               ///< begins and ends with the window
    std::optional<Cursor> settled{};  ///< the cursor's row, once the commit under way is through
    std::optional<Halt> broken{};     ///< the source cannot be read: to be written down
    bool turn_wanted = false;         ///< by a person, once no call is in flight
    bool stopped = false;             ///< the commit under way announces nothing
    bool collected = false;           ///< answers were taken since `advance` last asked
    bool revokes = false;             ///< a row failed: those that wait for their call come back
    bool asked_back = false;          ///< … by the action under way
    bool again = false;               ///< a call was not begun in time: announce it once more
    bool due_next = true;             ///< due rows are to be asked for
    bool asked_for_due = false;       ///< … by the action under way
    bool read_more = false;           ///< the last poll brought as many rows as it asked for
    std::size_t rows_asked = 0;
    Time read_at{};         ///< the next poll, if nothing else asks for it
    Time answered_since{};  ///< of answers that are not committed, the first
  };
  Flight flight_;

  Time wake_at_;
};

}  // namespace seriatim::core
