#include <algorithm>

#include "lab/bench/measures.hpp"
#include "lab/bench/raw_fetch.hpp"
#include "lab/bench/raw_kafka.hpp"

namespace seriatim::bench {

namespace {

constexpr std::uint64_t rows_default = 100'000;
constexpr const char* topic = "bench";

}  // namespace

void measure_kafka(Stage& stage, Report& report) {
  const auto rows = stage.settings().rows.value_or(rows_default);
  const auto order = stage.settings().orders.front();
  stage.create_events(rows);
  stage.append(rows);
  stage.settle();
  KafkaMock cluster;
  cluster.make_topic(topic);
  const std::string what =
      "a message a row, idempotent, acks=all, to librdkafka's mock of a cluster";
  stage.report(what);
  auto figure = stage.figure("kafka", what);
  figure.limit = "the slower of a bare idempotent producer and a keyset loop through libpq";
  figure.settings.emplace_back("rows", std::to_string(rows));
  figure.settings.emplace_back("order_by", to_text(order));
  for (unsigned repeat = 0; repeat < stage.settings().repeats; ++repeat) {
    stage.check_stop();
    const auto produced = raw_kafka(cluster.brokers(), topic, rows);
    const auto fetched = raw_fetch(stage, order, 0, rows);
    figure.limits.push_back(std::min(produced, fetched));
    figure.note("raw_produce_per_s", produced);
    figure.note("raw_fetch_per_s", fetched);
    auto spec = stage.spec(order);
    spec.handler = "kafka";
    spec.options = {{"brokers", cluster.brokers()}, {"topic", topic}};
    drain(stage, spec, rows, figure);
  }
  report.figures.push_back(std::move(figure));
}

}  // namespace seriatim::bench
