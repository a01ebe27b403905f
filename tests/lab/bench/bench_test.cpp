// `seriatim bench` as users run it, with few rows: what it says, and that it leaves nothing behind.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "support/postgres_fixture.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

std::vector<std::string> command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {SERIATIM_PROGRAM, "bench"});
  return arguments;
}

Ended bench(const std::vector<std::string>& arguments) {
  return Process(command(arguments)).wait(4min);
}

/// On the shared server, a row at a time small.
boost::json::array figures_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--database", shared_server().url(), "--json"});
  const auto ended = bench(arguments);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const auto report = boost::json::parse(ended.out).as_object();
  CHECK(report.at("bench") == boost::json::value(arguments.front()));
  CHECK_FALSE(report.at("interrupted").as_bool());
  return report.at("figures").as_array();
}

double number(const boost::json::value& figure, const char* key) {
  return figure.at(key).to_number<double>();
}

double measured(const boost::json::value& figure, const char* key) {
  return figure.at("measured").at(key).at("median").to_number<double>();
}

/// A rate between its least and most, next to a limit.
void check_rate(const boost::json::value& figure, int repeats) {
  CAPTURE(figure.at("name").as_string());
  CHECK(number(figure, "repeats") == repeats);
  CHECK(number(figure, "min") > 0);
  CHECK(number(figure, "min") <= number(figure, "rows_per_s"));
  CHECK(number(figure, "rows_per_s") <= number(figure, "max"));
  CHECK(number(figure, "limit_rows_per_s") > 0);
  CHECK(number(figure, "ratio") > 0);
  CHECK(number(figure, "ratio_min") <= number(figure, "ratio_max"));
  CHECK(measured(figure, "relay_cpu_s_per_100k_rows") > 0);
  CHECK(measured(figure, "relay_rss_mb") > 1);
  CHECK(figure.at("settings").as_object().contains("batch_rows"));
}

std::string databases_of_bench() {
  SqlSession session(shared_server().url());
  return session.value(
      "SELECT count(*) FROM pg_database WHERE starts_with(datname, 'seriatim_bench')");
}

}  // namespace

TEST_SUITE("bench") {
  TEST_CASE("null reports both orders, each next to a bare fetch, and leaves no database behind") {
    const auto figures = figures_of({"null", "--rows", "200", "--batch", "10", "--repeats", "3"});
    REQUIRE(figures.size() == 2);
    CHECK(figures[0].at("name") == "null.id");
    CHECK(figures[1].at("name") == "null.created_at");
    for (const auto& figure : figures) {
      check_rate(figure, 3);
      CHECK(measured(figure, "fence_read_us") > 0);
    }
    CHECK(databases_of_bench() == "0");
  }

  TEST_CASE("null goes on behind delivered rows, on partitions, with idle connections") {
    const auto figures =
        figures_of({"null", "--rows", "60", "--batch", "10", "--repeats", "2", "--order", "id",
                    "--delivered", "50", "--partitions", "3", "--connections", "4"});
    REQUIRE(figures.size() == 1);
    check_rate(figures[0], 2);
    const auto& settings = figures[0].at("settings").as_object();
    CHECK(settings.at("rows_delivered_before") == "50");
    CHECK(settings.at("partitions") == "3");
    CHECK(settings.at("idle_connections") == "4");
    CHECK(std::stoi(settings.at("max_connections").as_string().c_str()) > 4);
    CHECK(settings.at("rows") == "60");
  }

  TEST_CASE("http reports a commit a row and a commit a hundred rows") {
    const auto figures = figures_of({"http", "--rows", "100", "--repeats", "1"});
    REQUIRE(figures.size() == 2);
    CHECK(figures[0].at("settings").at("commit_every") == "1");
    CHECK(figures[1].at("settings").at("commit_every") == "100");
    for (const auto& figure : figures) check_rate(figure, 1);
    CHECK(measured(figures[0], "raw_posts_per_s") > 0);
    CHECK(measured(figures[0], "raw_commits_per_s") > 0);
  }

  TEST_CASE("sql fills a read model next to INSERT … SELECT") {
    const auto figures = figures_of({"sql", "--rows", "100", "--batch", "10", "--repeats", "2"});
    REQUIRE(figures.size() == 1);
    check_rate(figures[0], 2);
  }

  TEST_CASE("kafka is measured next to the slower of a bare producer and a bare fetch") {
    if (bench({"--help"}).out.find("| kafka") == std::string::npos) {
      SKIP_TEST("this program was built without librdkafka");
    }
    const auto figures = figures_of({"kafka", "--rows", "200", "--batch", "10", "--repeats", "1"});
    REQUIRE(figures.size() == 1);
    check_rate(figures[0], 1);
    const auto limit = std::min(measured(figures[0], "raw_produce_per_s"),
                                measured(figures[0], "raw_fetch_per_s"));
    CHECK(number(figures[0], "limit_rows_per_s") == doctest::Approx(limit));
  }

  TEST_CASE("latency reports p50 and p99, and with long writers what comes on top of their age") {
    const auto figures =
        figures_of({"latency", "--seconds", "1", "--repeats", "2", "--order", "id"});
    REQUIRE(figures.size() == 4);
    for (const auto& figure : figures) {
      CAPTURE(figure.at("name").as_string());
      CHECK(number(figure, "repeats") == 2);
      CHECK(number(figure, "rows_per_s") > 0);
      CHECK(figure.at("ratio").is_null());
      CHECK(measured(figure, "p50_ms") <= measured(figure, "p99_ms"));
    }
    // A row is visible before its writer hears so: on a busy machine a wait may be just below 0.
    for (const auto* limit : {"bare_p50_ms", "bare_durable_p50_ms"}) {
      CHECK(measured(figures[1], limit) > -10);
      CHECK(measured(figures[1], limit) != 0);
      CHECK(measured(figures[1], limit) < measured(figures[1], "p99_ms"));
    }
    CHECK(figures[0].at("settings").at("inserts_per_s") == "100");
    CHECK(figures[2].at("settings").at("listen") == "false");
    CHECK(measured(figures[3], "over_oldest_writer_p50_ms") <
          measured(figures[3], "p50_ms"));  // some of it was the writers' age
  }

  TEST_CASE("idle counts statements on a private server, processor time and memory anywhere") {
    const auto ended =
        bench({"idle", "--seconds", "1", "--repeats", "1", "--max-connections", "180", "--json"});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    const auto report = boost::json::parse(ended.out);
    const auto& figures = report.at("figures").as_array();
    REQUIRE(figures.size() == 3);
    CHECK(figures[2].at("settings").at("lanes") == "64");
    CHECK(figures[2].at("settings").at("max_connections") == "180");
    CHECK(measured(figures[1], "statements_per_s_per_lane") > 0);
    for (const auto& figure : figures) {
      CHECK(measured(figure, "relay_cpu_percent_per_lane") >= 0);
      CHECK(measured(figure, "relay_rss_mb") > 1);
    }
    CHECK(measured(figures[2], "rss_mb_per_further_lane") > 0);
  }

  TEST_CASE("without --database a private server is used, and people get a text") {
    const auto ended = bench({"null", "--rows", "30", "--batch", "10", "--repeats", "1"});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CHECK(ended.err.find("starting a private server") != std::string::npos);
    for (const char* part : {"null.id: ", "rows a second", "limit", "ratio", "libpq"}) {
      CAPTURE(part);
      CHECK(ended.out.find(part) != std::string::npos);
    }
  }

  TEST_CASE("one commit for all rows gives no rate: refused, with what to do") {
    const auto ended = bench({"null", "--rows", "50", "--database", shared_server().url()});
    CHECK(ended.code == 1);
    CHECK(ended.err.find("give --rows more than --batch") != std::string::npos);
    CHECK(databases_of_bench() == "0");
  }

  TEST_CASE("Ctrl-C ends a bench early: exit 1, what was measured, no database left") {
    Process process(command({"null", "--rows", "1000", "--batch", "10", "--repeats", "1000",
                             "--json", "--database", shared_server().url()}));
    process.wait_for_errors("null handler, by id");
    process.signal(SIGINT);
    const auto ended = process.wait(1min);
    INFO(ended.err);
    CHECK(ended.code == 1);
    CHECK(boost::json::parse(ended.out).at("interrupted").as_bool());
    CHECK(databases_of_bench() == "0");
  }

  TEST_CASE("a role that may not make a database learns so") {
    SqlSession session(shared_server().url());
    session.run("CREATE ROLE bench_nobody LOGIN");
    auto url = shared_server().url();
    url.replace(url.find("postgres@"), 8, "bench_nobody");
    const auto ended = bench({"null", "--database", url});
    CHECK(ended.code == 1);
    CHECK(ended.err.find("CREATEDB") != std::string::npos);
    session.run("DROP ROLE bench_nobody");
  }

  TEST_CASE("a bench nobody knows is a usage error that names the known ones") {
    const auto ended = bench({"nul"});
    CHECK(ended.code == 2);
    CHECK(ended.err.find("null") != std::string::npos);
  }
}
