// What a relay keeps of itself: its history, and that it runs.
#include "app/records/recorder.hpp"

#include <doctest/doctest.h>

#include <array>

#include "cli/stage.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

constexpr std::array bounds{.001, .1};

LaneCounts counts(unsigned lane, std::uint64_t delivered, const std::vector<std::uint64_t>& calls,
                  double sum) {
  LaneCounts counts;
  counts.process = "p";
  counts.lane = lane;
  counts.delivered = delivered;
  counts.calls = {bounds, calls, sum};
  counts.end_to_end = {bounds, calls, sum};
  return counts;
}

}  // namespace

TEST_SUITE("recorder") {
  TEST_CASE("a minute is what was counted since the one before; a quiet lane has none") {
    const std::vector before{counts(0, 5, {5, 0, 0}, .005), counts(1, 2, {2, 0, 0}, .002)};
    auto now = before;
    now[0] = counts(0, 9, {7, 2, 0}, .185);
    now[0].failures = {1, 0, 1};
    const auto minutes = app::minutes_between(before, now);
    REQUIRE(minutes.size() == 1);
    REQUIRE(minutes.at("p").size() == 1);
    const auto& minute = minutes.at("p")[0];
    CHECK(minute.lane == 0);
    CHECK(minute.delivered == 4);
    CHECK(minute.failures == 2);
    CHECK(minute.calls == 4);
    CHECK(minute.call_sum_us == 180'000);
    CHECK(minute.call_max_us == 100'000);
    CHECK(app::minutes_between({}, before).at("p").size() == 2);
    now[0] = counts(0, 9, {7, 2, 1}, 60);  // beyond the last bound
    CHECK(app::minutes_between(before, now).at("p")[0].call_max_us == 100'000);
  }

  TEST_CASE("two relays add up in one row a minute, and old minutes go") {
    TestDatabase database;
    postgres::Records one(database.url());
    postgres::Records other(database.url());
    const std::int64_t minute = 1'700'000'000'000'000;  // long ago
    one.add_minutes("p", minute, {{0, 10, 1, 11, 500, 90, 7}});
    CHECK(database.value("SELECT count(*) FROM seriatim.history") == "1");
    const auto now =
        std::stoll(database.value("SELECT (extract(epoch FROM now()) * 1000000)::bigint"));
    one.add_minutes("p", now, {{0, 10, 1, 11, 500, 90, 7}, {1, 1, 0, 1, 5, 5, 5}});
    other.add_minutes("p", now, {{0, 5, 0, 5, 100, 40, 70}});
    CHECK(database.value("SELECT string_agg(concat_ws(' ', lane, delivered, failures, calls, "
                         "call_sum_us, call_max_us, age_max_us), ', ' ORDER BY lane) FROM "
                         "seriatim.history") == "0 15 1 16 600 90 70, 1 1 0 1 5 5 5");
  }

  TEST_CASE("a relay that ran has left its minute, and no longer says that it runs") {
    Stage stage;
    stage.append(3);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.database.value("SELECT sum(delivered) FROM seriatim.history") == "3");
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.relay") == "0");
    Process relay(Stage::command({"run"}), stage.options());
    CHECK(stage.database.becomes_true(
        "SELECT count(*) = 1 FROM seriatim.relay AS r JOIN seriatim.lanes AS l ON l.holder = r.name"
        " WHERE r.processes = '{p}' AND r.config_hash <> ''"));
    CHECK(relay.stop().code == 0);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.relay") == "0");
  }

  TEST_CASE("without the right to write them delivery goes on, and the log says so once") {
    Stage stage;
    stage.append(1);
    stage.database.run("ALTER TABLE seriatim.relay RENAME TO gone");
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(
        stage.database.becomes_true("SELECT count(*) = 1 FROM seriatim.cursor WHERE sequence = 1"));
    const auto ended = relay.stop();
    CHECK(ended.code == 0);
    CHECK(contains(ended.err, "the history of lanes is not kept: "));
    CHECK(contains(ended.err, "seriatim.relay"));
  }
}
