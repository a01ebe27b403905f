// [traces] as users run it: the program, a receiver, and a collector.
#include "cli/stage.hpp"
#include "console/probe_client.hpp"
#include "lab/process/free_port.hpp"
#include "seriatim/error.hpp"
#include "support/relay_program.hpp"
#include "traces/collector.hpp"

using namespace seriatim;
using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A relay with an http receiver, which repeats what it gets, and [console].
class TracedStage : public Stage {
 public:
  void append_traced(const std::string& traceparent) {
    database.run(R"(SELECT seriatim.append('booking', 'canary', 'booked', '{"n":"canary"}',)"
                 R"( '{"canary":"canary","traceparent":")" +
                 traceparent + R"("}'))");
  }
  void start(const std::string& traces) {
    toml_ = database_section(database.url()) +
            "[console]\nlisten = \"127.0.0.1:" + std::to_string(port_) + "\"\n" + traces +
            process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\"",
                    "backoff = { first = \"1ms\", max = \"1ms\" }");
    relay.emplace(folder, "relay", toml_);
  }
  void wait_for_metric(const std::string& line) const {
    wait_until("/metrics has the line " + line, [&] {
      try {
        return contains(console::ask("127.0.0.1", port_, "/metrics", 10s).body, '\n' + line + '\n');
      } catch (const Error&) {  // it is starting
        return false;
      }
    });
  }
  void wait_for_rows(const std::string& count) {
    wait_until(count + " rows are delivered", [&] { return sequence() == count; });
  }

  Collector collector;
  HttpService receiver;
  std::optional<RelayProgram> relay;

 private:
  unsigned short port_ = static_cast<unsigned short>(free_port());
  std::string toml_;
};

std::string section(const std::string& url, const std::string& more = {}) {
  return "[traces]\nurl = \"" + url + "\"\n" + more;
}

}  // namespace

TEST_SUITE("a relay with [traces]") {
  TEST_CASE("a call is a span, from the row's trace to the receiver's") {
    TracedStage stage;
    stage.append_traced(sampled);
    stage.append_traced(unsampled);
    stage.start(section(stage.collector.url(), "service_name = \"shop\"\n"));
    stage.wait_for_metric(R"(seriatim_spans_total{result="sent"} 1)");
    stage.wait_for_rows("2");
    const auto spans = stage.collector.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].text("name") == "deliver p");
    CHECK(spans[0].text("traceId") == row_trace);
    CHECK(spans[0].text("parentSpanId") == row_span);
    CHECK(spans[0].attribute("seriatim.outcome") == "done");
    CHECK(std::stod(spans[0].attribute("seriatim.waited_seconds")) < 3'600);
    const auto requests = stage.receiver.requests();
    REQUIRE(requests.size() == 2);
    CHECK(requests[0].header("traceparent") == spans[0].traceparent());
    CHECK(requests[1].header("traceparent") == unsampled);
    CHECK(stage.relay->stop().code == 0);
  }

  TEST_CASE("each attempt is a span, and a collector that is busy gets it again") {
    TracedStage stage;
    stage.receiver.push(Reply::with_status(503, "canary"));
    stage.collector.service.push(Reply::with_status(503));
    stage.append_traced(sampled);
    stage.start(section(stage.collector.url()));
    stage.wait_for_metric(R"(seriatim_spans_total{result="sent"} 2)");
    CHECK(stage.relay->stop().code == 0);
    const auto body = stage.collector.service.last_request().body;
    CHECK(contains(body, "retry"));
    CHECK_FALSE(contains(stage.collector.bytes(), "canary"));
    const auto spans = stage.collector.spans();
    REQUIRE(spans.size() >= 3);  // the first request counts twice
    CHECK(spans[0].is_error());
    CHECK(spans[0].attribute("seriatim.attempt") == "1");
    CHECK(spans.back().attribute("seriatim.attempt") == "2");
  }

  TEST_CASE("without the section the receiver gets the row's own header") {
    TracedStage stage;
    stage.append_traced(sampled);
    stage.start("");
    stage.wait_for_rows("1");
    CHECK(stage.receiver.last_request().header("traceparent") == sampled);
  }

  TEST_CASE("a lost collector holds up no row, is logged once, and no secret is in the log") {
    TracedStage stage;
    const auto refuse = std::to_string(free_port());
    stage.start(section("http://127.0.0.1:" + refuse + "/v1/traces?key=canary",
                        "headers = { x-team = \"canary-0123456789\" }\n"));
    for (int i = 0; i < 5; ++i) stage.append_traced(sampled);
    stage.wait_for_rows("5");
    wait_until("the loss is logged",
               [&] { return contains(stage.relay->log(), "takes no spans"); });
    CHECK(stage.relay->stop().code == 0);
    const auto log = stage.relay->log();
    CHECK(log.find("takes no spans") == log.rfind("takes no spans"));
    CHECK_FALSE(contains(log, "canary"));
  }

  TEST_CASE("a collector that never answers does not keep the program from ending") {
    TracedStage stage;
    stage.collector.service.reply_with(Reply::doing(Reply::Act::hang));
    stage.start(section(stage.collector.url()));
    stage.append_traced(sampled);
    REQUIRE(stage.collector.service.wait_for_requests(1, 30s));
    stage.append_traced(sampled);
    stage.wait_for_rows("2");
    const auto began = std::chrono::steady_clock::now();
    CHECK(stage.relay->stop().code == 0);
    CHECK(std::chrono::steady_clock::now() - began < 15s);
  }
}
