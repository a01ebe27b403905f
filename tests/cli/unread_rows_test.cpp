// What the program says of rows it could not read: never none, never zero.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* division = "10 / (t.payload->>'n')::int";

/// Rows 1, 2, 3 … of the ready-made outbox; n is 0 in the one named.
struct UnreadStage : Stage {
  explicit UnreadStage(const std::string& source) {
    configure(process("kind = \"log\"\nfile = \"" + log.string() + "\"", "", source));
  }
  void fill(int rows, int bad) {
    database.run("SELECT seriatim.append('b', 'b', 'booked', json_build_object('n', (i <> " +
                 std::to_string(bad) + ")::int)) FROM generate_series(1, " + std::to_string(rows) +
                 ") AS i");
  }
  [[nodiscard]] boost::json::value json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return boost::json::parse(seriatim(std::move(arguments)).out);
  }
};

}  // namespace

TEST_SUITE("rows that cannot be read") {
  TEST_CASE("status: 1 001 rows wait and `where` fails on one, so the lag is unknown, not none") {
    UnreadStage stage(std::string("where = \"") + division + " > 0\"\n");
    stage.fill(1'001, 501);
    const auto table = stage.seriatim({"status"});
    CAPTURE(table.out);
    CHECK(table.code == 1);
    CHECK(contains(table.out, "  unknown, "));
    CHECK_FALSE(contains(table.out, "none"));
    CHECK(contains(
        table.out,
        "row 501 cannot be read: ERROR:  division by zero (SQLSTATE 22012); 500 rows go out "
        "before it, then the lane halts there with BAD_PAYLOAD"));

    const auto json = stage.json({"status"});
    const auto& lane = json.at("lanes").at(0);
    CHECK(lane.at("lag_records").is_null());
    CHECK(lane.at("lag_ms").is_int64());  // the next row can be read
    CHECK(lane.at("next").as_string() == "1");
    CHECK(lane.at("error").at("row").as_string() == "501");
    CHECK(lane.at("error").at("text").as_string() == "ERROR:  division by zero (SQLSTATE 22012)");
    CHECK(lane.at("error").at("reason").as_string() == "BAD_PAYLOAD");
    CHECK(lane.at("error").at("rows_before").as_int64() == 500);

    CHECK(stage.seriatim({"run", "--drain"}).code == 3);  // what status said it would do
    CHECK(stage.lines_in_log() == 500);
    const auto halted = stage.seriatim({"status"});
    CAPTURE(halted.out);
    CHECK(halted.code == 3);
    CHECK(contains(halted.out, "halted BAD_PAYLOAD at row 501: ERROR:  division by zero"));
    CHECK(contains(halted.out, "  unknown, "));
  }

  TEST_CASE("status --watch says unknown too, and ends with 1") {
    UnreadStage stage(std::string("where = \"") + division + " > 0\"\n");
    stage.fill(3, 2);
    Process watch(Stage::command({"status", "--watch"}), stage.options());
    wait_until("a status was shown", [&] {
      (void)watch.wait_at_most(20ms);
      return contains(watch.out(), "row 2 cannot be read");
    });
    CHECK_FALSE(contains(watch.out(), "none"));
    watch.signal(2);
    CHECK(watch.wait().code == 1);
  }

  TEST_CASE("status: the table is gone, so nothing of it is said to be none or 0") {
    UnreadStage stage("table = \"public.gone\"\n");
    const auto table = stage.seriatim({"status"});
    CAPTURE(table.out);
    CHECK(table.code == 1);
    CHECK(contains(table.out, "unknown"));
    CHECK(contains(table.out, "there is no table public.gone"));
    CHECK(contains(table.out, "the lane hands nothing over and halts with SOURCE_CHANGED"));
    const auto json = stage.json({"status"});
    const auto& lane = json.at("lanes").at(0);
    for (const auto* name : {"lag_records", "late_records", "lag_ms", "next"}) {
      CAPTURE(name);
      CHECK(lane.at(name).is_null());
    }
    CHECK(lane.at("error").at("row").is_null());
  }

  TEST_CASE("peek: `payload` fails, so rows before it are shown and that row is named") {
    UnreadStage stage(std::string("payload = \"") + division + "\"\n");
    stage.fill(5, 3);
    const auto some = stage.seriatim({"peek", "p"});
    CAPTURE(some.out);
    CHECK(some.code == 1);
    CHECK(std::count(some.out.begin(), some.out.end(), '\n') == 4);  // heading, 1, 2, and 3
    CHECK(contains(
        some.out,
        "row 3 cannot be read: ERROR:  division by zero (SQLSTATE 22012); 2 rows go out before "
        "it, then the lane halts there with BAD_PAYLOAD"));
    CHECK(stage.json({"peek", "p"}).at("error").at("row").as_string() == "3");

    REQUIRE(stage.seriatim({"run", "--drain"}).code == 3);
    const auto none = stage.seriatim({"peek", "p"});
    CAPTURE(none.out);
    CHECK_FALSE(contains(none.out, "nothing waits"));
    CHECK(contains(none.out, "row 3 cannot be read: "));
    const auto json = stage.json({"peek", "p"});
    CHECK(json.at("rows").as_array().empty());
    CHECK(json.at("error").at("rows_before").as_int64() == 0);
  }

  TEST_CASE("peek: all can be read, so there is no error") {
    UnreadStage stage("");
    CHECK(stage.seriatim({"peek", "p"}).out == "nothing waits\n");
    CHECK(stage.json({"peek", "p"}).at("error").is_null());
    stage.fill(2, 0);
    CHECK(stage.seriatim({"peek", "p"}).code == 0);
    CHECK(stage.json({"status"}).at("lanes").at(0).at("error").is_null());
  }

  TEST_CASE("why: rows before an earlier one that cannot be judged are not counted as 0") {
    UnreadStage stage(std::string("where = \"") + division + " > 0\"\n");
    stage.fill(5, 2);
    const auto why = stage.seriatim({"why", "p", "4"});
    CAPTURE(why.out);
    CHECK(contains(why.out, "row 4 waits behind an unknown number of rows of lane 0"));
    CHECK(contains(why.out, "row 2 cannot be read: ERROR:  division by zero (SQLSTATE 22012)"));
    CHECK(stage.json({"why", "p", "4"}).at("rows_before").is_null());
  }
}
