#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "postgres/reader/seldom.hpp"
#include "postgres/store/late_rows.hpp"

namespace seriatim::postgres {

/// The late-row audit beside delivery (DESIGN §4.4): looks again and again at what lies behind the
/// cursor, the newest at every turn and all that still has ids in turns; seals what is old.
///
/// A turn comes at most once a second and looks at a few thousand rows; one that took d is followed
/// by none for 50·d, so it costs at most 2 % of a lane's time whatever the table is like. Once all
/// was looked at and no prompt came since, a turn comes once a minute.
///
/// A turn is a few steps of a statement or two, so that a row which comes meanwhile waits for a
/// step: whole turns, taken before the rows, were most of the slowest hundredth
/// (docs/performance.md).
class AuditPass {
 public:
  AuditPass(Connection& connection, const Table& table, const SourceConfig& config,
            const LaneId& lane);

  /// Why the lane must stand still, where it must. `window_start`: rows after it are not looked at,
  /// since late ones are delivered there. Takes one step of a turn that is due, and further ones
  /// until `interrupted`. Throws SourceBroken (CURSOR_AHEAD) where ids began again.
  std::optional<Round::Unreadable> look(const std::optional<Position>& cursor,
                                        const std::optional<Mark>& window_start,
                                        const std::function<bool()>& interrupted);

  /// `look` has something to do.
  [[nodiscard]] bool due() const;
  /// … and no moment without rows is waited for: it was for long, or a late row was found.
  [[nodiscard]] bool overdue() const;

  /// Rows may have come.
  void prompt();

 private:
  /// What a turn does next.
  enum class Step { newest, walk, seal };

  std::optional<Round::Unreadable> step(const Position& cursor,
                                        const std::optional<Mark>& window_start);
  std::optional<Round::Unreadable> look_at_newest(const Position& cursor,
                                                  const std::optional<Mark>& window_start);
  std::optional<Round::Unreadable> walk_on(const Position& cursor,
                                           const std::optional<Mark>& window_start);
  void end_turn();
  std::optional<Round::Unreadable> judge(LateRows& rows, const NotedRange& range,
                                         const Position& cursor);
  LateRows& walker() { return walk_ == 0 ? late_rows_ : former_[walk_ - 1]; }
  void begin_walk();
  void refuse_ids_begun_again(const Position& cursor);
  void seal(const std::optional<Mark>& window_start);

  Connection& connection_;
  Table table_;
  SourceConfig config_;
  LaneId lane_;
  LateRows late_rows_;
  std::string began_again_;  ///< statement; empty in created_at order

  Seldom seldom_;
  bool first_ = true;  ///< of the session, or since a row was found: whole, and before any row
  Step step_ = Step::newest;
  Seldom::Clock::duration took_{};  ///< the steps of this turn
  bool walk_prompted_ = true;       ///< since the walk began
  bool walked_all_ = false;         ///< and unprompted
  std::vector<LateRows> former_;    ///< our rows in lanes of before the process was cut anew
  std::size_t walk_ = 0;            ///< 0: through our own buckets, else those of a former lane
  std::int64_t walked_ = -1;        ///< number of the last bucket looked at there
  std::optional<Position> last_cursor_;
};

}  // namespace seriatim::postgres
