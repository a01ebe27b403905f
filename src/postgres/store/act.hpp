#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postgres/store/actor.hpp"
#include "postgres/store/cursor_memory.hpp"
#include "postgres/store/lane_rows.hpp"
#include "postgres/wire/connection.hpp"

namespace seriatim::postgres {

/// As the journal keeps them; absent: not given.
[[nodiscard]] std::optional<std::string> stored_who(const Actor& actor);
[[nodiscard]] std::optional<std::string> stored_reason(const Actor& actor);

/// Columns of seriatim.cursor and their new values, as PostgreSQL reads them; absent: NULL.
using Columns = std::map<std::string, std::optional<std::string>>;

/// What an act makes of one lane.
struct LaneChange {
  unsigned lane = 0;
  Columns set;
  std::optional<std::string> row;  ///< acted upon, for the journal
  std::string detail = "{}";       ///< more for the journal: a JSON object
  bool gone = false;               ///< there is no such lane any more
};

/// An act on the lanes of a process, or on one of them: of a person, of `adopt`, of the auditor. It
/// waits for the calls in flight, changes all of its lanes or none, and is in the journal.
///
/// In this order: take_turn, change, what else belongs to it on the same connection, commit. Until
/// commit nothing is changed for good; an act that ends before takes its request for a turn back.
class Act {
 public:
  Act(Connection& connection, std::string process, Actor actor, KeepWaiting keep_waiting = {},
      std::optional<unsigned> lane = std::nullopt);
  ~Act();
  Act(const Act&) = delete;
  Act& operator=(const Act&) = delete;

  /// Opens a transaction in which the lanes are locked and have no call in flight; answers all of
  /// them. Until then no further call of theirs is announced. Waits as long as a statement may wait
  /// for a lock.
  /// Errors: ActRefused if that was not enough, and names what is in the way.
  std::vector<LaneRow> take_turn();

  /// Compares the lanes that the actor names with what the actor has seen of them, before it is
  /// judged whether the act applies to them.
  /// Errors: NotAsExpected.
  void compare_expected();

  /// Called some times a second by who waits for something of its own on behalf of the act.
  /// Errors: ActRefused if the act is to be given up.
  void waits_for(const std::string& what);

  /// For the journal, if it was not known before.
  void because(std::string why) { actor_.why = std::move(why); }

  /// seriatim.act(): compares with what the actor has seen, changes, journals. Answers the entries
  /// of the journal, in the order of the changes.
  /// Errors, and nothing is changed: NotAsExpected if a lane is not as the actor has seen it,
  /// ActRefused if the act is to be given up.
  std::vector<std::uint64_t> change(std::string_view what, const std::vector<LaneChange>& changes) {
    return change(what, process_, changes);
  }
  /// … of another process, which is part of the same act.
  std::vector<std::uint64_t> change(std::string_view what, const std::string& process,
                                    const std::vector<LaneChange>& changes);

  void commit();

  /// The last entry of the journal that `change` made; absent: none.
  [[nodiscard]] std::optional<std::uint64_t> entry() const { return entry_; }
  [[nodiscard]] Connection& connection() const { return connection_; }
  [[nodiscard]] const std::string& process() const { return process_; }
  [[nodiscard]] const Actor& actor() const { return actor_; }
  /// Absent: all lanes of the process.
  [[nodiscard]] const std::optional<unsigned>& lane() const { return lane_; }

 private:
  struct Obstacle {
    std::string what;
    bool is_call = false;  ///< in flight; else the lanes are locked
  };
  void refuse_missing(const std::vector<LaneRow>& lanes) const;
  std::optional<Obstacle> lock();
  std::string who_locks_it();
  void note_silent_leases();
  void ask(milliseconds length);
  void wait(const Obstacle& obstacle);

  using Clock = std::chrono::steady_clock;
  Connection& connection_;
  std::string process_;
  Actor actor_;
  KeepWaiting keep_waiting_;
  std::optional<unsigned> lane_;
  std::string asks_as_;
  CursorMemory seen_;
  std::string silent_ = "[]";  ///< leases that ran out on this program's clock
  std::optional<std::uint64_t> entry_;
  bool asked_ = false;  ///< a turn was asked for, and is not taken back
  bool listens_ = false;
};

}  // namespace seriatim::postgres
