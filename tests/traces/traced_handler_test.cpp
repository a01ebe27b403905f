#include "app/traces/traced_handler.hpp"

#include <stdexcept>

#include "support/handler_calls.hpp"
#include "traces/collector.hpp"

using namespace seriatim;
using namespace seriatim::app;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

Record row(const std::string& traceparent, std::uint64_t sequence = 42) {
  auto record = make_record("canary-payload", std::to_string(4'000 + sequence));
  record.key = "canary-key";
  record.event_type = "canary-type";
  record.sequence = sequence;
  record.headers = {{"canary", "canary-header"}, {"tracestate", "canary=1"}};
  if (!traceparent.empty()) record.headers.emplace_back("Traceparent", traceparent);
  return record;
}

std::string header(const Record& record, const std::string& name) {
  for (const auto& [key, value] : record.headers) {
    if (key == name) return value;
  }
  return "";
}

/// Takes batches, and keeps what it was given.
class BatchHandler final : public Handler {
 public:
  BatchHandler(std::vector<Record>& got, BatchOutcome answer)
      : got_(got), answer_(std::move(answer)) {}
  BatchOutcome handle(std::span<const Record> batch, const CallContext& /*context*/) override {
    got_.insert(got_.end(), batch.begin(), batch.end());
    return answer_;
  }

 private:
  std::vector<Record>& got_;
  BatchOutcome answer_;
};

/// A handler of lane 2 in its wrapper, and the collector that its spans go to.
class Traced {
 public:
  explicit Traced(std::string kind = "http", SpanRelation relation = SpanRelation::child)
      : kind_(std::move(kind)), relation_(relation) {}

  std::unique_ptr<Handler> wrap(HandlerFactory factory) {
    return traced(std::move(factory), {"bookings", kind_, relation_}, *exporter_)(2);
  }
  /// Gives every row to a handler of single rows, which answers so.
  BatchOutcome give(const std::vector<Record>& rows,
                    const std::function<Outcome()>& answer = &Outcome::done) {
    return wrap(handler_from([&](const Record& record) {
             got.push_back(record);
             return answer();
           }))
        ->handle(rows, call_within(10s));
  }
  BatchOutcome give_batch(const std::vector<Record>& rows, BatchOutcome answer) {
    return wrap([&](unsigned) { return std::make_unique<BatchHandler>(got, answer); })
        ->handle(rows, call_within(10s));
  }
  /// After the exporter has sent everything.
  std::vector<SeenSpan> spans() {
    exporter_.reset();
    CHECK(collector.bytes().find("canary") == std::string::npos);
    return collector.spans();
  }

  Collector collector;
  std::vector<Record> got;

 private:
  std::string kind_;
  SpanRelation relation_;
  const Secrets secrets_;
  std::optional<SpanExporter> exporter_{std::in_place,
                                        TracesConfig{{collector.url()}, relation_, "seriatim"},
                                        secrets_, [](const LogLine&) {}};
};

}  // namespace

TEST_SUITE("traced handler") {
  TEST_CASE("a traced handler is called in the thread that its own handler names") {
    struct Thread final : CallThread {
      void run(std::function<void()>) override {}
    };
    struct Named final : RecordHandler {
      Outcome handle_record(const Record&, const CallContext&) override { return Outcome::done(); }
      std::unique_ptr<CallThread> make_call_thread() override { return std::make_unique<Thread>(); }
    };
    Traced stage;
    CHECK(stage.wrap([](unsigned) { return std::make_unique<Named>(); })->make_call_thread());
    CHECK_FALSE(stage.wrap(handler_from([](const Record&) { return Outcome::done(); }))
                    ->make_call_thread());
  }

  TEST_CASE("the call of one row is a child of the row's span, and the receiver's parent") {
    Traced traced;
    CHECK(traced.give({row(sampled)}).done == 1);
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].text("name") == "deliver bookings");
    CHECK(spans[0].text("traceId") == row_trace);
    CHECK(spans[0].text("parentSpanId") == row_span);
    CHECK(spans[0].links().empty());
    CHECK(spans[0].number("kind") == 3);
    CHECK(spans[0].number("flags") == 0x301);
    CHECK_FALSE(spans[0].is_error());
    CHECK(spans[0].attribute("seriatim.process") == "bookings");
    CHECK(spans[0].attribute("seriatim.lane") == "2");
    CHECK(spans[0].attribute("seriatim.row.id") == "4042");
    CHECK(spans[0].attribute("seriatim.sequence") == "42");
    CHECK(spans[0].attribute("seriatim.attempt") == "1");
    CHECK(spans[0].attribute("seriatim.epoch") == "3");
    CHECK(spans[0].attribute("seriatim.outcome") == "done");
    CHECK(std::stod(spans[0].attribute("seriatim.waited_seconds")) > 1e6);
    CHECK(spans[0].attribute("messaging.system") == "");
    CHECK(spans[0].text("startTimeUnixNano") <= spans[0].text("endTimeUnixNano"));
    REQUIRE(traced.got.size() == 1);
    CHECK(header(traced.got[0], "Traceparent") == spans[0].traceparent());
    CHECK(header(traced.got[0], "tracestate") == "canary=1");
    CHECK(traced.got[0].payload == "canary-payload");
  }

  TEST_CASE("with relation = link the call has a trace of its own, with a link") {
    Traced traced("http", SpanRelation::link);
    traced.give({row(sampled)});
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].text("traceId") != row_trace);
    CHECK(spans[0].text("parentSpanId") == "");
    CHECK(spans[0].links() == std::vector{row_trace + '-' + row_span});
    CHECK(spans[0].number("flags") == 0x101);
    CHECK(header(traced.got.at(0), "Traceparent") == spans[0].traceparent());
  }

  TEST_CASE("a row that is not sampled, or has no valid traceparent, makes no span") {
    Traced traced;
    auto twice = row(sampled);
    twice.headers.emplace_back("traceparent", sampled);
    const std::vector rows{row(unsampled), row(""), row("00-4bf9"), row("ff" + sampled.substr(2)),
                           twice};
    CHECK(traced.give(rows).done == rows.size());
    CHECK(traced.spans().empty());
    REQUIRE(traced.got.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(traced.got[i].headers == rows[i].headers);
  }

  TEST_CASE("a handler of single rows has a span for each row of a batch") {
    Traced traced;
    CHECK(traced.give({row(sampled, 1), row(unsampled, 2), row(sampled, 3)}).done == 3);
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 2);
    CHECK(spans[0].attribute("seriatim.sequence") == "1");
    CHECK(spans[1].attribute("seriatim.sequence") == "3");
    CHECK(header(traced.got.at(0), "Traceparent") == spans[0].traceparent());
    CHECK(header(traced.got.at(1), "Traceparent") == unsampled);
    CHECK(header(traced.got.at(2), "Traceparent") == spans[1].traceparent());
  }

  TEST_CASE("rows after the first wait if a stop is requested, as without traces") {
    Traced traced;
    std::stop_source stop;
    auto context = call_within(10s);
    context.stop = stop.get_token();
    const std::vector rows{row(sampled, 1), row(sampled, 2), row(sampled, 3)};
    const auto handler = traced.wrap(handler_from([&](const Record& record) {
      if (record.sequence == 2) stop.request_stop();
      return Outcome::done();
    }));
    const auto answer = handler->handle(rows, context);
    CHECK(answer.done == 2);
    CHECK_FALSE(answer.next);
    CHECK(handler->handle(std::span(rows).first(1), context).done == 1);
    CHECK(traced.spans().size() == 3);
  }

  TEST_CASE("a failure ends the batch, and its span is an error without the receiver's text") {
    Traced traced;
    unsigned calls = 0;
    const auto answer = traced.give({row(sampled, 1), row(sampled, 2), row(sampled, 3)}, [&] {
      return ++calls < 2 ? Outcome::done() : Outcome::poison("HTTP 422: canary");
    });
    CHECK(answer.done == 1);
    REQUIRE(answer.next);
    CHECK(answer.next->reason == "HTTP 422: canary");
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 2);
    CHECK_FALSE(spans[0].is_error());
    CHECK(spans[1].is_error());
    CHECK(spans[1].attribute("seriatim.outcome") == "poison");
    CHECK(spans[1].attribute("error.type") == "poison");
  }

  TEST_CASE("what a handler throws goes on, and counts as retry") {
    Traced traced;
    CHECK_THROWS_WITH(
        traced.give({row(sampled)}, []() -> Outcome { throw std::runtime_error("canary"); }),
        "canary");
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].is_error());
    CHECK(spans[0].attribute("error.type") == "retry");
  }

  TEST_CASE("a batch has a trace of its own, with a link to each sampled trace once") {
    Traced traced("kafka");
    const auto other = "00-" + row_trace + "-00f067aa0ba902b8-01";
    const std::vector rows{row(unsampled, 1), row(sampled, 2), row(other, 3), row(sampled, 4),
                           row("", 5)};
    const auto answer = traced.give_batch(rows, {2, Outcome::unknown("canary")});
    CHECK(answer.done == 2);
    REQUIRE(answer.next);
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].text("traceId") != row_trace);
    CHECK(spans[0].text("parentSpanId") == "");
    CHECK(spans[0].links() ==
          std::vector{row_trace + '-' + row_span, row_trace + "-00f067aa0ba902b8"});
    CHECK(spans[0].number("kind") == 4);
    CHECK(spans[0].is_error());
    CHECK(spans[0].attribute("messaging.system") == "kafka");
    CHECK(spans[0].attribute("messaging.operation.type") == "send");
    CHECK(spans[0].attribute("messaging.batch.message_count") == "5");
    CHECK(spans[0].attribute("seriatim.rows") == "5");
    CHECK(spans[0].attribute("seriatim.rows_done") == "2");
    CHECK(spans[0].attribute("seriatim.outcome") == "unknown");
    for (std::size_t i = 0; i < rows.size(); ++i)
      CHECK(traced.got.at(i).headers == rows[i].headers);
  }

  TEST_CASE("a batch has 128 links at most, and counts the others") {
    Traced traced("redis");
    std::vector<Record> rows;
    for (std::uint64_t i = 0; i < 150; ++i) {
      rows.push_back(
          row("00-" + row_trace + "-00f067aa0ba90" + std::to_string(100 + i) + "-01", i));
    }
    traced.give_batch(rows, {rows.size(), std::nullopt});
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].links().size() == 128);
    CHECK(spans[0].number("droppedLinksCount") == 22);
    CHECK_FALSE(spans[0].is_error());
  }

  TEST_CASE("a batch without a sampled row makes no span; one of a single row is a child") {
    Traced traced("nats");
    traced.give_batch({row(unsampled, 1), row("", 2)}, {2, std::nullopt});
    traced.give_batch({row(sampled, 3)}, {0, std::nullopt});
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].text("parentSpanId") == row_span);
    CHECK(spans[0].attribute("seriatim.outcome") == "yielded");
    CHECK(header(traced.got.at(2), "Traceparent") == spans[0].traceparent());
  }

  TEST_CASE("an id that is no UTF-8 does not spoil the request") {
    Traced traced;
    auto record = row(sampled);
    record.position.id = "caf\xe9\n";
    traced.give({record});
    const auto spans = traced.spans();
    REQUIRE(spans.size() == 1);
    CHECK(spans[0].attribute("seriatim.row.id") == "caf\\xe9\\n");
  }
}
