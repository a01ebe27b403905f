// What people read on the pages of a relay.
#include <set>

#include "operations/desk_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;

namespace {

/// Walks through the pages of a list by its "next".
template <class F>
std::vector<std::string> all_pages(F&& page, const char* list, const char* name,
                                   std::size_t page_rows) {
  std::vector<std::string> names;
  std::string place;
  for (;;) {
    const auto answer = json::parse(page(place));
    const auto& rows = answer.at(list).as_array();
    CHECK(rows.size() <= page_rows);
    for (const auto& row : rows) names.emplace_back(row.at(name).as_string());
    if (answer.at("next").is_null()) return names;
    CHECK(rows.size() == page_rows);
    place = answer.at("next").as_string();
  }
}

}  // namespace

TEST_SUITE("reads at the desk") {
  TEST_CASE("status: the verdict, each process, and what is to be done of each lane") {
    DeskStage stage;
    stage.book_refused("7");
    stage.book("8");
    stage.run_until_halt();
    const auto status = json::parse(stage.desk().snapshot().status);
    const auto& verdict = status.at("verdict");
    CHECK(verdict.at("state").as_string() == "stalled");
    const std::string text(verdict.at("text").as_string());
    CHECK(text.starts_with("1 of 1 lane is stopped; 2 rows wait, the oldest since "));
    CHECK(text.ends_with(")."));
    CHECK(status.at("lanes").at(0).at("state").as_string() == "halted");
    CHECK(contains(json::serialize(status.at("lanes").at(0).at("notes")), "seriatim retry p"));
    const auto& process = status.at("processes").at(0);
    CHECK(process.at("name").as_string() == "p");
    CHECK(process.at("lanes").to_number<int>() == 1);
    CHECK(process.at("audit").is_null());
    CHECK(process.at("parked").at("rows").to_number<int>() == 0);
    CHECK(status.at("alerts_open").to_number<int>() == 0);
    CHECK(status.at("looked_at").as_string() <= status.at("server_now").as_string());
    CHECK(status.at("instances").is_array());
  }

  TEST_CASE("rows of a lane have no payload, or a masked one") {
    for (const bool masked : {false, true}) {
      CAPTURE(masked);
      DeskStage stage;
      stage.masked = masked;
      stage.book("7", R"({"type":"booked","phone":"+45"})");
      const auto row = json::parse(stage.desk().rows("p", 0, 10)).at("rows").at(0).as_object();
      CHECK_FALSE(row.contains("payload"));
      CHECK(row.contains("payload_masked") == masked);
      if (masked) {
        CHECK(row.at("payload_masked").as_string() == R"({"type": "booked", "phone": "•••"})");
      }
    }
    DeskStage stage;
    CHECK_THROWS_AS(stage.desk().rows("p", 1, 10), console::NotFound);
    CHECK_THROWS_AS(stage.desk().rows("q", 0, 10), console::NotFound);
  }

  TEST_CASE("the story of a row") {
    DeskStage stage;
    stage.book_refused("7");
    stage.run_until_halt();
    const auto row = json::parse(stage.desk().row("p", "1"));
    CHECK(row.at("lane").at("state").as_string() == "halted");
    CHECK(contains(json::serialize(row), "no such number"));
    CHECK_FALSE(row.as_object().contains("payload_masked"));
    CHECK_THROWS_AS(stage.desk().row("p", "no id"), console::NotFound);
  }

  TEST_CASE("the story of a row has its payload masked, if the configuration says so") {
    DeskStage stage;
    stage.masked = true;
    stage.book("7", R"({"type":"booked","phone":"+45"})");
    stage.book("8", R"("no object")");
    const auto masked = [&](const char* id) {
      return json::parse(stage.desk().row("p", id)).at("payload_masked");
    };
    CHECK(masked("1").as_string() == R"({"type": "booked", "phone": "•••"})");
    CHECK(masked("2").as_string() == "\"•••\"");
  }

  TEST_CASE("nothing but its times changes in the status of a lane at rest") {
    DeskStage stage("", 2);
    lab::Process relay(Stage::command({"run"}), stage.options());
    for (const auto* customer : {"1", "2", "3", "4"}) stage.book(customer);
    const auto ages = [&] {  // of the two kinds that grow on an idle lane
      const auto status = json::parse(stage.desk().snapshot().status);
      const auto& relays = status.at("instances").as_array();
      return std::pair(status.at("lanes").at(0).at("audit_age_ms"),
                       relays.empty() ? json::value() : relays[0].at("seen_ms"));
    };
    lab::wait_until("the lanes are at rest, and their ages known", [&] {
      const auto [audited, seen] = ages();
      const auto rows = stage.database.value("SELECT sum(sequence) FROM seriatim.cursor");
      return rows == "4" && !audited.is_null() && !seen.is_null();
    });
    const auto first = ages();
    std::string content;
    lab::wait_until("nothing changes but ages", [&] {
      const auto before = std::exchange(content, stage.desk().snapshot().content);
      const auto now = ages();
      return content == before && now.first != first.first && now.second != first.second;
    });
    CHECK_FALSE(contains(content, "audit_age_ms"));
    stage.book("8");
    lab::wait_until("the row is seen", [&] { return stage.desk().snapshot().content != content; });
  }

  TEST_CASE("the journal comes in pages, of one process or all, and goes on from an entry") {
    DeskStage stage;
    stage.book("7");
    stage.drain();
    for (int i = 0; i < 3; ++i) {
      stage.act(DeskStage::order("pause"));
      stage.act(DeskStage::order("resume"));
    }
    stage.database.run(
        "INSERT INTO seriatim.journal (process_name, act, who) VALUES ('other', 'pause', 'eve'),"
        " ('', 'alert', 'relay')");
    auto& desk = stage.desk();
    const auto count = [&](const std::string& where) {
      return std::stoul(
          stage.database.value("SELECT count(*) FROM seriatim.journal WHERE " + where));
    };
    const auto of = [&](const std::optional<std::string>& process) {
      return all_pages([&](const auto& before) { return desk.journal(process, before, 3); },
                       "entries", "number", 3);
    };
    const auto own = of("p");
    CHECK(own.size() == count("process_name = 'p'"));
    const auto all = of(std::nullopt);
    CHECK(all.size() == count("process_name IN ('p', '')"));
    CHECK(std::set(all.begin(), all.end()).size() == all.size());
    CHECK(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return std::stoul(a) > std::stoul(b);
    }));
    const auto newest = json::parse(desk.journal("p", "", 1)).at("entries").at(0);
    CHECK(newest.at("act").as_string() == "resume");
    CHECK(newest.at("who").as_string() == "alice (console 10.0.0.7)");
    CHECK(newest.at("process").as_string() == "p");
    CHECK(newest.at("lane").to_number<int>() == 0);

    const auto after = json::parse(desk.journal_after(own.back(), 2)).at("entries").as_array();
    REQUIRE(after.size() == 2);
    CHECK(after[0].at("number").as_string() == own[own.size() - 2]);
    CHECK(after[1].at("number").as_string() == own[own.size() - 3]);
    CHECK(json::parse(desk.journal_after(all.front(), 2)).at("entries").as_array().empty());
    CHECK_THROWS_AS(desk.journal("p", "17 OR true", 3), console::Refused);
    CHECK_THROWS_AS(desk.journal("other", "", 3), console::NotFound);
  }

  TEST_CASE("parked rows come in pages, all or of one key") {
    DeskStage stage("on_poison = \"park_key\"");
    stage.book_refused("7");
    stage.book_refused("8");
    for (int i = 0; i < 4; ++i) stage.book("7");
    stage.drain();
    auto& desk = stage.desk();
    const auto of = [&](const std::optional<std::string>& key) {
      return all_pages([&](const auto& after) { return desk.parked("p", key, after, 2); }, "rows",
                       "id", 2);
    };
    CHECK(of(std::nullopt) == std::vector<std::string>{"1", "2", "3", "4", "5", "6"});
    CHECK(of("7") == std::vector<std::string>{"1", "3", "4", "5", "6"});
    CHECK(of("9").empty());
    const auto page = json::parse(desk.parked("p", std::nullopt, "", 50));
    CHECK(page.at("parked").at("rows").to_number<int>() == 6);
    CHECK(page.at("next").is_null());
  }

  TEST_CASE("history, alerts and relays are read from what relays keep") {
    DeskStage stage;
    stage.book("7");
    stage.drain();  // leaves its minute
    stage.database.run(
        "INSERT INTO seriatim.history VALUES ('p', now() - interval '3 hours', 0, 1, 1, 1, 1, 1, "
        "1);"
        "INSERT INTO seriatim.alert (process_name, lane, kind, summary, body, resolved_at) VALUES"
        " ('p', 0, 'halted', 'p is halted', '{}', now()), ('', -1, 'slot', 's', '{}', NULL),"
        " ('other', 0, 'lag', 'o', '{}', NULL);"
        "INSERT INTO seriatim.relay (name, version, config_hash, processes) VALUES"
        " ('host:1:own', '1.0', 'abc', '{p,q}'), ('host:2:x', '1.0', 'abc', '{\"a b\",p}'),"
        " ('host:3:y', '1.0', 'abc', '{q}')");
    auto& desk = stage.desk();
    const auto minutes = json::parse(desk.history("p", 60)).at("minutes").as_array();
    REQUIRE(minutes.size() == 1);
    CHECK(minutes[0].at("delivered").to_number<int>() == 1);
    CHECK(minutes[0].at("call_mean_ms").as_double() > 0);
    CHECK(minutes[0].at("minute").as_string().ends_with(":00Z"));
    CHECK(json::parse(desk.history("p", 240)).at("minutes").as_array().size() == 2);

    const auto alerts = json::parse(desk.alerts("", 1));
    CHECK(alerts.at("alerts").at(0).at("kind").as_string() == "slot");
    CHECK(alerts.at("alerts").at(0).at("lane").is_null());
    CHECK(alerts.at("alerts").at(0).at("resolved_at").is_null());
    const auto kinds =
        all_pages([&](const auto& before) { return desk.alerts(before, 1); }, "alerts", "kind", 1);
    CHECK(kinds == std::vector<std::string>{"slot", "halted"});
    CHECK(json::parse(desk.snapshot().status).at("alerts_open").to_number<int>() == 1);

    const auto relays = json::parse(desk.relays()).at("relays").as_array();
    REQUIRE(relays.size() == 2);
    CHECK(relays[0].at("name").as_string() == "host:1:own");
    CHECK(relays[0].at("this").as_bool());
    CHECK_FALSE(relays[1].at("this").as_bool());
    CHECK(json::serialize(relays[1].at("processes")) == R"(["a b","p"])");
    CHECK(relays[0].at("seen_ms").to_number<int>() < 60'000);
  }

  TEST_CASE("a recount tells how far it is, is kept, and can be ended") {
    DeskStage stage;
    stage.book("7");
    stage.book("8");
    stage.drain();
    auto& desk = stage.desk();
    std::uint64_t rows = 0;
    const auto done =
        json::parse(desk.recount("p", "alice", [&](std::uint64_t counted) { rows = counted; }, {}));
    CHECK(rows == 2);
    CHECK(done.at("rows").to_number<int>() == 2);
    CHECK(done.at("sound").as_bool());
    CHECK_FALSE(done.at("finding").as_string().empty());
    const auto reports = json::parse(desk.audits("p")).at("reports").as_array();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].at("who").as_string() == "alice");
    CHECK(reports[0].at("sound").as_bool());
    CHECK(reports[0].at("through_row").as_string() == "2");
    std::stop_source stop;
    stop.request_stop();
    CHECK_THROWS_AS(desk.recount(
                        "p", "alice", [](std::uint64_t) {}, stop.get_token()),
                    console::Refused);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.audit_report") == "1");
  }

  TEST_CASE("the checks are those of `seriatim check`") {
    DeskStage stage;
    CHECK(stage.desk().checks() == stage.seriatim({"check", "--json"}).out);
  }

  TEST_CASE("what is secret is shown by no read") {
    DeskStage stage;
    stage.book_refused("7");
    stage.receiver.reply_with(
        lab::Reply::with_status(422, "postgresql://u:hunter22@db/shop is down"));
    stage.run_until_halt();
    auto& desk = stage.desk();
    for (const auto& text :
         {desk.snapshot().status, desk.row("p", "1"), desk.journal("p", "", 50)}) {
      CHECK(contains(text, "is down"));
      CHECK_FALSE(contains(text, "hunter22"));
    }
  }
}
