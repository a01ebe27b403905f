// Alerts as rows that several relays share.
#include <doctest/doctest.h>

#include "postgres/admin/records/records.hpp"
#include "support/postgres_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using postgres::Condition;
using postgres::Records;

namespace {

const std::vector<std::string> processes{"p", ""};
const Condition halted{"p", 0, "halted", true, "p lane 0 is halted", R"({"n":1})"};

/// Two relays, and what they see.
struct Desk {
  Records::Judged judge(Records& relay, const std::vector<Condition>& seen) const {
    return relay.judge(seen, {processes, repeat, clear, "relay"});
  }
  std::string alerts(const std::string& columns) {
    return database.value("SELECT coalesce(string_agg(concat_ws(' ', " + columns +
                          "), ', ' ORDER BY id), '') FROM seriatim.alert");
  }

  TestDatabase database;
  Records one{database.url()};
  Records other{database.url()};
  std::chrono::milliseconds repeat = 4h;
  std::chrono::milliseconds clear = 60s;
};

}  // namespace

TEST_SUITE("alert rows") {
  TEST_CASE("two relays that see the same open one alert, and the journal says so once") {
    Desk desk;
    CHECK(desk.judge(desk.one, {halted}).unsent);
    CHECK(desk.judge(desk.other, {halted}).unsent);
    CHECK(desk.alerts("process_name, lane, kind, turn") == "p 0 halted 1");
    CHECK(desk.database.value("SELECT string_agg(concat_ws(' ', lane, act, who, why), ',')"
                              " FROM seriatim.journal") ==
          "0 alert relay halted: p lane 0 is halted");
  }

  TEST_CASE("a message is one relay's for its lease, and another's after it, under one number") {
    Desk desk;
    desk.judge(desk.one, {halted});
    const auto first = desk.one.claim_message(processes, 1ms);
    REQUIRE(first);
    REQUIRE(desk.database.becomes_true("SELECT next_try_at < now() FROM seriatim.alert"));
    const auto second = desk.other.claim_message(processes, 60s);
    REQUIRE(second);
    CHECK(second->alert == first->alert);
    CHECK(second->turn == first->turn);
    CHECK(second->tries == 2);
    CHECK(second->body == R"({"n": 1})");
    CHECK_FALSE(desk.one.claim_message(processes, 60s));
    desk.other.message_accepted(*second);
    CHECK_FALSE(desk.judge(desk.one, {halted}).unsent);
    CHECK(desk.alerts("accepted, last_error") == "1");
  }

  TEST_CASE("one that was not accepted is tried again after its pause") {
    Desk desk;
    desk.judge(desk.one, {halted});
    const auto message = desk.one.claim_message(processes, 60s);
    REQUIRE(message);
    desk.one.message_failed(*message, 60s, "answered 500");
    CHECK_FALSE(desk.one.claim_message(processes, 60s));
    CHECK(desk.judge(desk.one, {halted}).unsent);
    CHECK(desk.alerts("accepted, last_error") == "0 answered 500");
    desk.one.message_failed(*message, 0ms, "answered 500");
    CHECK(desk.one.claim_message(processes, 60s));
  }

  TEST_CASE("an alert is resolved once nobody has seen it for the time set, and opens anew after") {
    Desk desk;
    desk.judge(desk.one, {halted});
    desk.one.message_accepted(*desk.one.claim_message(processes, 60s));
    CHECK(desk.judge(desk.one, {}).open);
    CHECK(desk.alerts("clear_since IS NOT NULL, resolved_at") == "t");
    desk.judge(desk.other, {halted});  // who sees it again has it begin anew
    CHECK(desk.alerts("clear_since IS NOT NULL, resolved_at") == "f");
    desk.judge(desk.one, {});
    desk.clear = 0ms;
    CHECK(desk.judge(desk.one, {}).unsent);
    const auto over = desk.other.claim_message(processes, 60s);
    REQUIRE(over);
    CHECK(over->turn == 2);
    CHECK(over->resolved_at);
    desk.other.message_accepted(*over);
    CHECK_FALSE(desk.judge(desk.one, {}).open);
    desk.judge(desk.one, {halted});
    CHECK(desk.alerts("kind, resolved_at IS NULL") == "halted f, halted t");
    CHECK(desk.database.value("SELECT string_agg(act, ',' ORDER BY id) FROM seriatim.journal") ==
          "alert,alert over,alert");
  }

  TEST_CASE("what cannot be read keeps an alert open and opens none") {
    Desk desk;
    desk.clear = 0ms;
    auto unknown = halted;
    unknown.certain = false;
    desk.judge(desk.one, {unknown});
    CHECK(desk.alerts("kind") == "");
    desk.judge(desk.one, {halted});
    desk.judge(desk.one, {unknown});
    desk.judge(desk.one, {unknown});
    CHECK(desk.alerts("clear_since IS NULL, resolved_at") == "t");
  }

  TEST_CASE("an alert that stays open is sent again after `repeat`, with what is so then") {
    Desk desk;
    desk.judge(desk.one, {halted});
    desk.one.message_accepted(*desk.one.claim_message(processes, 60s));
    auto later = halted;
    later.summary = "p lane 0 is still halted";
    desk.judge(desk.one, {later});
    CHECK(desk.alerts("turn, summary") == "1 p lane 0 is halted");
    desk.repeat = 0ms;
    CHECK(desk.judge(desk.one, {later}).unsent);
    desk.judge(desk.other, {later});  // not a third time: the second was not accepted yet
    CHECK(desk.alerts("turn, summary") == "2 p lane 0 is still halted");
  }

  TEST_CASE("an open alert that is about another row is sent at once") {
    Desk desk;
    auto seen = halted;
    seen.body = R"({"subject":"4711"})";
    desk.judge(desk.one, {seen});
    desk.one.message_accepted(*desk.one.claim_message(processes, 60s));
    CHECK_FALSE(desk.judge(desk.one, {seen}).unsent);
    seen.body = R"({"subject":"4712"})";
    CHECK(desk.judge(desk.one, {seen}).unsent);
    CHECK(desk.alerts("turn, body->>'subject'") == "2 4712");
  }

  TEST_CASE("the message that it is over waits for one that is being sent") {
    Desk desk;
    desk.clear = 0ms;
    desk.judge(desk.one, {halted});
    REQUIRE(desk.one.claim_message(processes, 60s));
    desk.judge(desk.one, {});
    desk.judge(desk.one, {});
    CHECK(desk.alerts("turn, resolved_at IS NOT NULL") == "2 t");
    CHECK_FALSE(desk.other.claim_message(processes, 60s));
  }

  TEST_CASE("alerts of another process are left alone") {
    Desk desk;
    desk.clear = 0ms;
    auto foreign = halted;
    foreign.process = "q";
    desk.one.judge({foreign}, {{"q", ""}, 4h, 0ms, "relay"});
    desk.judge(desk.other, {});
    desk.judge(desk.other, {});
    CHECK(desk.alerts("process_name, resolved_at IS NULL") == "q t");
    CHECK_FALSE(desk.other.claim_message(processes, 60s));
  }
}
