#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lab/judge/judge.hpp"

namespace seriatim::testing {

using namespace lab;

inline std::uint64_t body(std::int64_t id) {
  return hash_of("body " + std::to_string(id));
}

/// Rows 1, 2 and 3 of one lane, delivered one after another by one holder.
struct Story : Evidence {
  Story() {
    for (const std::int64_t id : {1, 2, 3}) committed.push_back({id, id * 10, body(id), "key"});
    claims[0] = {{1, 0}, {2, 1'000'000}};
    report({1, 2, 3});
  }
  /// These rows are called in this order, without a fault.
  void report(const std::vector<std::int64_t>& ids) {
    calls.clear();
    std::int64_t previous = -1;
    for (const auto id : ids) {
      add(id, calls.size() + 1, previous);
      previous = id;
    }
    stop_at(previous, calls.size());
  }
  Call& add(std::int64_t id, std::uint64_t sequence, std::int64_t previous) {
    const auto now = static_cast<std::int64_t>(1'000 + 10 * calls.size());
    calls.push_back({0, id, previous, sequence, 1, 1, body(id), now, now + 5, true});
    return calls.back();
  }
  /// The call is made twice; the second time is answered.
  Call& again(std::size_t which) {
    calls.insert(calls.begin() + static_cast<long>(which), calls[which]);
    for (auto i = which + 1; i < calls.size(); ++i) calls[i].begun += 10, calls[i].ended += 10;
    return calls[which + 1];
  }
  void stop_at(std::int64_t id, std::uint64_t sequence) {
    cursors[0] = {id, sequence, 1, "running", ""};
  }
  void in_another_lane(std::size_t last) {
    calls[last].lane = 1;
    calls[last].sequence = 1;
    calls[last].previous_id = -1;
    claims[1] = {{1, 0}};
    stop_at(2, 2);
    cursors[1] = {3, 1, 1, "running", ""};
  }
};

template <class S>
struct PlantIn {
  const char* what;
  void (*change)(S&);
  std::size_t count = 1;
};
/// Exactly this kind is found, so often, and nothing else. An empty kind: nothing is found.
template <class S>
void check_finds_in(const std::string& kind, const std::vector<PlantIn<S>>& plants) {
  for (const auto& plant : plants) {
    INFO(std::string(plant.what));
    S story;
    plant.change(story);
    const auto verdict = judge(story);
    CAPTURE(verdict.violations());
    CHECK(verdict.clean() == kind.empty());
    for (const auto& finding : verdict.kinds()) {
      CAPTURE(finding.first);
      CHECK(finding.second->size() == (finding.first == kind ? plant.count : 0));
    }
  }
}

}  // namespace seriatim::testing
