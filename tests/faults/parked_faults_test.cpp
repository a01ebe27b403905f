// FAULTS.md 36 where rows are set aside: the relay is killed at each point of parking, queueing and
// redriving, and the next one goes on: a row is in one place, and its key in order.
#include <doctest/doctest.h>

#include <atomic>

#include "faults/crash_stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

using Ids = std::vector<std::string>;

/// Six rows of two keys, odd and even; row 2 is refused until it is fixed.
struct ParkStage : CrashStage {
  std::atomic<bool> fixed = false;

  ParkStage() : CrashStage(6, "on_poison = \"park_key\"\n", "key = \"t.id % 2\"\n") {
    receiver.reply_with([this](const ReceivedRequest& request) {
      return Reply::with_status(id_of(request) == "2" && !fixed ? 422 : 200);
    });
  }

  static std::string id_of(const ReceivedRequest& request) {
    return request.header("Idempotency-Key").value_or("p:?").substr(2);
  }
  std::string parked() {
    return database.value(
        "SELECT coalesce(string_agg(row_id, ' ' ORDER BY number), '') FROM seriatim.parked");
  }
  bool parked_becomes_empty() {
    return database.becomes_true("SELECT count(*) = 0 FROM seriatim.parked", 30);
  }
  bool audit_is_sound() {
    const auto audit = verb({"audit", "p"}, "next");
    if (audit.code != 0) MESSAGE(audit.out, audit.err);
    return audit.code == 0;
  }
  /// Ids in the order of their first calls. No row is called more than twice, nor under another
  /// number.
  [[nodiscard]] Ids first_calls() const {
    Ids ids;
    std::map<std::string, int> times;
    std::map<std::string, std::string> numbers;
    for (const auto& request : receiver.requests()) {
      const auto id = id_of(request);
      if (++times[id] == 1) ids.push_back(id);
      CHECK(times[id] <= 2);
      const auto number = request.header("Seriatim-Sequence").value_or("?");
      CHECK(numbers.try_emplace(id, number).first->second == number);
    }
    return ids;
  }
};

/// A relay that is killed there, and one that goes on with a seventh row.
void park_and_die(ParkStage& stage, const char* at) {
  auto relay = stage.start("killed", {{"SERIATIM_CRASH_AT", at}});
  CHECK(relay->wait().code == 128 + 9);
  stage.append();
  relay = stage.start("next");
  REQUIRE(stage.cursor_reaches(7));
  CHECK(relay->stop().code == 0);
}

}  // namespace

TEST_SUITE("parked rows, crash points") {
  TEST_CASE("killed while it sets rows aside: each is parked once, and none is handed over") {
    for (const char* at : {"before settle", "after settle", "before settle:2", "after settle:2",
                           "before settle:3", "after settle:3"}) {
      CAPTURE(at);
      ParkStage stage;
      park_and_die(stage, at);
      CHECK(stage.parked() == "2 4 6");
      CHECK(stage.first_calls() == Ids{"1", "2", "3", "5", "7"});
      CHECK(stage.audit_is_sound());
    }
  }

  TEST_CASE(
      "killed while it redrives: the rows of the key go out in order, under one number each") {
    for (const char* at : {"after start", "before call:2", "after call:2", "before settle",
                           "before settle:2", "after settle:2", "after settle:3"}) {
      CAPTURE(at);
      ParkStage stage;
      auto relay = stage.start("next");
      REQUIRE(stage.cursor_reaches(6));
      relay->stop();
      stage.receiver.forget_requests();
      stage.fixed = true;
      CHECK(stage.verb({"parked", "redrive", "p", "--all"}, "next").code == 0);
      stage.append(2);
      relay = stage.start("killed", {{"SERIATIM_CRASH_AT", at}});
      CHECK(relay->wait().code == 128 + 9);
      relay = stage.start("next");
      REQUIRE(stage.cursor_reaches(11));
      REQUIRE(stage.parked_becomes_empty());
      CHECK(relay->stop().code == 0);
      CHECK(stage.first_calls() == Ids{"2", "4", "6", "7", "8"});
      CHECK(stage.audit_is_sound());
    }
  }

  TEST_CASE("a program killed in the middle of an act on parked rows has done nothing") {
    ParkStage stage;
    const auto relay = stage.start("relay");
    REQUIRE(stage.cursor_reaches(6));
    CHECK(relay->stop().code == 0);
    const auto before = stage.cursor_and_journal();
    for (const auto* act : {"redrive", "discard"}) {
      for (const char* at : {"before act", "during act"}) {
        CAPTURE(act);
        CAPTURE(at);
        const auto ended = stage.verb({"parked", act, "p", "--all", "--reason", "r"}, "relay",
                                      {{"SERIATIM_CRASH_AT", at}});
        CHECK(ended.code == 128 + 9);
        CHECK(stage.cursor_and_journal() == before);
        CHECK(stage.parked() == "2 4 6");
        CHECK(stage.database.value(
                  "SELECT count(*) FROM seriatim.parked WHERE redrive_at IS NOT NULL") == "0");
      }
    }
  }
}
