// `seriatim plan`: what a changed configuration would do to the cursors.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

/// The plan's lines; a plan is no failure, and changes nothing.
std::string plan_of(Stage& stage, const std::string& more = "", const std::string& source = "",
                    const std::string& name = "p") {
  auto text = Stage::process("kind = \"log\"\nfile = \"" + stage.log.string() + "\"", more, source);
  text.replace(text.find("\"p\""), 3, '"' + name + '"');
  stage.configure(text);
  const auto cursors =
      "SELECT coalesce(json_agg(c ORDER BY process_name, lane)::text, '') "
      "FROM seriatim.cursor AS c";
  const auto before = stage.database.value(cursors);
  const auto ended = stage.seriatim({"plan"});
  CHECK(ended.code == 0);
  CHECK(stage.database.value(cursors) == before);
  return ended.out + ended.err;
}

}  // namespace

TEST_SUITE("plan") {
  TEST_CASE("each change of the configuration is named, with the command that makes it") {
    Stage stage;
    stage.append(3);
    CHECK(contains(plan_of(stage), "p: begins"));
    CHECK(contains(plan_of(stage), "3 rows"));
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    const auto last = stage.database.value("SELECT max(id) FROM seriatim.outbox");
    CHECK(plan_of(stage) == "p: goes on after row " + last + '\n');

    const auto lanes = plan_of(stage, "lanes = 2", "key = \"aggregate_id\"");
    CHECK(contains(lanes, "its 1 lane becomes 2"));
    CHECK(contains(lanes, "seriatim lanes p 2 --reason TEXT"));

    const auto order = plan_of(stage, "", "order_by = \"id\"");
    CHECK(contains(order, "seriatim adopt p --reason TEXT"));

    const auto renamed = plan_of(stage, "", "", "q");
    CHECK(contains(renamed, "q: has no cursor, and p, which is not configured"));
    CHECK(contains(renamed, "seriatim adopt q --from p --reason TEXT"));
    CHECK(contains(renamed, "q: begins"));
    CHECK(contains(renamed, "p: has a cursor, and is not in this file"));
  }

  TEST_CASE("rows behind the cursor that a new filter matches are counted") {
    Stage stage;
    const auto narrow = "where = \"aggregate_id = 'other'\"";
    plan_of(stage, "", narrow);
    stage.append(3);
    stage.database.run("SELECT seriatim.append('booking', 'other', 'booked', '{}')");
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(contains(plan_of(stage, "", narrow), "goes on"));
    const auto wide = plan_of(stage);
    CHECK(contains(wide, "3 rows behind the cursors"));
    CHECK(contains(wide, "--source-changed --old-rows skip|deliver"));
    const auto json = boost::json::parse(stage.seriatim({"plan", "--json"}).out);
    CHECK(json.at("plan").at(0).at("change").as_string() == "old_rows");
    CHECK(json.at("plan").at(0).at("process").as_string() == "p");
  }
}
