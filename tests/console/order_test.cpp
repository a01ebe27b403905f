// Bodies of acts: what is taken, and what is refused with what to do.
#include "console/order.hpp"

#include <doctest/doctest.h>

using namespace seriatim::console;

namespace {

/// "what; what to do", or the act if the body is sound.
std::string verdict(const std::string& body) {
  try {
    return order_of("orders", body).act;
  } catch (const Refused& error) {
    return std::string(error.what()) + "; " + error.remedy;
  }
}

}  // namespace

TEST_SUITE("orders") {
  TEST_CASE("all that a person saw and said is taken over") {
    const auto order = order_of(
        "orders",
        R"({"act":"skip","row":"4711","reason":"gone","preview":true,"lane":null,"expect":{"lane":3,"epoch":18446744073709551615,"state":"halted","row":"4711","attempts":2,"count":17,"plan":"h"}})");
    CHECK(order.process == "orders");
    CHECK(order.row == "4711");
    CHECK_FALSE(order.lane);
    CHECK(order.reason == "gone");
    CHECK(order.preview);
    CHECK(order.seen.lane == 3U);
    CHECK(order.seen.epoch == 18446744073709551615ULL);
    CHECK(order.seen.state == "halted");
    CHECK(order.seen.row == "4711");
    CHECK(order.seen.attempts == 2U);
    CHECK(order.seen.count == 17U);
    CHECK(order.seen.plan == "h");
  }

  TEST_CASE("light acts need no reason and may name a lane") {
    CHECK(verdict(R"({"act":"retry"})") == "retry");
    CHECK(order_of("p", R"({"act":"pause","lane":1023})").lane == 1023U);
  }

  TEST_CASE("what sets rows aside names one thing, and why") {
    CHECK(verdict(R"({"act":"skip","reason":"r"})") ==
          "skip needs exactly one of row; name what it is about");
    CHECK(verdict(R"({"act":"skip","row":"1"})") ==
          "reason is missing; say why: the journal keeps it");
    CHECK(verdict(R"({"act":"skip","row":"1","reason":" \n"})") ==
          "reason is missing; say why: the journal keeps it");
    CHECK(verdict(R"({"act":"redrive","row":"1","key":"k","reason":"r"})") ==
          "redrive needs exactly one of row, key and all; name what it is about");
    CHECK(verdict(R"({"act":"redrive","all":true,"reason":"r"})") == "redrive");
    CHECK(verdict(R"({"act":"discard","key":"","reason":"r"})") == "discard");
    CHECK(verdict(R"({"act":"discard","all":false,"reason":"r"})").starts_with("discard needs"));
    CHECK(verdict(R"({"act":"skip","row":"1","preview":true})") == "skip");
  }

  TEST_CASE("wide acts need the plan that was previewed and the name typed") {
    const std::string discard = R"({"act":"discard","all":true,"reason":"r")";
    CHECK(verdict(discard + "}") ==
          "expect.plan is missing; ask for a preview, and send the plan it answers");
    CHECK(verdict(discard + R"(,"expect":{"plan":"h"}})") ==
          "confirm is not the name of the process; send orders");
    CHECK(verdict(discard + R"(,"expect":{"plan":"h"},"confirm":"Orders"})")
              .starts_with("confirm is not"));
    CHECK(verdict(discard + R"(,"expect":{"plan":"h"},"confirm":"orders"})") == "discard");
    CHECK(verdict(R"({"act":"rewind","reason":"r"})").starts_with("place is missing"));
    CHECK(verdict(R"({"act":"rewind","place":"17","reason":"r"})").starts_with("expect.plan"));
    CHECK(verdict(R"({"act":"rewind","place":"17","preview":true})") == "rewind");
  }

  TEST_CASE("what is wrong is named with its place") {
    for (const char* none : {"", "[]", "\"retry\"", "{\"act\":\"retry\"", "nonsense"}) {
      CHECK(verdict(none).starts_with("the body is no JSON object; "));
    }
    CHECK(verdict(R"({"act":"drop"})") ==
          "act is none of ours: \"drop\"; send retry, pause, resume, skip, redrive, discard or "
          "rewind");
    CHECK(verdict("{}").starts_with("act is none of ours"));
    CHECK(verdict(R"({"act":"retry","lan":0})") == "lan is not known here; leave it out");
    CHECK(verdict(R"({"act":"retry","expect":{"epok":1}})") ==
          "expect.epok is not known here; leave it out");
    CHECK(verdict(R"({"act":"retry","expect":[]})").starts_with("expect is no object"));
    for (const char* lane : {"-1", "1.5", "\"1\"", "4294967296", "true", "1e99"}) {
      CHECK(verdict(std::string(R"({"act":"retry","lane":)") + lane + '}') ==
            "lane is no whole number from 0; send it without quotes");
    }
    CHECK(verdict(R"({"act":"skip","row":4711,"reason":"r"})") ==
          "row is no text; put it in quotes");
    CHECK(verdict(R"({"act":"skip","row":"a\u0000b","reason":"r"})") ==
          "row holds a NUL; remove it");
    CHECK(verdict(R"({"act":"retry","preview":"yes"})").starts_with("preview is neither"));
    CHECK(verdict(R"({"act":"skip","row":"1","lane":0,"reason":"r"})") ==
          "lane does not belong to skip; leave it out");
    CHECK(verdict(R"({"act":"retry","row":"1"})") == "row does not belong to retry; leave it out");
    CHECK(verdict(R"({"act":"skip","row":"1","reason":")" + std::string(2001, 'x') + "\"}") ==
          "reason has more than 2000 bytes; be brief");
  }

  TEST_CASE("a reveal names a row, and nothing that is not known") {
    const auto glance = glance_of(R"({"row":"4711","reason":"a complaint"})");
    CHECK(glance.row == "4711");
    CHECK(glance.reason == "a complaint");
    CHECK(glance_of(R"({"row":"1","reason":null})").reason.empty());
    for (const auto& body : {std::string("[]"), std::string("{}"), std::string(R"({"row":4711})"),
                             std::string(R"({"row":"1","payload":true})"),
                             R"({"row":"1","reason":")" + std::string(2'001, 'x') + "\"}"}) {
      CAPTURE(body);
      CHECK_THROWS_AS(static_cast<void>(glance_of(body)), Refused);
    }
  }
}
