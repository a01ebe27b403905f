#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace seriatim::lab {

/// The rules that every judge of calls shares. What the faults of a run excuse differs, so each
/// judge brings its own excuse, and its own type of Call with what the excuse needs to know. Calls
/// are those of one lane, in the order they began.

/// No call begins while another is under way. `excused(under_way, call)`
template <class Call, class Excused, class Breach>
void judge_overlaps(const std::vector<Call>& calls, const Excused& excused, const Breach& breach) {
  std::vector<const Call*> under_way;
  for (const auto& call : calls) {
    std::erase_if(under_way, [&](const Call* other) { return other->ended <= call.begun; });
    for (const auto* other : under_way) {
      if (!excused(*other, call)) breach(*other, call);
    }
    under_way.push_back(&call);
  }
}

/// A holder has at most so many calls under way. `holder(call)` is what tells holders apart;
/// `breach(call, at_once)`. Answers the most there were.
template <class Call, class Holder, class Breach>
std::size_t judge_calls_at_once(const std::vector<Call>& calls, std::size_t allowed,
                                const Holder& holder, const Breach& breach) {
  using Time = decltype(Call::ended);
  std::map<decltype(holder(calls.front())), std::multiset<Time>> ends;
  std::size_t most = 0;
  for (const auto& call : calls) {
    auto& under_way = ends[holder(call)];
    under_way.erase(under_way.begin(), under_way.upper_bound(call.begun));
    under_way.insert(call.ended);
    most = std::max(most, under_way.size());
    if (under_way.size() > allowed) breach(call, under_way.size());
  }
  return most;
}

/// No call is of an epoch older than the newest that was given out, or called under, before.
/// `excused(call)`
template <class Call, class Claim, class Excused, class Breach>
void judge_epochs(const std::vector<Call>& calls, const std::vector<Claim>& claims,
                  const Excused& excused, const Breach& breach) {
  std::uint64_t newest = 0;
  auto next = claims.begin();
  for (const auto& call : calls) {
    for (; next != claims.end() && next->at <= call.begun; ++next) {
      newest = std::max(newest, next->epoch);
    }
    if (call.epoch < newest && !excused(call)) breach(call);
    newest = std::max(newest, call.epoch);
  }
}

/// Each epoch given out is higher than the one before. `breach(claim, before)`
template <class Claim, class Breach>
void judge_claims(const std::vector<Claim>& claims, const Breach& breach) {
  for (std::size_t i = 1; i < claims.size(); ++i) {
    if (claims[i].epoch <= claims[i - 1].epoch) breach(claims[i], claims[i - 1]);
  }
}

}  // namespace seriatim::lab
