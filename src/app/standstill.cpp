#include "app/standstill.hpp"

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
std::array<std::pair<Standstill, bool>, 9> reasons_of(const LaneReport& report) {
  const auto state = report.lane.state;
  return {{{Standstill::halted, state == LaneState::halted},
           {Standstill::unheld, state == LaneState::standby || !report.holder_alive},
           {Standstill::unread, report.unread || !report.not_read.empty()},
           {Standstill::fenced, is_fenced(report)},
           {Standstill::retrying, state == LaneState::retrying},
           {Standstill::waits, waits(report)},
           {Standstill::long_call, report.called_for && *report.called_for >= a_long_call},
           {Standstill::barrier, report.barrier && report.barrier->reached},
           {Standstill::paused, state == LaneState::paused}}};
}

}  // namespace

std::optional<Standstill> standstill_of(const LaneReport& report) {
  for (const auto& [standstill, holds] : reasons_of(report)) {
    if (holds) return standstill;
  }
  return std::nullopt;
}

const char* to_string(Standstill standstill) {
  switch (standstill) {
    case Standstill::halted: return "halted";
    case Standstill::unheld: return "nobody holds it";
    case Standstill::unread: return "not read";
    case Standstill::fenced: return "fenced";
    case Standstill::retrying: return "retrying";
    case Standstill::waits: return "waits";
    case Standstill::long_call: return "long call";
    case Standstill::barrier: return "barrier";
    case Standstill::paused: return "paused";
  }
  return "?";
}

bool is_stopped(const LaneReport& report) {
  const auto all = reasons_of(report);
  return std::any_of(all.begin(), all.end(), [](const auto& reason) {
    const auto [standstill, holds] = reason;
    return holds && standstill != Standstill::unread && standstill != Standstill::long_call;
  });
}

}  // namespace seriatim::app
