// A judge that never fails proves nothing: every fault it is there for is planted before it.
#include "lab/judge/judge.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace seriatim::lab;

namespace {

std::uint64_t body(std::int64_t id) {
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

template <class S>
struct PlantIn {
  const char* what;
  void (*change)(S&);
  std::size_t count = 1;
};
using Plant = PlantIn<Story>;
using PlantByKey = PlantIn<StoryByKey>;

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
void check_finds(const std::string& kind, const std::vector<Plant>& plants) {
  check_finds_in(kind, plants);
}
void check_finds_by_key(const std::string& kind, const std::vector<PlantByKey>& plants) {
  check_finds_in(kind, plants);
}

}  // namespace

TEST_SUITE("the judge") {
  TEST_CASE("accepts what is complete and in order, and counts it") {
    const auto verdict = judge(Story());
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.committed == 3);
    CHECK(verdict.delivered == 3);
    CHECK(verdict.repeated == 0);
    CHECK(verdict.late_calls == 0);
  }

  TEST_CASE("accepts what the faults of the run excuse, and counts it") {
    Story story;
    story.repeats_allowed = 1;
    story.zombies_allowed = true;
    story.again(1).epoch = 2;
    std::swap(story.calls[1].epoch, story.calls[2].epoch);
    story.calls[3].epoch = 2;
    const auto verdict = judge(story);
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.repeated == 1);
    CHECK(verdict.late_calls == 1);
  }

  TEST_CASE("lost") {
    check_finds("lost", {{"at the end, and the cursor has not passed it",
                          [](Story& s) {
                            s.report({1, 2});
                          }},
                         {"in the middle",
                          [](Story& s) {
                            s.report({1, 3});
                          }},
                         {"all of them",
                          [](Story& s) {
                            s.calls.clear();
                            s.stop_at(0, 0);
                          },
                          3},
                         {"called, and never accepted", [](Story& s) {
                            s.calls[2].accepted = false;
                            s.stop_at(2, 2);
                          }}});
  }

  TEST_CASE("phantoms: a row that was never committed, or that a crash undid") {
    check_finds("phantoms", {{"after the others",
                              [](Story& s) {
                                s.report({1, 2, 3, 4});
                              }},
                             {"undone", [](Story& s) { s.committed.erase(s.committed.begin()); }}});
  }

  TEST_CASE("altered: other bytes than are committed") {  // an id drawn again after a crash
    check_finds("altered", {{"", [](Story& s) { s.calls[1].body = hash_of("else"); }}});
  }

  TEST_CASE("reordered") {
    check_finds("reordered", {{"the last two",
                               [](Story& s) {
                                 s.report({1, 3, 2});
                               }},
                              {"backwards",
                               [](Story& s) {
                                 s.report({3, 2, 1});
                               },
                               2},
                              {"called late, and no later row was delivered", [](Story& s) {
                                 s.report({1, 2, 3});
                                 s.calls[2].late = true;
                                 s.stop_at(2, 3);
                               }}});
    check_finds("", {{"a row that came late, and the one after it", [](Story& s) {
                        s.calls.clear();
                        s.add(2, 1, -1);
                        s.add(1, 2, 2).late = true;
                        s.add(3, 3, 2);
                        s.stop_at(3, 3);
                      }}});
  }

  TEST_CASE("inconsistent: a repeat is another, a row or a key is in two lanes") {
    check_finds("inconsistent", {{"sequence",
                                  [](Story& s) {
                                    s.repeats_allowed = 1;
                                    s.again(0).sequence = 2;
                                  }},
                                 {"bytes",
                                  [](Story& s) {
                                    s.repeats_allowed = 1;
                                    s.again(0).body = 0;
                                  }},
                                 {"previous id",
                                  [](Story& s) {
                                    s.repeats_allowed = 1;
                                    s.again(0).previous_id = 7;
                                  }},
                                 {"the lane of a row",
                                  [](Story& s) {
                                    s.add(3, 1, -1).lane = 1;
                                    s.claims[1] = {{1, 0}};
                                    s.cursors[1] = {3, 1, 1, "running", ""};
                                  }},
                                 {"the lane of a key", [](Story& s) {
                                    s.in_another_lane(2);
                                    s.one_lane_a_key = true;
                                  }}});
    check_finds("", {{"lanes without a key", [](Story& s) { s.in_another_lane(2); }}});
  }

  TEST_CASE("repeated beyond bound") {
    check_finds("repeated_beyond_bound", {{"no fault", [](Story& s) { s.again(0); }},
                                          {"one fault, two repeats", [](Story& s) {
                                             s.repeats_allowed = 1;
                                             s.again(2);
                                             s.again(0);
                                           }}});
    check_finds("", {{"one fault, one repeat", [](Story& s) {
                        s.repeats_allowed = 1;
                        s.again(0);
                      }}});
  }

  TEST_CASE("overtaken: a later row is called after this one failed") {
    check_finds("overtaken", {{"",
                               [](Story& s) {
                                 s.calls[1].accepted = s.calls[2].accepted = false;
                                 s.add(2, 2, 1).attempt = 2;
                                 s.add(3, 3, 2).attempt = 2;
                               }},
                              {"by a late one", [](Story& s) {
                                 s.calls.clear();
                                 s.add(2, 1, -1);
                                 s.add(3, 2, 2).accepted = false;
                                 s.add(1, 2, 2).late = true;
                                 s.add(3, 3, 2).attempt = 2;
                                 s.stop_at(3, 3);
                               }}});
  }

  TEST_CASE("sequence holes: the number, or the previous id") {
    check_finds("sequence_holes",
                {{"number",
                  [](Story& s) {
                    s.calls[2].sequence = 4;
                    s.stop_at(3, 4);
                  }},
                 {"previous id", [](Story& s) { s.calls[2].previous_id = 1; }},
                 {"previous id of the first", [](Story& s) { s.calls[0].previous_id = 7; }},
                 {"the row after a late one names the late one", [](Story& s) {
                    s.calls.clear();
                    s.add(2, 1, -1);
                    s.add(1, 2, 2).late = true;
                    s.add(3, 3, 1);
                    s.stop_at(3, 3);
                  }}});
  }

  TEST_CASE("overlapping: two calls of one holder at once, unless it gave one up") {
    check_finds("overlapping",
                {{"neighbours", [](Story& s) { s.calls[1].begun = s.calls[0].ended - 1; }},
                 {"with one between", [](Story& s) { s.calls[0].ended = s.calls[2].begun + 1; }, 2},
                 {"of two holders, and nothing had failed",
                  [](Story& s) {
                    s.calls[2].epoch = 2;
                    s.calls[2].begun = s.calls[1].ended - 1;
                  }},
                 {"a repeat, and the network is good", [](Story& s) {
                    s.repeats_allowed = 1;
                    auto& repeat = s.again(0);
                    repeat.begun = s.calls[0].ended - 1;
                  }}});
    check_finds("", {{"given up",
                      [](Story& s) {
                        s.again(0).attempt = 2;
                        s.calls[0].accepted = false;
                        s.calls[0].ended = s.calls[2].begun + 1;
                      }},
                     {"after a holder that was replaced",
                      [](Story& s) {
                        s.zombies_allowed = true;
                        s.calls[2].epoch = 2;
                        s.calls[2].begun = s.calls[1].ended - 1;
                      }},
                     {"held back by the network", [](Story& s) {
                        s.strays_allowed = true;
                        s.repeats_allowed = 1;
                        s.add(1, 1, -1).begun = s.calls[2].ended - 1;
                      }}});
  }

  TEST_CASE("stale epochs: a call in flight may come late once") {
    check_finds("stale_epochs",
                {{"no fault", [](Story& s) { s.calls[0].epoch = s.calls[1].epoch = 2; }},
                 {"two of one epoch",
                  [](Story& s) {
                    s.zombies_allowed = true;
                    s.repeats_allowed = 1;
                    s.calls[0].epoch = 2;
                    s.add(3, 3, 2).epoch = 2;
                  }},
                 {"two after the lane was taken, though nothing was called since", [](Story& s) {
                    s.zombies_allowed = true;
                    s.claims[0] = {{1, 0}, {2, 1'005}};
                  }}});
    check_finds("", {{"one", [](Story& s) {
                        s.zombies_allowed = true;
                        s.claims[0] = {{1, 0}, {2, 1'015}};
                      }}});
  }

  TEST_CASE("unclaimed epochs: nobody gave it out, or to two") {
    check_finds("unclaimed_epochs",
                {{"nobody",
                  [](Story& s) {
                    s.claims[0] = {{2, 1'000'000}};
                  },
                  3},
                 {"no claim in this lane", [](Story& s) { s.claims.clear(); }, 3},
                 {"two",
                  [](Story& s) {
                    s.claims[0] = {{1, 0}, {1, 5}};
                  }},
                 {"backwards", [](Story& s) {
                    s.claims[0] = {{1, 0}, {3, 1'000'000}, {2, 1'000'001}};
                  }}});
  }

  TEST_CASE("cursor: it went back, was stolen, names the wrong row, or is halted") {
    check_finds("cursor_back", {{"", [](Story& s) {
                                   s.odd_moves.push_back({true, "row 1 after row 2"});
                                 }}});
    check_finds("cursor_stolen", {{"", [](Story& s) {
                                     s.odd_moves.push_back({false, "by 7, the holder is 8"});
                                   }}});
    check_finds("cursor_wrong", {{"another row", [](Story& s) { s.cursors[0].position_id = 2; }},
                                 {"another number", [](Story& s) { s.cursors[0].sequence = 2; }},
                                 {"none", [](Story& s) { s.cursors.clear(); }},
                                 {"none, and nothing accepted",
                                  [](Story& s) {
                                    s.committed.clear();
                                    s.calls.clear();
                                    s.cursors.clear();
                                  }},
                                 {"halted", [](Story& s) { s.cursors[0].state = "halted"; }}});
  }

  TEST_CASE("ledger wrong: it differs from what was delivered") {
    check_finds("ledger_wrong", {{"one is missing",
                                  [](Story& s) {
                                    s.ledger[0] = {1, 2};
                                  }},
                                 {"of another lane",
                                  [](Story& s) {
                                    s.ledger[1] = {1, 2, 3};
                                  },
                                  3},
                                 {"noted twice",
                                  [](Story& s) {
                                    s.ledger[0] = {1, 2, 3, 3};
                                  }},
                                 {"never delivered", [](Story& s) {
                                    s.ledger[0] = {1, 2, 3, 4};
                                  }}});
    check_finds("", {{"the same", [](Story& s) { s.ledger[0] = {1, 2, 3}; }}});
  }

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

  TEST_CASE("of each kind ten are shown, and all are counted") {
    Verdict verdict;
    for (int id = 1; id <= 12; ++id) verdict.lost.push_back(std::to_string(id));
    CHECK(verdict.violations() == "lost 12: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\n");
  }
}
