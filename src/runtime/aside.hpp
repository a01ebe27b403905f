#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "seriatim/store.hpp"

namespace seriatim::runtime {

/// Rows of a lane that do not simply follow its cursor, as its holder needs them: those that are
/// parked, those that queue behind one of these, and those that are due.
///
/// What it remembers was read at the last claim, or was changed by this lane since: Store says why
/// that holds.
class Aside {
 public:
  Aside(Store& store, Reader& reader) : store_(store), reader_(reader) {}

  /// At a claim. `any`: rows of the process are set aside.
  void load(bool any);
  [[nodiscard]] bool any() const { return any_; }
  /// Rows of these keys queue.
  [[nodiscard]] const ParkedKeys& keys() const { return keys_; }
  /// Until rows may go out, as of the last `due`: of the next held key, or 0 if rows are due that
  /// could not begin. Absent: there is none.
  [[nodiscard]] std::optional<std::chrono::milliseconds> held_for() const { return held_for_; }

  /// Which rows may begin now. Those that have begun always go on.
  enum class Begin {
    none,
    caught_up,  ///< due rows, unless a receiver may have seen the number after the cursor's
    idle        ///< due rows: no row waits, so none has that number
  };
  /// The next due rows, in their order; nothing if there are none. One that cannot go out is left
  /// out.
  PollResult due(std::uint64_t epoch, const Wanted& wanted, Begin begin);
  /// The same for several calls in flight, which hand rows of different keys over.
  PollResult due_of_keys(std::uint64_t epoch, const Wanted& wanted, const DueChoice& choice);

  /// The rows of a planned batch are about to start.
  void begin(const Batch& batch);
  /// A settlement has taken rows out, and parked one.
  void settled(const Settlement& settlement, const SettleAnswer& answer);

 private:
  std::vector<DueRow> of_one_kind(std::uint64_t epoch, unsigned rows_max, Begin begin);
  PollResult read(const std::vector<DueRow>& due, const Wanted& wanted);
  struct EachRow {
    PollResult round;
    bool had_places = false;  ///< some are read after the cursor, too, and were left out
  };
  EachRow read_each(std::uint64_t epoch, std::vector<DueRow> due, const Wanted& wanted);
  void queue_late_rows(PollResult& round) const;
  bool leave_out(std::uint64_t epoch, const DueRow& row,
                 const std::optional<PollResult::Unreadable>& unreadable);

  Store& store_;
  Reader& reader_;
  bool any_ = false;
  std::set<std::string> begun_;  ///< set aside by this lane's starts, and not handed over yet
  ParkedKeys keys_;
  std::optional<std::chrono::milliseconds> held_for_;
};

}  // namespace seriatim::runtime
