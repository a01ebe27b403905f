#pragma once

#include <memory>
#include <string>

#include "seriatim/source.hpp"
#include "simulation/aside_store.hpp"
#include "simulation/ledger.hpp"
#include "simulation/stage.hpp"
#include "simulation/table.hpp"

namespace seriatim::simulation {

/// What a session reads while a batch is in hand (src/postgres/reader/read_ahead.hpp), with a fence
/// of its own.
struct Ahead {
  Position after;
  unsigned rows_max = 1;
  bool done = false;
  Round round;  ///< done, and without rows: no use
};

/// Rows that came with the commit of the move before them, for the next poll alone
/// (src/postgres/reader/poll_source.hpp).
struct Behind {
  Position after;
  unsigned rows_max = 1;
  std::vector<Table::Row> rows;
  std::uint64_t written = 0;
};

/// For so long an act that wants a turn asks for it, each time.
inline constexpr Micros hold_length = second;

/// A lane's lease as a process, or a person, has seen it since then.
struct LeaseWatch {
  std::uint64_t epoch = 0;
  Mark lease = 0;
  Micros since = 0;
};

/// A relay's connection as the server sees it.
struct Backend {
  unsigned relay = 0;
  std::string holder;  ///< the relay's name, unique per run
  bool alive = true;
  Micros ended_at = 0;                   ///< not alive
  bool cut_off = false;                  ///< … and its client does not hear of it
  bool joined = false;                   ///< was granted the lane
  std::optional<Position> polled_after;  ///< the cursor of the round in hand
  unsigned polled_max = 0;               ///< … and how many rows were asked for
  std::optional<std::uint64_t> written;  ///< to there the log, when that was read by this session

  std::shared_ptr<LeaseWatch> watch;  ///< of the client's process

  // Kept by the client, lives as long as the session:
  std::optional<core::Fence> fence;
  Mark fence_from = mark_min;  ///< the cursor it began at
  Mark latest_clock = mark_min;
  std::shared_ptr<Ahead> ahead;
  std::optional<core::Fence> ahead_fence;
  Mark ahead_fence_from = mark_min;
  std::optional<Behind> behind;
  bool announced = false;  ///< the last settlement announced a call of what was read ahead

  // … of what is set aside, as src/postgres/store/aside.hpp keeps it:
  bool any_aside = false;
  bool keys_read = true;  ///< since the claim
  ParkedKeys parked_keys;
  std::optional<DueBatch> batch;  ///< the round in hand, if it goes out from there
  bool due_went_out = false;      ///< the last round was redriven

  // … where late rows are delivered:
  Micros next_look = 0;
  std::optional<Mark> looked_at;       ///< the cursor at the last complete look
  std::optional<Mark> looked_at_soon;  ///< … once what it found is put aside
  bool found = false;                  ///< rows that are not put aside yet

  /// Its client knows that it is lost.
  [[nodiscard]] bool known_lost(Micros now) const {
    return !alive && !cut_off && now >= ended_at + loss_known_within;
  }
  [[nodiscard]] bool redriving() const { return batch && batch->redriven; }
  /// A row of the round in hand that does not move the cursor.
  [[nodiscard]] bool is_late(const std::string& id) const;
};
using BackendPtr = std::shared_ptr<Backend>;

/// The cursor row with the statements of LaneSession (seriatim/source.hpp), each done in one
/// instant. What the row says is never lost, for its commits are waited for; but a start's, where
/// it need not be, until the row's next one.
class CursorStore {
 public:
  CursorStore(Stage& stage, Table& table)
      : stage_(stage), table_(table), ledger_(stage), aside_(stage) {}

  /// `known_epoch`: the newest that the relay knew when it asked.
  Claim claim(const BackendPtr& by, std::uint64_t known_epoch);
  Grant start(Backend& by, std::uint64_t epoch, std::size_t rows, bool again);
  Grant settle(Backend& by, std::uint64_t epoch, const Settlement& settlement);
  void release(const Backend& by, std::uint64_t epoch, bool untouched);
  /// The server is about to recover from its log.
  void server_crashed();

  // What other instances see.
  [[nodiscard]] const std::string& holder() const { return holder_; }
  [[nodiscard]] bool looks_free() const;
  void watch(LeaseWatch& watch) const;

  // What operators see and do. An act waits, elsewhere, until no call is in flight.
  /// A call is announced, and its holder neither gone nor silent past its lease.
  [[nodiscard]] bool is_in_call(LeaseWatch& watch) const;
  /// No call is announced meanwhile.
  void hold(Micros time);
  void end_hold();
  [[nodiscard]] Cursor row() const;
  void set_state(Cursor::State state);
  void skip(const Position& row);
  /// Sets a row behind the cursor aside.
  void skip_late(const Position& row);
  /// Onto that row, setting aside all up to it.
  void jump(const Position& to);
  /// Back to that place: what comes after it is delivered again.
  void go_back(const std::optional<Position>& to);

  /// A row done: the cursor moves over it, unless it is late.
  struct Passed {
    Position row;
    bool late = false;
  };

  // Rows set aside.
  [[nodiscard]] const AsideStore& aside() const { return aside_; }
  struct DueRows {
    std::uint64_t sequence = 0;
    std::uint64_t handed_to = 0;  ///< above sequence: a receiver may have rows that come next
    std::vector<AsideStore::Row> rows;
  };
  [[nodiscard]] DueRows due_rows() const;
  void forget_due(const std::string& id) { aside_.skip(id); }
  void redrive(const ParkedChoice& choice);
  void discard(const ParkedChoice& choice);

  /// Late rows, delivered: they lie after it. From where the session or another one last looked.
  Mark window_start(Backend& by, const Position& cursor) const;

  // The audit.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// The first visible rows of the range that are neither noted for it nor anywhere else.
  [[nodiscard]] std::vector<Table::Row> late_rows(const NotedRange& range, unsigned rows_max,
                                                  bool aside_too = false) const;
  /// If late rows are delivered: before it they are the audit's, as the row alone tells.
  [[nodiscard]] std::optional<Mark> late_window_start() const;
  void halt_late(std::int64_t row);
  /// The one of that name, behind the cursor.
  [[nodiscard]] std::optional<Table::Row> late_row(const std::string& id) const;

 private:
  [[nodiscard]] bool is_free_for(const Backend& by) const;
  [[nodiscard]] bool lease_has_passed(const LeaseWatch& seen) const;
  [[nodiscard]] bool holder_is_gone(const LeaseWatch& seen) const;
  [[nodiscard]] bool is_held() const;
  void announce(const Backend& by, std::uint64_t epoch, std::size_t rows);
  void renew_lease(milliseconds time);
  [[nodiscard]] bool is_ours(std::uint64_t epoch) const;
  void take_over(const BackendPtr& by);
  void commit_start(const Backend& by);
  void suffer(const Failure& failure);
  void suffer(const Retry& retry);
  void suffer(const Halt& halt);
  void note(const std::vector<Passed>& done);
  [[nodiscard]] std::vector<Passed> passed_by(const Backend& by,
                                              const Settlement& settlement) const;
  void move(Backend& by, std::uint64_t epoch, const Settlement& settlement,
            const std::vector<Passed>& passed);
  void write_down(Evidence::Move move);
  void begin_anew();
  void new_epoch();
  void act(Evidence::Move::By by, const std::optional<Position>& to,
           const std::vector<Position>& done, std::uint64_t sequence);

  Stage& stage_;
  Table& table_;
  Ledger ledger_;
  AsideStore aside_;
  std::optional<Mark> looked_at_;
  Cursor cursor_;
  /// What a start not waited for changed, as it was.
  struct Before {
    std::uint64_t lsn = 0;
    Cursor cursor;
    std::uint64_t handed_to = 0;
    Micros retry_at = 0;
    std::optional<std::uint64_t> call_epoch{};
    Mark lease_until = 0;
    milliseconds lease_length{0};
  };
  std::optional<Before> unwaited_;
  std::uint64_t handed_to_ = 0;  ///< the highest number a receiver may have seen
  std::string holder_;           ///< empty: released
  std::weak_ptr<Backend> holder_backend_;
  Mark lease_until_ = 0;  ///< by the server's clock
  milliseconds lease_length_{0};
  std::optional<std::uint64_t> call_epoch_;  ///< a call is announced at this epoch
  Mark hold_until_ = mark_min;               ///< a person asks for a turn, by the server's clock
  Micros retry_at_ = 0;
};

}  // namespace seriatim::simulation
