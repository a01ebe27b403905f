#include "app/traces/trace_context.hpp"

#include "app/text.hpp"

#include <set>

#include "traces/collector.hpp"

using namespace seriatim::app;
using namespace seriatim::testing;

TEST_SUITE("trace context") {
  TEST_CASE("a traceparent is read and written") {
    const auto parent = parse_traceparent("00-" + row_trace + '-' + row_span + "-01");
    REQUIRE(parent);
    CHECK(hex(parent->trace) == row_trace);
    CHECK(hex(parent->span) == row_span);
    CHECK(parent->sampled());
    CHECK(parent->text() == "00-" + row_trace + '-' + row_span + "-01");
  }

  TEST_CASE("only the flag 01 says that a trace is sampled") {
    const auto sampled = [](const std::string& flags) {
      return parse_traceparent("00-" + row_trace + '-' + row_span + '-' + flags).value().sampled();
    };
    CHECK(sampled("01"));
    CHECK(sampled("03"));
    CHECK(sampled("ff"));
    CHECK_FALSE(sampled("00"));
    CHECK_FALSE(sampled("02"));
  }

  TEST_CASE("a later version is read by the fields of version 00, and what follows is ignored") {
    CHECK(parse_traceparent("01-" + row_trace + '-' + row_span + "-01"));
    CHECK(parse_traceparent("cc-" + row_trace + '-' + row_span + "-01-what-the-future-will-be"));
    CHECK_FALSE(parse_traceparent("cc-" + row_trace + '-' + row_span + "-01.what"));
    CHECK_FALSE(parse_traceparent("00-" + row_trace + '-' + row_span + "-01-more"));
  }

  TEST_CASE("what the standard calls invalid is no traceparent") {
    const std::string zeros = "0000000000000000";
    for (const auto& text :
         {std::string(), std::string("00"), "00-" + row_trace + '-' + row_span,
          "ff-" + row_trace + '-' + row_span + "-01", "0g-" + row_trace + '-' + row_span + "-01",
          "00-" + zeros + zeros + '-' + row_span + "-01", "00-" + row_trace + '-' + zeros + "-01",
          "00-" + row_trace + '-' + row_span + "-0x",
          "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + row_span + "-01",
          "00-" + row_trace + '-' + row_span + "-0A", "00_" + row_trace + '_' + row_span + "_01",
          " 00-" + row_trace + '-' + row_span + "-01", "00-" + row_trace + '-' + row_span + "-01 ",
          "00-" + row_trace + row_span + "--01", "00-" + row_trace + '-' + row_span + "-1"}) {
      CAPTURE(text);
      CHECK_FALSE(parse_traceparent(text));
    }
  }

  TEST_CASE("ids are not repeated") {
    std::set<SpanId> spans;
    std::set<TraceId> traces;
    for (int i = 0; i < 1'000; ++i) {
      spans.insert(random_span_id());
      traces.insert(random_trace_id());
    }
    CHECK(spans.size() == 1'000);
    CHECK(traces.size() == 1'000);
  }
}
