#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/event.hpp"

namespace seriatim::core {

// What a lane wants done next. Each is answered by one event: the one named, or SessionEnded or
// SourceFailed.
struct OpenSession {};  ///< → Opened
struct ClaimLane {};    ///< → Claimed
struct ReadCursor {};   ///< → CursorRead
struct PollSource {     ///< → Polled
  std::optional<Position> after;
  unsigned rows_max = 1;
  bool may_redrive = true;
};
/// → Polled. For several calls in flight: rows after the cursor, or due rows.
struct PollForWindow {
  std::optional<Position> after;
  unsigned rows_max = 1;
  bool all_done = true;  ///< no row that was read before is in flight
  std::optional<DueChoice> due{};
  std::optional<Position> cursor{};
};
struct StartBatch {  ///< → Started: announces a call; the durability commit
  std::uint64_t epoch = 0;
  std::size_t rows = 1;            ///< that the call may take, with those that queue
  bool again = false;              ///< the attempt counted last was never made: count no other
  std::optional<PollSource> then;  ///< what is polled next if one call is all of it
};
struct CallHandler {                ///< → Called, or CallExpired when begun after `not_after`
  std::span<const Record> records;  ///< owned by the lane, valid until the next event
  Time not_after;                   ///< past this another may hold the lane: do not start
  Time deadline;
  Time yield_at;
  std::optional<PollSource> then;  ///< what is polled next if all goes well
};
/// → Answered. Hands rows of different keys over and collects answers. Returns once there is an
/// answer or a hint, or at `until`. Calls go on while other actions are carried out.
struct CallRows {
  std::vector<std::shared_ptr<const Record>> rows;
  bool revoke = false;  ///< rows that wait for their call are given back
  Time not_after;       ///< no call begins after this, nor one of those handed over before
  Time until;
};
struct Settle {  ///< → Settled
  std::uint64_t epoch = 0;
  Settlement settlement;
};
struct ReleaseLane {  ///< → Released
  std::uint64_t epoch = 0;
  bool untouched = false;
};
struct CloseSession {};  ///< → Closed
struct WaitUntil {       ///< → Woken
  Time deadline;
};
struct Finish {};  ///< no answer: the lane has ended

using Action =
    std::variant<OpenSession, ClaimLane, ReadCursor, PollSource, PollForWindow, StartBatch,
                 CallHandler, CallRows, Settle, ReleaseLane, CloseSession, WaitUntil, Finish>;

/// What tests call them, in the order of the variant.
inline constexpr std::array<std::string_view, std::variant_size_v<Action>> action_names{
    "open",  "claim",  "read",    "poll",  "poll", "start", "call",
    "calls", "settle", "release", "close", "wait", "finish"};

}  // namespace seriatim::core
