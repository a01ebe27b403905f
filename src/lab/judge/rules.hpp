#pragma once

#include <algorithm>
#include <cstdint>
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
