// Order by key: what is promised if several calls are in flight, or keys are held.
#include <doctest/doctest.h>

#include <algorithm>

#include "lab/judge/planted_story.hpp"

using namespace seriatim::testing;

namespace {

/// Two calls in flight, two answers to a commit: rows 1, 3 and 5 of key a, 2, 4 and 6 of key b.
struct StoryByKey : Story {
  StoryByKey() {
    by_key = true;
    in_flight = 2;
    commit_every = 2;
    committed.clear();
    calls.clear();
    for (const std::int64_t id : {1, 2, 3, 4, 5, 6}) {
      committed.push_back({id, id * 10, body(id), id % 2 == 1 ? "a" : "b"});
      add(id, static_cast<std::uint64_t>(id), -1);
    }
    for (const auto second : {1U, 3U, 5U}) calls[second].begun -= 6;  // at once with the one before
    stop_at(6, 6);
  }
  /// Rows 3 and 5 wait for the time being; their key is held.
  void hold_a() {
    holds_keys = true;
    keys_held = 1;
    calls[2].accepted = false;
    calls.erase(calls.begin() + 4);
    for (const std::int64_t id : {3, 5}) {
      auto& call = add(id, static_cast<std::uint64_t>(id == 3 ? 7 : 8), -1);
      call.late = true;
      call.begun = 2'000 + id * 10;
      call.ended = call.begun + 5;
    }
    stop_at(6, 8);
  }
};

using PlantByKey = PlantIn<StoryByKey>;

void check_finds_by_key(const std::string& kind, const std::vector<PlantByKey>& plants) {
  check_finds_in(kind, plants);
}

}  // namespace

TEST_SUITE("the judge") {
  TEST_CASE("by key: two calls at once, keys that are held, and the rows that they overtake") {
    const auto verdict = judge(StoryByKey());
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.delivered == 6);
    CHECK(verdict.at_once == 2);
    check_finds_by_key("", {{"held", [](StoryByKey& s) { s.hold_a(); }},
                            {"rows of two keys in another order than declared",
                             [](StoryByKey& s) {
                               std::swap(s.calls[2].id, s.calls[3].id);
                               std::swap(s.calls[2].body, s.calls[3].body);
                             }},
                            {"a number is left out", [](StoryByKey& s) {
                               s.calls[5].sequence = 9;
                               s.stop_at(6, 9);
                             }}});
  }

  TEST_CASE("by key, reordered: a row comes after a later one of its key") {
    check_finds_by_key("reordered", {{"exchanged",
                                      [](StoryByKey& s) {
                                        std::swap(s.calls[2].id, s.calls[4].id);
                                        std::swap(s.calls[2].body, s.calls[4].body);
                                      }},
                                     {"marked as late, and keys are not held",
                                      [](StoryByKey& s) { s.calls[2].late = true; }}});
  }

  TEST_CASE("by key, overtaken: a later row of the key is called after this one failed") {
    check_finds_by_key("overtaken", {{"", [](StoryByKey& s) {
                                        s.hold_a();
                                        s.calls[5].accepted = false;
                                        s.calls[6].accepted = false;
                                        s.add(3, 9, -1).late = true;
                                        s.add(5, 10, -1).late = true;
                                        for (const auto i : {7U, 8U}) {
                                          s.calls[i].begun += 2'000;
                                          s.calls[i].ended += 2'000;
                                        }
                                        s.stop_at(6, 10);
                                      }}});
  }

  TEST_CASE("by key, overlapping: two calls of one key at once") {
    check_finds_by_key("overlapping", {{"", [](StoryByKey& s) {
                                          s.calls[1].begun = s.calls[0].ended;
                                          s.calls[1].ended = s.calls[1].begun + 1;
                                          s.calls[0].ended = s.calls[2].begun + 1;
                                        }}});
  }

  TEST_CASE("by key, too many at once: one call more than may be in flight") {
    check_finds_by_key("too_many_at_once", {{"",
                                             [](StoryByKey& s) {
                                               s.committed[2].key = "c";
                                               s.calls[2].begun = s.calls[1].begun;
                                             }},
                                            {"of one holder in all",
                                             [](StoryByKey& s) {
                                               s.in_flight = 1;
                                               s.hold_a();
                                               s.calls.erase(s.calls.begin() + 2);
                                             },
                                             1}});
    check_finds_by_key("", {{"of two holders", [](StoryByKey& s) {
                               s.committed[2].key = "c";
                               s.zombies_allowed = true;
                               s.claims[0] = {{1, 0}, {2, 1'000}};
                               for (auto& call : s.calls) call.epoch = 2;
                               s.calls[0].epoch = 1;
                               s.calls[2].begun = s.calls[1].begun;
                             }}});
  }

  TEST_CASE("by key, repeated beyond bound: more than a holder may not know of those before it") {
    const auto repeat = [](StoryByKey& s, std::size_t count) {
      s.repeats_allowed = 100;
      s.zombies_allowed = true;
      s.claims[0] = {{1, 0}, {2, 1'050}};
      for (std::size_t i = 0; i < count; ++i) {
        auto& call = s.add(s.calls[i].id, s.calls[i].sequence, -1);
        call.epoch = 2;
        call.attempt = 2;
      }
    };
    StoryByKey story;
    repeat(story, 4);  // in_flight + commit_every
    auto verdict = judge(story);
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.repeated_by_one == 4);
    StoryByKey more;
    repeat(more, 5);
    verdict = judge(more);
    CHECK(verdict.repeated_beyond_bound.size() == 1);
    more.repeats_allowed = 4;  // by all faults together
    verdict = judge(more);
    CHECK(verdict.repeated_beyond_bound.size() == 2);
  }

  TEST_CASE("by key, stale epochs: as many calls may come late as may be in flight") {
    const auto late = [](std::size_t count) {
      StoryByKey story;
      story.zombies_allowed = true;
      story.repeats_allowed = 100;
      story.claims[0] = {{1, 0}, {2, 1'000}};
      for (auto& call : story.calls) call.epoch = 2;
      for (std::size_t i = 0; i < count; ++i) {
        story.add(story.calls[i].id, story.calls[i].sequence, -1).epoch = 1;
      }
      return judge(story);
    };
    CHECK_MESSAGE(late(2).clean(), late(2).violations());
    CHECK(late(2).late_calls == 2);
    CHECK(late(3).stale_epochs.size() == 1);
  }

  TEST_CASE("by key, sequence holes: the number does not grow within the key") {
    check_finds_by_key("sequence_holes",
                       {{"smaller", [](StoryByKey& s) { s.calls[4].sequence = 2; }},
                        {"the same", [](StoryByKey& s) { s.calls[4].sequence = 3; }},
                        {"of a row that was held", [](StoryByKey& s) {
                           s.hold_a();
                           s.calls[6].sequence = 7;
                         }}});
  }

  TEST_CASE("by key, inconsistent: a repeat has another number, unless its key was held") {
    check_finds_by_key("inconsistent", {{"number",
                                         [](StoryByKey& s) {
                                           s.repeats_allowed = 1;
                                           s.add(5, 9, -1);
                                           s.stop_at(6, 9);
                                         }},
                                        {"bytes", [](StoryByKey& s) {
                                           s.repeats_allowed = 1;
                                           s.add(5, 5, -1).body = 0;
                                         }}});
    check_finds_by_key("", {{"its answer was lost, so it was held", [](StoryByKey& s) {
                               s.repeats_allowed = 1;
                               s.holds_keys = true;
                               s.keys_held = 1;
                               s.add(5, 9, -1).late = true;
                               s.stop_at(6, 9);
                             }}});
  }

  TEST_CASE("by key, cursor wrong: it is not at the last row, or before the last number") {
    check_finds_by_key("cursor_wrong", {{"row", [](StoryByKey& s) { s.stop_at(5, 6); }},
                                        {"number", [](StoryByKey& s) { s.stop_at(6, 5); }}});
  }

  TEST_CASE("untried: no key was held, or no two calls were in flight") {
    check_finds_by_key("untried", {{"held", [](StoryByKey& s) { s.holds_keys = true; }},
                                   {"at once", [](StoryByKey& s) {
                                      for (auto& call : s.calls) call.ended = call.begun + 1;
                                    }}});
  }
}
