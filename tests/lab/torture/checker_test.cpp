// A checker that never fails proves nothing: every defect it is there for is shown to it.
#include "lab/torture/checker.hpp"

#include <doctest/doctest.h>

using namespace seriatim::torture;

namespace {

/// Rows 1, 2, 3 … of one lane, delivered one after another by one holder.
class Story {
 public:
  Story() {
    for (const std::int64_t id : {1, 2, 3}) {
      evidence.committed.push_back({id, id * 10, body(id), "key"});
    }
    evidence.stream = "p";
    evidence.claims[0] = {{1, 0}, {2, 1'000'000}};
    evidence.cursors[0] = {3, 3, 1, "running", ""};
  }

  static std::uint64_t body(std::int64_t id) { return hash_of("body " + std::to_string(id)); }

  /// The next call; as it should be, but for what the test changes of it.
  Call& call(std::int64_t id, std::uint64_t sequence, std::uint64_t epoch = 1) {
    Call call;
    call.id = id;
    call.sequence = sequence;
    call.epoch = epoch;
    call.previous_id = id > 1 ? id - 1 : -1;
    call.attempt = 1;
    call.body = body(id);
    call.begun = now_;
    call.ended = now_ + 5;
    call.accepted = true;
    now_ += 10;
    evidence.calls.push_back(call);
    return evidence.calls.back();
  }
  void all_three() {
    for (const int id : {1, 2, 3}) call(id, static_cast<std::uint64_t>(id));
  }
  [[nodiscard]] Verdict verdict() const { return judge(evidence); }

  Evidence evidence;

 private:
  std::int64_t now_ = 1'000;
};

/// Exactly this kind was found, so often, and nothing else.
void check_only(const Verdict& verdict, const std::string& kind, std::size_t count = 1) {
  CAPTURE(verdict.violations());
  CHECK_FALSE(verdict.clean());
  for (const auto& [name, found] : verdict.kinds()) {
    const auto& shown = name;
    CAPTURE(shown);
    CHECK(found->size() == (name == kind ? count : 0));
  }
}

}  // namespace

TEST_SUITE("the checker") {
  TEST_CASE("accepts what is complete and in order") {
    Story story;
    story.all_three();
    const auto verdict = story.verdict();
    CHECK_MESSAGE(verdict.clean(), verdict.violations());
    CHECK(verdict.committed == 3);
    CHECK(verdict.delivered == 3);
    CHECK(verdict.repeated == 0);
    CHECK(verdict.late_calls == 0);
  }

  TEST_CASE("sees a row lost at the end, also where the cursor passed it") {
    Story story;
    story.call(1, 1);
    story.call(2, 2);
    story.evidence.cursors[0] = {2, 2, 1, "running", ""};
    check_only(story.verdict(), "lost");
  }

  TEST_CASE("sees a row lost in the middle") {
    Story story;
    story.call(1, 1);
    story.call(3, 2).previous_id = 1;
    story.evidence.cursors[0] = {3, 2, 1, "running", ""};
    check_only(story.verdict(), "lost");
  }

  TEST_CASE("sees rows that overtook each other") {
    Story story;
    story.call(1, 1);
    story.call(3, 2).previous_id = 1;
    story.call(2, 3).previous_id = 3;
    story.evidence.cursors[0] = {2, 3, 1, "running", ""};
    check_only(story.verdict(), "reordered");
  }

  TEST_CASE("sees a row that was never committed, or that a crash undid") {
    Story story;
    story.all_three();
    story.call(4, 4);
    story.evidence.cursors[0] = {4, 4, 1, "running", ""};
    check_only(story.verdict(), "phantoms");
  }

  TEST_CASE("sees other bytes than are committed") {  // an id drawn again after a crash
    Story story;
    story.all_three();
    story.evidence.calls[1].body = hash_of("else");
    check_only(story.verdict(), "altered");
  }

  TEST_CASE("counts repeats, and sees those no fault can have caused") {
    Story story;
    story.call(1, 1);
    story.call(1, 1).attempt = 2;
    story.call(2, 2);
    story.call(3, 3);
    check_only(story.verdict(), "repeated_beyond_bound");
    story.evidence.repeats_allowed = 1;
    CHECK(story.verdict().clean());
    CHECK(story.verdict().repeated == 1);
  }

  TEST_CASE("sees a repeat with another sequence, other bytes or in another lane") {
    for (const int what : {0, 1, 2}) {
      Story story;
      story.evidence.repeats_allowed = 1;
      story.call(1, 1);
      auto& again = story.call(1, 1);
      if (what == 0) again.sequence = 2;
      if (what == 1) again.body = 0;
      if (what == 2) again.previous_id = 7;
      story.call(2, 2);
      story.call(3, 3);
      check_only(story.verdict(), "inconsistent");
    }
    Story story;
    story.all_three();
    story.evidence.calls[2].lane = 1;
    story.evidence.calls[2].sequence = 1;
    story.evidence.calls[2].previous_id = -1;
    story.evidence.claims[1] = {{1, 0}};
    story.evidence.cursors[0] = {2, 2, 1, "running", ""};
    story.evidence.cursors[1] = {3, 1, 1, "running", ""};
    CHECK(story.verdict().clean());
    story.evidence.one_lane_a_key = true;
    check_only(story.verdict(), "inconsistent");
  }

  TEST_CASE("sees a row that overtook a failure") {
    Story story;
    story.call(1, 1);
    story.call(2, 2).accepted = false;
    story.call(3, 3).accepted = false;
    story.call(2, 2).attempt = 2;
    story.call(3, 3).attempt = 2;
    check_only(story.verdict(), "overtaken");
  }

  TEST_CASE("sees a hole in the sequence, and a wrong previous id") {
    Story story;
    story.all_three();
    story.evidence.calls[2].sequence = 4;
    story.evidence.cursors[0].sequence = 4;
    check_only(story.verdict(), "sequence_holes");
    story.evidence.calls[2].sequence = 3;
    story.evidence.cursors[0].sequence = 3;
    story.evidence.calls[2].previous_id = 1;
    check_only(story.verdict(), "sequence_holes");
  }

  TEST_CASE("sees calls of one holder at the same time, and knows a call given up from them") {
    Story story;
    story.all_three();
    story.evidence.calls[1].begun = story.evidence.calls[0].ended - 1;
    check_only(story.verdict(), "overlapping");

    Story retry;
    retry.call(1, 1).accepted = false;
    retry.all_three();
    retry.evidence.calls[1].attempt = 2;
    retry.evidence.calls[1].begun = retry.evidence.calls[0].ended - 1;
    CHECK(retry.verdict().clean());
  }

  TEST_CASE("a call in hand may come late once; a second one of that epoch is stale") {
    Story story;
    story.evidence.repeats_allowed = 2;
    story.call(1, 1, 1);
    story.call(2, 2, 2);
    story.call(2, 2, 1);
    story.call(3, 3, 2);
    check_only(story.verdict(), "stale_epochs");  // without faults none may
    story.evidence.zombies_allowed = true;
    CHECK(story.verdict().clean());
    CHECK(story.verdict().late_calls == 1);
    story.call(3, 3, 1);
    check_only(story.verdict(), "stale_epochs");
  }

  TEST_CASE("a call begun after another took the lane is late, though nothing was called since") {
    Story story;
    story.evidence.zombies_allowed = true;
    story.evidence.claims[0] = {{1, 0}, {2, 1'005}};
    story.call(1, 1, 1);
    story.call(2, 2, 1);
    CHECK(story.verdict().late_calls == 1);
    story.call(3, 3, 1);
    check_only(story.verdict(), "stale_epochs");
  }

  TEST_CASE("sees an epoch nobody gave out, and one given out twice") {
    Story story;
    story.all_three();
    story.evidence.claims[0] = {{2, 1'000'000}};
    check_only(story.verdict(), "unclaimed_epochs", 3);
    story.evidence.claims[0] = {{1, 0}, {1, 5}};
    check_only(story.verdict(), "unclaimed_epochs");
  }

  TEST_CASE("sees a cursor that went back, was stolen, lies at the end, or is halted") {
    Story story;
    story.all_three();
    story.evidence.steps_back.emplace_back("row 1 after row 2");
    check_only(story.verdict(), "cursor_back");
    story.evidence.steps_back.clear();
    story.evidence.steps_by_strangers.emplace_back("row 3 by backend 7, the holder's is 8");
    check_only(story.verdict(), "cursor_stolen");
    story.evidence.steps_by_strangers.clear();
    story.evidence.cursors[0].position_id = 2;
    check_only(story.verdict(), "cursor_wrong");
    story.evidence.cursors[0] = {3, 3, 1, "halted", "LATE_ROW"};
    check_only(story.verdict(), "cursor_wrong");
  }

  TEST_CASE("sees a ledger that says other than what was delivered") {
    Story story;
    story.all_three();
    story.evidence.ledger[0] = {1, 2, 3};
    CHECK(story.verdict().clean());
    story.evidence.ledger[0] = {1, 2};
    check_only(story.verdict(), "ledger_wrong");
    story.evidence.ledger[0] = {1, 2, 3, 3, 4};
    check_only(story.verdict(), "ledger_wrong", 2);
  }
}
