#pragma once

#include <memory>
#include <optional>

#include "runtime/aside.hpp"
#include "seriatim/source.hpp"

namespace seriatim::runtime {

/// One lane's reader and store together. It decides what goes out next, for every kind of source.
///
/// Due rows that were begun go out first. Other due rows also go out before new rows; after a batch
/// of due rows they wait for one batch of new rows, so that many due rows do not hold new rows up.
/// Rows of a parked key go into the queue.
///
/// Threads: used by one thread.
/// Errors: every function throws SessionLost (drop this object and open another) or SourceBroken
/// (halt). After SessionLost nothing is known about the call in flight: claim again and read.
class LaneSession {
 public:
  LaneSession(Source& source, const LaneId& lane, const ProcessConfig& config,
              const std::string& holder, Waker& waker);

  Claim claim();
  /// The cursor, without a lease.
  Cursor read_cursor();

  /// Rows after `after`, at most `rows_max`, and what holds the rest back; or due rows.
  /// `may_redrive`: no attempt at the row after the cursor is open, so a due row may take the next
  /// number.
  PollResult poll(const std::optional<Position>& after, unsigned rows_max, bool may_redrive = true);
  /// For several calls in flight: due rows of different keys. `due`: those that may come.
  PollResult poll_due(const std::optional<Position>& after, unsigned rows_max,
                      const DueChoice& due);
  /// … and rows after `after`. Those up to the cursor, which are late, are to be set aside, and are
  /// due then.
  PollResult poll_new(const std::optional<Position>& after, unsigned rows_max,
                      const std::optional<Position>& cursor);
  /// A hint, given before a call: after it, `poll` will ask for the rows after `after`.
  void read_ahead(const Position& after, unsigned rows_max) {
    reader().expect(after, rows_max, Reader::Expected::after_this_call);
  }
  /// How many rows were prefetched for `after`; 0 if something else goes out first. The settlement
  /// that ends the current batch may announce their call. Never waits.
  std::size_t rows_ahead(const Position& after);

  /// Announces a call at the first rows of the last round; see Store::start.
  Grant start(std::uint64_t epoch, std::size_t rows, bool again = false);
  /// What a handler may write with during the call; see Store::transaction.
  Transaction* transaction();
  /// See Store::settle.
  SettleAnswer settle(std::uint64_t epoch, const Settlement& settlement);
  void release(std::uint64_t epoch, bool untouched) { store().release(epoch, untouched); }

  bool is_lost() noexcept { return store().is_lost(); }
  bool wait_until(Reader::Time deadline) { return reader().wait_until(deadline); }
  [[nodiscard]] bool hints() const { return lane_.reader->hints(); }
  [[nodiscard]] Abilities abilities() const { return lane_.reader->abilities(); }

 private:
  [[nodiscard]] Store& store() { return *lane_.store; }
  [[nodiscard]] Reader& reader() { return *lane_.reader; }
  PollResult next_round(const Wanted& wanted, bool may_redrive);
  PollResult up_to_barrier(PollResult round);
  void remember(const PollResult& round, unsigned rows_max);
  void forget_settled(const Settlement& settlement);

  Source::Lane lane_;
  Aside aside_;
  std::uint64_t epoch_ = 0;           ///< at the last claim
  std::optional<Position> barrier_;   ///< as the cursor's row said when it was last read
  std::optional<Position> position_;  ///< the cursor's, as of the last poll or settlement
  Batch batch_;                       ///< of the last poll
  bool sets_rows_aside_;              ///< those that fail
  unsigned rows_max_ = 0;             ///< how many rows the last poll asked for
  bool due_ = false;                  ///< the last poll brought rows that had been set aside
  bool announced_ = false;            ///< the call of prefetched rows is announced already
};

}  // namespace seriatim::runtime
