#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/pace.hpp"
#include "seriatim/outcome.hpp"
#include "seriatim/record.hpp"
#include "seriatim/store.hpp"

namespace seriatim::core {

/// What one commit of a window writes.
struct WindowCommit {
  std::vector<Position> done;        ///< rows that the cursor passes, in lane order
  std::vector<QueuedRow> queued;     ///< … those that queue, or were set aside
  std::vector<Position> done_aside;  ///< due rows that were parked
  std::vector<Position> done_late;   ///< … and others
  std::vector<Park> parks;           ///< rows that failed and are set aside, or put back
  std::uint64_t unused = 0;          ///< numbers of rows that are gone
  InFlight in_flight;
};

/// The rows of one lane when calls of several keys are in flight. Rows of one key go out one after
/// another, in lane order; rows of different keys at once. Rows without a key are of one key.
///
/// A row is read, announced by a commit, called, answered, and done by a commit. A number is given
/// to it when it is announced. The cursor is before the first row that is not done. What a receiver
/// may have seen after it is kept next to the cursor (RowsAhead). So after a crash no row that was
/// done goes out again, and the others go out under the same numbers, also if rows between them
/// were deleted. The number of a row that was deleted stays unused.
///
/// A row that fails and is set aside holds up nobody: later rows of its key queue. Any other
/// failure holds up the rows after it. The rows before it go on. What becomes of it is decided, as
/// in a lane with one call, once it is the first row that is not done and no call is in flight.
///
/// Due rows, which were set aside before, have no place among the others. They go out first, but
/// take at most half of the calls. One that fails is put back and holds up nobody, unless the lane
/// is to stop at it. A row of its key may have been read as one that queues, and not be aside yet
/// when the last due row of the key is done. So later rows of the key queue as well until it is.
///
/// Rows that wait for a rate limit (Pace) let other keys pass.
///
/// Pure: no clock, thread or chance. tests/simulation/window_test.cpp judges it.
class Window {
 public:
  struct Limits {
    unsigned in_flight = 1;  ///< calls at once, as the caller of `begin` sees to
    /// So many answers may wait for their commit. With 1 the next row of a key waits for the commit
    /// of the row before it, else for its answer.
    unsigned commit_every = 1;
    std::size_t rows = 1;  ///< in the window at once, done or not
    /// … of one key, before its further rows queue aside. 0: no limit.
    std::size_t rows_of_key = 0;
  };
  struct Failed {
    std::shared_ptr<const Record> row;
    Outcome outcome;
    unsigned attempts = 0;        ///< announced for it, since it was set aside
    std::optional<DueRow> due{};  ///< what was kept of a due row
    /// No row before it is to be called first. Else rows before it wait for their rate limit.
    bool first = true;
  };

  /// `one_by_one`: a process ended while rows ahead were in flight. Those that a receiver may have
  /// seen go out one at a time, each with its own commit. `probes`: the first row failed, so it
  /// goes out alone. `pace` outlives the window.
  Window(Limits limits, const Cursor& cursor, Pace& pace, bool one_by_one, bool probes = false);

  // --- reading
  /// How many more rows to read now.
  [[nodiscard]] std::size_t wanted() const;
  /// The row after which to read.
  [[nodiscard]] const std::optional<Position>& read_to() const { return read_to_; }
  /// Rows after `read_to`, in lane order. Those that were done before the claim are passed over.
  void add(PollResult round);
  /// How many due rows to read now, and which.
  [[nodiscard]] std::size_t due_wanted() const;
  [[nodiscard]] DueChoice due_choice() const;
  /// The answer. Those that the window was made with come first, so the others of them are gone.
  void add_due(PollResult round);
  /// The last poll brought no row: kept rows that it did not bring are gone, or held back.
  void read_to_end() { searches_ = false; }
  /// There is no row after `read_to`: what is kept of others is of rows that are gone.
  void none_left();
  [[nodiscard]] bool has_rows() const { return !rows_.empty() || !due_.empty(); }
  /// No rows, and nothing kept of any.
  [[nodiscard]] bool is_empty() const {
    return !has_rows() && known_done_.empty() && known_open_.empty() && known_due_.empty();
  }

  // --- calls
  /// Rows to call now.
  [[nodiscard]] std::vector<std::shared_ptr<Record>> begin(Time now);
  /// Rows whose key may be called again are ready again.
  void wake(Time now);
  /// When the next row that waits for a rate limit may be called or announced.
  [[nodiscard]] std::optional<Time> token_at() const;
  [[nodiscard]] bool is_called(std::uint64_t number) const { return by_number_.contains(number); }
  void answered(std::uint64_t number, const Outcome& outcome);
  void not_begun(std::uint64_t number);
  /// A called row, if it failed with this outcome.
  [[nodiscard]] Failed failure(std::uint64_t number, const Outcome& outcome) const;
  /// It is set aside, or goes back there.
  void set_aside(std::uint64_t number, Park park);
  /// … the one that `failed` names.
  void set_first_aside(Park park);
  /// How many are to be set aside by the next commit.
  [[nodiscard]] unsigned setting_aside() const { return setting_aside_; }
  /// Set if a failed row is due, or no row before it can be called now, and nothing is in flight.
  [[nodiscard]] std::optional<Failed> failed() const;
  /// The first row that is not done: a due one if a process may have ended because of it.
  [[nodiscard]] const Record* first() const;

  // --- commits
  /// There is something to commit: an answer, rows to announce, or rows that were passed over.
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] bool can_announce() const;
  /// Rows that are behind the cursor are to be set aside. One whose key is in flight waits for it:
  /// a row that fails must be set aside before those that queue behind it.
  [[nodiscard]] bool has_late_rows() const;
  [[nodiscard]] std::size_t late_rows() const { return late_queued_.size(); }
  [[nodiscard]] unsigned uncommitted() const { return uncommitted_; }
  /// What is to be written. The window counts it as written: drop the window if it is not. Unless
  /// it `goes_on`, nothing is announced, and what is announced and not begun is taken back.
  [[nodiscard]] WindowCommit commit(bool goes_on);

 private:
  /// `leaving`: to be set aside by the next commit; `aside`: it was.
  enum class State { waiting, announced, called, failed, answered, done, queued, leaving, aside };
  struct Row {
    std::shared_ptr<Record> record;
    std::size_t place = 0;  ///< in lane order
    State state = State::waiting;
    std::uint64_t number = 0;  ///< 0: none yet
    unsigned attempts = 0;     ///< announced
    bool alone = false;        ///< a process may have ended because of it
    bool paced = false;        ///< in `paced_`
    Outcome outcome = Outcome::done();
    std::optional<DueRow> due{};
    std::optional<Park> park{};  ///< leaving
  };
  using Key = std::optional<std::string>;

  Row& push(Position position, Key key);
  [[nodiscard]] bool queues(const Row& row) const;
  void queue(Row& row);
  void enqueue(Row& row);
  void make_ready(Row& row);
  void recall(Row& row);
  void recall_due(Row& row);
  void forget_up_to(const std::string& id);
  void forget(std::deque<RowsAhead::Open>::iterator end);
  void lose_numbers_below(std::uint64_t number);
  void release(const Row& row);
  Row& take_called(std::uint64_t number);
  /// A receiver may have seen it, and may not have accepted it.
  [[nodiscard]] static bool is_in_doubt(const RowsAhead::Open& row) { return row.attempts > 0; }
  [[nodiscard]] std::vector<RowsAhead::Open>::iterator find_known(const std::string& id);
  [[nodiscard]] bool is_held_up(const Row& row) const;
  [[nodiscard]] bool is_due(const std::string& id) const;
  [[nodiscard]] bool searches() const;
  [[nodiscard]] bool has_call_for_due() const;
  struct FailedRow {
    const Row* row = nullptr;
    bool first = true;
  };
  [[nodiscard]] FailedRow failed_row() const;
  [[nodiscard]] bool can_be_called(const Row& row) const;
  [[nodiscard]] bool is_callable(const Row& row, Time now) const;
  [[nodiscard]] Row* next_call(Time now) const;
  [[nodiscard]] Row* next_ready() const;
  void announce();
  void announce(Row& row);
  /// All, or those of which this is true.
  void take_back(bool (Window::*which)(const Row&) const = nullptr);
  void take_back(Row& row);
  void finish(Row& row);
  void pass(WindowCommit& commit);
  void pass_due(WindowCommit& commit);
  void leave(Row& row, WindowCommit& commit);
  void unannounce(Row& row);
  void drop_turn(Row& row);
  void take_turn(Row& row);
  void queue_key(const Row& row);
  void queue_waiting(const Key& key);
  void queue_late(QueuedRow row);
  [[nodiscard]] std::size_t late_rows_of(const Key& key) const;
  [[nodiscard]] bool may_be_queued(const QueuedRow& late) const {
    return !keys_.contains(late.key);
  }
  void queue_late(WindowCommit& commit);
  void pass_number();
  void passed_queued(const Key& key);
  [[nodiscard]] std::size_t most_open() const;
  [[nodiscard]] std::size_t most_announced() const;
  [[nodiscard]] static bool is_over(const Row& row);
  [[nodiscard]] static const Key& key_of(const Row& row);
  [[nodiscard]] RowsAhead ahead() const;
  [[nodiscard]] unsigned attempts_at_first() const;

  static constexpr auto nowhere = std::numeric_limits<std::size_t>::max();
  /// The place of the first row after the cursor. Due rows have those before.
  static constexpr auto first_place = nowhere / 2;

  const Limits limits_;
  Pace& pace_;
  std::uint64_t sequence_;     ///< the cursor's
  std::uint64_t numbered_to_;  ///< the greatest that a row was given
  std::optional<Position> read_to_;
  // Kept at the claim, and not read again yet; in lane order.
  std::deque<std::string> known_done_;
  std::set<std::string> known_aside_;  ///< of these
  std::deque<RowsAhead::Open> known_open_;
  std::vector<RowsAhead::Open> known_due_;
  std::optional<Position> known_to_;
  bool searches_ = false;  ///< … so no row is announced yet: one of these may be of its key
  bool forgot_ = false;    ///< what is kept of rows that are gone, since the last commit
  std::size_t unknown_rows_ = 0;  ///< read since the claim
  std::size_t places_;
  std::deque<Row> rows_;                     ///< after the cursor, in lane order
  std::size_t due_places_ = 0;               ///< before all others
  std::map<std::size_t, Row> due_;           ///< set aside before; by place
  std::map<std::uint64_t, Row*> by_number_;  ///< of those, the ones that are called
  std::map<Key, std::deque<Row*>> keys_;     ///< … that are not over, in lane order
  std::map<std::size_t, Row*> ready_;        ///< … waiting, and the first of their key; by place
  std::map<std::size_t, Row*> ready_due_;
  /// … that would be ready if their key had not been called so lately; by time and place
  std::map<std::pair<Time, std::size_t>, Row*> paced_;
  Time now_ = Time::min();                ///< of the last `wake`
  bool due_was_last_ = false;             ///< the last row that was called is a due one
  std::map<std::size_t, Row*> callable_;  ///< … announced, and the first of their key; by place
  std::vector<QueuedRow> late_queued_;    ///< to be set aside: late ones, and due ones of held keys
  std::map<Key, std::size_t> queued_;     ///< … how many of a key queue, and are not aside yet
  std::size_t failed_from_;               ///< the place of the first that failed
  std::size_t alone_ = 0;                 ///< rows that go out one by one, read or not
  std::size_t open_ = 0;                  ///< announced or called
  std::size_t open_due_ = 0;              ///< … of those that are due
  unsigned calls_ = 0;
  bool probes_;  ///< no row was delivered since the receiver failed
  unsigned uncommitted_ = 0;
  unsigned setting_aside_ = 0;
};

}  // namespace seriatim::core
