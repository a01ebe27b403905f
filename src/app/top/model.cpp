#include "app/top/model.hpp"

#include <algorithm>

#include "app/stall.hpp"
#include "app/verdict.hpp"

namespace seriatim::app::top {

namespace {

using postgres::LaneReport;

/// Absent if the numbers of the two reads do not continue each other.
std::optional<double> rate_between(const LaneReport& before, const LaneReport& now,
                                   std::chrono::duration<double> time) {
  const bool continues =
      before.lane.epoch == now.lane.epoch && before.lane.sequence <= now.lane.sequence;
  if (!continues || time.count() <= 0) return std::nullopt;
  return static_cast<double>(now.lane.sequence - before.lane.sequence) / time.count();
}

/// The worst first; lanes without anything to do last.
int rank(const LaneReport& report) {
  if (const auto stall = stall_of(report)) return static_cast<int>(*stall);
  constexpr int moves = static_cast<int>(Stall::paused) + 1;
  return report.lane.state == LaneState::idle ? moves + 1 : moves;
}

}  // namespace

std::string verdict(const std::vector<Lane>& lanes, std::chrono::system_clock::time_point now) {
  Verdict whole;
  for (const auto& lane : lanes) whole.add(lane.report);
  return whole.text(now);
}

const char* to_string(Sort sort) {
  switch (sort) {
    case Sort::trouble: return "trouble first";
    case Sort::lag: return "most rows first";
    case Sort::rate: return "fastest first";
    case Sort::name: return "by name";
  }
  return "?";
}

void Model::take(const LaneReports& lanes, Clock::time_point at) {
  std::map<Name, Lane> taken;
  for (const auto& report : lanes) {
    const Name name{report.lane.process, report.lane.lane};
    Lane lane{report, {}};
    if (const auto before = lanes_.find(name); before != lanes_.end()) {
      lane.rates = std::move(before->second.rates);
      lane.rates.push_back(rate_between(before->second.report, report, at - read_at_));
      if (lane.rates.size() > rates_max) lane.rates.pop_front();
    }
    taken.emplace(name, std::move(lane));
  }
  lanes_ = std::move(taken);
  read_at_ = at;
}

std::vector<Lane> Model::all() const {
  return lanes(Sort::name, "");
}

std::vector<Lane> Model::lanes(Sort sort, const std::string& filter) const {
  std::vector<Lane> lanes;
  for (const auto& [name, lane] : lanes_) {
    if (name.first.find(filter) != std::string::npos) lanes.push_back(lane);
  }
  std::stable_sort(lanes.begin(), lanes.end(), [&](const Lane& a, const Lane& b) {
    switch (sort) {
      case Sort::trouble: return rank(a.report) < rank(b.report);
      case Sort::lag: return a.report.lag_records.value_or(0) > b.report.lag_records.value_or(0);
      case Sort::rate: return a.rate().value_or(0) > b.rate().value_or(0);
      case Sort::name: break;
    }
    return false;
  });
  return lanes;
}

}  // namespace seriatim::app::top
