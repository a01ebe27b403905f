#include "app/stall.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace seriatim::app {

namespace {

using postgres::LaneReport;
using postgres::LaneWait;

constexpr std::chrono::seconds long_wait{1};
constexpr std::chrono::seconds a_long_call{10};

bool is_fenced(const LaneReport& report) {
  auto lasted = report.lane.fenced_for;
  for (const auto& blocker : report.lane.blockers) lasted = std::max(lasted, blocker.age);
  return (report.lane.state == LaneState::fenced || !report.lane.blockers.empty()) &&
         lasted >= long_wait;
}

bool waits(const LaneReport& report) {
  if (!report.wait || report.wait->cause == LaneWait::Cause::handler) return false;
  return report.wait->cause == LaneWait::Cause::disk_full || report.wait->lasted >= long_wait;
}

/// Each that may hold, the worst first.
std::array<std::pair<Stall, bool>, 9> reasons_of(const LaneReport& report) {
  const auto state = report.lane.state;
  return {{{Stall::halted, state == LaneState::halted},
           {Stall::unheld, state == LaneState::standby || !report.holder_alive},
           {Stall::unread, report.unread || !report.not_read.empty()},
           {Stall::fenced, is_fenced(report)},
           {Stall::retrying, state == LaneState::retrying},
           {Stall::waits, waits(report)},
           {Stall::long_call, report.called_for && *report.called_for >= a_long_call},
           {Stall::barrier, report.barrier && report.barrier->reached},
           {Stall::paused, state == LaneState::paused}}};
}

}  // namespace

std::optional<Stall> stall_of(const LaneReport& report) {
  for (const auto& [stall, holds] : reasons_of(report)) {
    if (holds) return stall;
  }
  return std::nullopt;
}

const char* to_string(Stall stall) {
  switch (stall) {
    case Stall::halted: return "halted";
    case Stall::unheld: return "nobody holds it";
    case Stall::unread: return "not read";
    case Stall::fenced: return "fenced";
    case Stall::retrying: return "retrying";
    case Stall::waits: return "waits";
    case Stall::long_call: return "long call";
    case Stall::barrier: return "barrier";
    case Stall::paused: return "paused";
  }
  return "?";
}

bool is_stopped(const LaneReport& report) {
  const auto all = reasons_of(report);
  return std::any_of(all.begin(), all.end(), [](const auto& reason) {
    const auto [stall, holds] = reason;
    return holds && stall != Stall::unread && stall != Stall::long_call;
  });
}

}  // namespace seriatim::app
