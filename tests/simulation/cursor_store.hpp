#pragma once

#include <memory>
#include <string>

#include "seriatim/source.hpp"
#include "simulation/aside_store.hpp"
#include "simulation/ledger.hpp"
#include "simulation/stage.hpp"
#include "simulation/table.hpp"

namespace seriatim::simulation {

/// For so long an act that wants a turn asks for it, each time.
inline constexpr Micros hold_length = second;

/// A lane's lease as a process, or a person, has seen it since then.
struct LeaseWatch {
  std::uint64_t epoch = 0;
  OrderKey lease = 0;
  Micros since = 0;
};

/// Rows that are asked for in the same message as the settlement before them, for the next poll
/// alone.
struct PolledBehind {
  Position after;
  unsigned rows_max = 1;
  bool answered = false;
  std::vector<Table::Row> rows{};
  std::uint64_t written = 0;
};

/// A relay's connection, as the server and its client see it.
struct Backend {
  unsigned relay = 0;
  std::string holder;  ///< the relay's name, unique per run
  bool alive = true;
  Micros ended_at = 0;                ///< not alive
  bool cut_off = false;               ///< … and its client does not hear of it
  bool joined = false;                ///< was granted the lane
  bool given_up = false;              ///< by its client, while a statement is still under way
  std::shared_ptr<LeaseWatch> watch;  ///< of the client's process
  std::optional<PolledBehind> behind;

  /// Its client knows that it is lost.
  [[nodiscard]] bool known_lost(Micros now) const {
    return !alive && !cut_off && now >= ended_at + loss_known_within;
  }
};
using BackendPtr = std::shared_ptr<Backend>;

/// The cursor row with the statements of Store (seriatim/store.hpp), each done in one instant. What
/// the row says is never lost, for its commits are waited for; but a start's, where it need not be,
/// until the row's next one.
class CursorStore {
 public:
  CursorStore(Stage& stage, Table& table)
      : stage_(stage), table_(table), ledger_(stage), aside_(stage) {}

  /// `known_epoch`: the newest that the relay knew when it asked.
  Claim claim(const BackendPtr& by, std::uint64_t known_epoch);
  Grant start(const Backend& by, std::uint64_t epoch, const Start& start, const Batch& batch);
  SettleAnswer settle(const Backend& by, std::uint64_t epoch, const Settlement& settlement,
                      const Batch& batch);
  void release(const Backend& by, std::uint64_t epoch, bool untouched);
  /// The server is about to recover from its log.
  void server_crashed();

  // What other instances see.
  [[nodiscard]] const std::string& holder() const { return holder_; }
  [[nodiscard]] bool seems_free() const;
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
  void give_up(std::uint64_t numbers);
  [[nodiscard]] DueRows due_rows(std::uint64_t epoch, unsigned rows_max, const DueChoice& choice);
  LeftOut leave_out(std::uint64_t epoch, const std::string& id);
  void redrive(const ParkedChoice& choice);
  void discard(const ParkedChoice& choice);

  /// Late rows, delivered: the cursor at the last complete check for them, as the row says.
  [[nodiscard]] OrderKey looked_at(const Position& cursor) const;

  // The audit.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// The first visible rows of the range that are neither noted for it nor anywhere else.
  [[nodiscard]] std::vector<Table::Row> late_rows(const NotedRange& range, unsigned rows_max,
                                                  bool aside_too = false) const;
  /// If late rows are delivered: before it they are the audit's, as the row alone says.
  [[nodiscard]] std::optional<OrderKey> late_window_start() const;
  void halt_late(std::int64_t row);
  /// The one of that name, behind the cursor.
  [[nodiscard]] std::optional<Table::Row> late_row(const std::string& id) const;

 private:
  [[nodiscard]] bool is_free_for(const Backend& by) const;
  [[nodiscard]] bool lease_has_passed(const LeaseWatch& seen) const;
  [[nodiscard]] bool holder_is_gone(const LeaseWatch& seen) const;
  [[nodiscard]] bool is_held() const;
  void announce(const Backend& by, std::uint64_t epoch, std::size_t rows);
  void renew_lease(std::chrono::milliseconds time);
  [[nodiscard]] bool is_ours(std::uint64_t epoch) const;
  void take_over(const BackendPtr& by);
  void commit_start(const Start& start, const Batch& batch);
  void check_up_to(OrderKey given);
  void suffer(const Failure& failure);
  void suffer(const Retry& retry);
  void suffer(const Halt& halt);
  void note(const std::vector<Passed>& done);
  void move(std::uint64_t epoch, const Settlement& settlement, const Batch& batch,
            SettleAnswer& answer);
  void write_down(Evidence::Move move);
  void begin_anew();
  void keep(const InFlight& in_flight, std::uint64_t epoch);
  void new_epoch();
  void act(Evidence::Move::By by, const std::optional<Position>& to,
           const std::vector<Position>& done, std::uint64_t sequence);

  Stage& stage_;
  Table& table_;
  Ledger ledger_;
  AsideStore aside_;
  std::optional<OrderKey> looked_at_;
  Cursor cursor_;
  /// What a start not waited for changed, as it was.
  struct Before {
    std::uint64_t lsn = 0;
    Cursor cursor;
    std::uint64_t handed_to = 0;
    Micros retry_at = 0;
    std::optional<std::uint64_t> call_epoch{};
    OrderKey lease_until = 0;
    std::chrono::milliseconds lease_length{0};
  };
  std::optional<Before> unwaited_;
  std::uint64_t handed_to_ = 0;  ///< the highest number a receiver may have seen
  std::string holder_;           ///< empty: released
  std::weak_ptr<Backend> holder_backend_;
  OrderKey lease_until_ = 0;  ///< by the server's clock
  std::chrono::milliseconds lease_length_{0};
  std::optional<std::uint64_t> call_epoch_;  ///< a call is announced at this epoch
  OrderKey hold_until_ = order_key_min;      ///< a person asks for a turn, by the server's clock
  Micros retry_at_ = 0;
};

}  // namespace seriatim::simulation
