// A judge that never fails proves nothing: every fault it is there for is planted before it.
#include <doctest/doctest.h>

#include <algorithm>

#include "lab/judge/planted_story.hpp"

using namespace seriatim::testing;

namespace {

using Plant = PlantIn<Story>;

void check_finds(const std::string& kind, const std::vector<Plant>& plants) {
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

  TEST_CASE("of each kind ten are shown, and all are counted") {
    Verdict verdict;
    for (int id = 1; id <= 12; ++id) verdict.lost.push_back(std::to_string(id));
    CHECK(verdict.violations() == "lost 12: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …\n");
  }
}
