// The words users see for states and reasons.
#include "seriatim/error.hpp"
#include "seriatim/observer.hpp"

namespace seriatim {

const char* to_string(HaltReason reason) {
  switch (reason) {
    case HaltReason::poison: return "POISON";
    case HaltReason::unknown_outcome: return "UNKNOWN_OUTCOME";
    case HaltReason::late_row: return "LATE_ROW";
    case HaltReason::cursor_ahead: return "CURSOR_AHEAD";
    case HaltReason::source_changed: return "SOURCE_CHANGED";
    case HaltReason::clock_back: return "CLOCK_BACK";
    case HaltReason::bad_payload: return "BAD_PAYLOAD";
    case HaltReason::crashes: return "CRASHES";
    case HaltReason::slot_lost: return "SLOT_LOST";
    case HaltReason::config_changed: return "CONFIG_CHANGED";
  }
  return "?";
}

std::optional<HaltReason> halt_reason_from(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(HaltReason::config_changed); ++i) {
    const auto reason = static_cast<HaltReason>(i);
    if (text == to_string(reason)) return reason;
  }
  return std::nullopt;
}

const char* to_string(LaneState state) {
  switch (state) {
    case LaneState::standby: return "standby";
    case LaneState::claiming: return "claiming";
    case LaneState::running: return "running";
    case LaneState::idle: return "idle";
    case LaneState::fenced: return "fenced";
    case LaneState::retrying: return "retrying";
    case LaneState::halted: return "halted";
    case LaneState::paused: return "paused";
    case LaneState::stopped: return "stopped";
  }
  return "?";
}

}  // namespace seriatim
