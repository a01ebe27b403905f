#include "app/traces/span_exporter.hpp"

#include <fstream>

#include "lab/process/free_port.hpp"
#include "support/certificates.hpp"
#include "traces/collector.hpp"

using namespace seriatim;
using namespace seriatim::app;
using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

CallSpan span_of_now() {
  CallSpan made;
  made.self = {random_trace_id(), random_span_id(), TraceParent::sampled_flag};
  made.name = "deliver p";
  made.start = std::chrono::system_clock::now();
  made.duration = 1ms;
  return made;
}

constexpr SpanExporter::Pace quick{1ms, {1ms, 2ms, 10s}};

/// An exporter, and what it says.
class Exporting {
 public:
  explicit Exporting(const std::string& url, SpanExporter::Pace pace = quick,
                     std::chrono::milliseconds timeout = 2s, const std::string& ca_file = {})
      : exporter(
            std::in_place,
            TracesConfig{
                {url, {{"x-team", "canary"}}, ca_file, timeout}, SpanRelation::child, "shop"},
            secrets_,
            [this](const LogLine& line) {
              const std::scoped_lock lock(mutex_);
              lines_.push_back(line);
            },
            pace) {}

  void offer(std::size_t spans = 1) {
    for (std::size_t i = 0; i < spans; ++i) exporter->offer(span_of_now());
  }
  void wait_for(const std::string& what, std::uint64_t SpanCounts::*count, std::uint64_t value) {
    wait_until(what, [&] { return exporter->counts().*count == value; });
  }
  std::vector<LogLine> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  static Secrets with_canary() {
    Secrets secrets;
    secrets.learn("canary-secret");
    return secrets;
  }

  const Secrets secrets_ = with_canary();
  std::mutex mutex_;
  std::vector<LogLine> lines_;

 public:
  std::optional<SpanExporter> exporter;
};

}  // namespace

TEST_SUITE("span exporter") {
  TEST_CASE("spans go out in the form of OTLP, with the configured headers") {
    const Collector collector;
    Exporting exporting(collector.url());
    exporting.offer(3);
    exporting.wait_for("all are sent", &SpanCounts::sent, 3);
    CHECK(collector.spans().size() == 3);
    CHECK(collector.service.last_request().header("x-team") == "canary");
    CHECK(collector.bytes().find(R"("service.name","value":{"stringValue":"shop"})") !=
          std::string::npos);
    CHECK(exporting.lines().empty());
  }

  TEST_CASE("a full batch goes out at once, the rest when the program ends") {
    const Collector collector;
    Exporting exporting(collector.url(), {1h, {1ms, 2ms, 10s}});
    exporting.offer(SpanExporter::batch_max + 1);
    exporting.wait_for("a batch is sent", &SpanCounts::sent, SpanExporter::batch_max);
    exporting.exporter.reset();
    CHECK(collector.spans().size() == SpanExporter::batch_max + 1);
    CHECK(collector.service.request_count() == 2);
  }

  TEST_CASE("a busy collector gets the same spans again, and one 503 is not worth a line") {
    Collector collector;
    for (const int status : {429, 502, 503, 504}) {
      CAPTURE(status);
      collector.service.forget_requests();
      collector.service.push(Reply::with_status(status));
      Exporting exporting(collector.url());
      exporting.offer();
      exporting.wait_for("it is sent", &SpanCounts::sent, 1);
      const auto requests = collector.service.requests();
      REQUIRE(requests.size() == 2);
      CHECK(requests[0].body == requests[1].body);
      CHECK(exporting.lines().empty());
    }
  }

  TEST_CASE("Retry-After is honoured") {
    Collector collector;
    auto busy = Reply::with_status(503);
    busy.headers = {{"Retry-After", "1"}};
    collector.service.push(busy);
    Exporting exporting(collector.url());
    exporting.offer();
    exporting.wait_for("it is sent", &SpanCounts::sent, 1);
    const auto requests = collector.service.requests();
    REQUIRE(requests.size() == 2);
    CHECK(requests[1].at - requests[0].at >= 900ms);  // from the answer to the next request: 1 s
  }

  TEST_CASE("a request that the collector does not want is not repeated") {
    Collector collector;
    collector.service.reply_with(Reply::with_status(401, "no such team"));
    Exporting exporting(collector.url());
    exporting.offer(2);
    exporting.wait_for("they are rejected", &SpanCounts::rejected, 2);
    exporting.offer();
    exporting.wait_for("it is rejected", &SpanCounts::rejected, 3);
    exporting.exporter.reset();
    const auto lines = exporting.lines();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].level == LogLevel::warn);
    CHECK(lines[0].message.find("takes no spans: HTTP 401: no such team") != std::string::npos);
  }

  TEST_CASE("what the collector says is redacted before it is cut") {
    Collector collector;
    collector.service.reply_with(Reply::with_status(400, std::string(190, 'x') + "canary-secret"));
    Exporting exporting(collector.url());
    exporting.offer();
    exporting.wait_for("it is rejected", &SpanCounts::rejected, 1);
    exporting.exporter.reset();
    REQUIRE(exporting.lines().size() == 1);
    CHECK(exporting.lines()[0].message.find("x***") != std::string::npos);
    CHECK(exporting.lines()[0].message.find("canary") == std::string::npos);
  }

  TEST_CASE("what a partial success rejects is counted") {
    for (const auto* rejected : {"\"2\"", "2"}) {
      CAPTURE(rejected);
      Collector collector;
      collector.service.push(
          Reply::with_status(200, std::string(R"({"partialSuccess":{"rejectedSpans":)") + rejected +
                                      R"(,"errorMessage":"too old"}})"));
      Exporting exporting(collector.url(), {1h, {1ms, 2ms, 10s}});
      exporting.offer(SpanExporter::batch_max);
      exporting.wait_for("the others are sent", &SpanCounts::sent, SpanExporter::batch_max - 2);
      CHECK(exporting.exporter->counts().rejected == 2);
      exporting.exporter.reset();
      const auto lines = exporting.lines();
      REQUIRE(lines.size() == 1);
      CHECK(lines[0].message.find("rejected 2 of 512 spans: too old") != std::string::npos);
    }
  }

  TEST_CASE("an empty partial success, or an answer that is no JSON, rejects nothing") {
    Collector collector;
    for (const auto* body : {"", "{}", R"({"partialSuccess":{}})", "[", R"({"partialSuccess":[1]})",
                             R"({"partialSuccess":{"rejectedSpans":"x"}})"}) {
      CAPTURE(body);
      collector.service.push(Reply::with_status(200, body));
      Exporting exporting(collector.url());
      exporting.offer();
      exporting.wait_for("it is sent", &SpanCounts::sent, 1);
      CHECK(exporting.lines().empty());
    }
  }

  TEST_CASE("one line says that the collector is lost, and one that it is back") {
    const auto port = static_cast<unsigned short>(free_port());
    Exporting exporting("http://127.0.0.1:" + std::to_string(port) + "/v1/traces");
    for (unsigned batch = 1; batch <= 3; ++batch) {
      exporting.offer();
      exporting.wait_for("a batch is given up", &SpanCounts::failed, batch);
    }
    REQUIRE(exporting.lines().size() == 1);
    CHECK(exporting.lines()[0].level == LogLevel::warn);
    const Collector collector({.port = port});
    exporting.offer(2);
    exporting.wait_for("they are sent", &SpanCounts::sent, 2);
    wait_until("it says so", [&] { return exporting.lines().size() == 2; });
    CHECK(exporting.lines()[1].message.ends_with("takes spans again"));
  }

  TEST_CASE(
      "a collector that never answers holds up nobody, and spans beyond the queue are dropped") {
    Collector collector;
    collector.service.reply_with(Reply::doing(Reply::Act::hang));
    Exporting exporting(collector.url());
    exporting.offer();
    REQUIRE(collector.service.wait_for_requests(1, 20s));
    exporting.offer(SpanExporter::queue_max + 100);
    CHECK(exporting.exporter->counts().dropped == 100);
    const auto began = Clock::now();
    exporting.exporter.reset();
    CHECK(Clock::now() - began < 5s);
  }

  TEST_CASE(
      "at the end a collector that is lost is not waited for longer than a request may take") {
    Collector collector;
    auto busy = Reply::with_status(503);
    busy.headers = {{"Retry-After", "60"}};
    collector.service.reply_with(busy);
    Exporting exporting(collector.url(), {1ms, {1ms, 2ms, 1min}});
    exporting.offer();
    REQUIRE(collector.service.wait_for_requests(1, 20s));
    const auto began = Clock::now();
    exporting.exporter.reset();
    CHECK(Clock::now() - began < 20s);
    CHECK(collector.service.request_count() == 1);
  }

  TEST_CASE("a collector behind TLS is trusted by ca_file only") {
    const auto certificate = self_signed({.dns_names = {}, .ip_addresses = {"127.0.0.1"}});
    const Collector collector({.certificate = certificate.certificate, .key = certificate.key});
    const TemporaryFolder folder;
    const auto file = folder.path() / "ca.pem";
    std::ofstream(file) << certificate.certificate;
    Exporting trusting(collector.url(), quick, 2s, file.string());
    trusting.offer();
    trusting.wait_for("it is sent", &SpanCounts::sent, 1);
    Exporting other(collector.url());
    other.offer();
    other.wait_for("it is given up", &SpanCounts::failed, 1);
    CHECK(collector.spans().size() == 1);
  }
}
