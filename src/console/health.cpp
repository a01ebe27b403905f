#include "console/health.hpp"

namespace seriatim::console {

namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

std::string name_of(const LaneCounts& lane) {
  return lane.process + '/' + std::to_string(lane.lane);
}

const char* words_of(LaneStep step) {
  switch (step) {
    case LaneStep::session: return "connecting or claiming the lane";
    case LaneStep::fetch: return "polling for rows";
    case LaneStep::fence: return "waiting for the fence";
    case LaneStep::call: return "a call of its handler";
    case LaneStep::commit: return "a commit";
    case LaneStep::backoff: return "waiting before the next attempt";
    case LaneStep::idle: return "waiting for rows";
  }
  return "a step";
}

}  // namespace

Health liveness(std::span<const LaneCounts> lanes, std::chrono::steady_clock::time_point now) {
  Health health{true, "all threads turn"};
  for (const auto& lane : lanes) {
    const bool started = lane.step_ends.time_since_epoch().count() != 0;
    if (!started || now < lane.step_ends || now - lane.step_ends <= hang_max) continue;
    const auto late = duration_cast<seconds>(now - lane.step_ends);
    const auto text = "lane " + name_of(lane) + " hangs: " + words_of(lane.step) + " was to end " +
                      std::to_string(late.count()) + " s ago";
    health = {false, health.good ? text : health.text + '\n' + text};
  }
  return health;
}

Health readiness(std::span<const LaneCounts> lanes, std::chrono::steady_clock::time_point now) {
  Health health{true, "every lane is held or stood by for"};
  for (const auto& lane : lanes) {
    const bool never = lane.answered.time_since_epoch().count() == 0;
    const bool recent = !never && now - lane.answered <= lane.silence_max;
    if (lane.finished || lane.step == LaneStep::call || recent) continue;
    const auto silent = duration_cast<seconds>(now - lane.answered).count();
    const auto text =
        "lane " + name_of(lane) + ": the database " +
        (never ? "has not answered yet" : "has not answered for " + std::to_string(silent) + " s");
    health = {false, health.good ? text : health.text + '\n' + text};
  }
  return health;
}

}  // namespace seriatim::console
