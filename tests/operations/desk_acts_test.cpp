// What people do on the pages of a relay: two of them at once, and with what they saw.
#include <thread>

#include "operations/desk_fixture.hpp"

using namespace seriatim;
using namespace seriatim::testing;

TEST_SUITE("acts at the desk") {
  TEST_CASE("a second retry of the same sight is a conflict, with the lane as it is now") {
    DeskStage stage;
    stage.book_refused("7");
    stage.run_until_halt();
    const auto order = stage.order_seeing("retry");
    const auto done = stage.act(order);
    CHECK(done.at("process").as_string() == "p");
    CHECK(done.at("done").at(0).as_string() == "lane 0: tries again before the first row");
    CHECK(stage.last_entry("id, act, who, why") ==
          std::string(done.at("journal").as_string()) +
              "|retry|alice (console 10.0.0.7)|the number is wrong");
    const auto now = stage.conflict_of(order);
    CHECK(now.at("state").as_string() == "standby");
    CHECK(now.at("notes").as_array().size() == 1);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'retry'") == "1");
  }

  TEST_CASE("a second person who skips the same row is told that the lane went on") {
    DeskStage stage;
    stage.book_refused("7");
    stage.book("8");
    stage.run_until_halt();
    auto order = stage.order_seeing("skip");
    order.row = "1";
    CHECK(stage.act(order).at("done").at(0).as_string() == "lane 0: skipped row 1 (sequence 1)");
    order.who = "bob";
    const auto now = stage.conflict_of(order);
    CHECK(now.at("position").at("id").as_string() == "1");
    CHECK(now.at("row").is_null());
    CHECK(stage.last_entry("act, who, row_id") == "skip|alice (console 10.0.0.7)|1");
  }

  TEST_CASE("pause, resume and retry take one lane, and name one that is not there") {
    DeskStage stage("", 2);
    for (const auto* customer : {"1", "2", "3", "4", "5", "6"}) stage.book(customer);
    stage.drain();
    auto order = DeskStage::order("pause");
    order.lane = 1;
    CHECK(stage.act(order).at("done").as_array().size() == 1);
    const auto states = [&] {
      return stage.database.value(
          "SELECT string_agg(state, ',' ORDER BY lane) FROM seriatim.cursor");
    };
    CHECK(states() == "running,paused");
    order.lane = 2;
    CHECK_THROWS_AS(stage.desk().act(order), console::NotFound);
    const auto refused = stage.seriatim({"pause", "p", "--lane", "7"});
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "has lanes 0 to 1, no lane 7; nothing was changed"));
    CHECK(stage.seriatim({"pause", "p", "--lane", "0"}).code == 0);
    CHECK(stage.seriatim({"resume", "p", "--lane", "1"}).code == 0);
    CHECK(states() == "paused,running");
  }

  TEST_CASE("redrive compares the previewed number of rows") {
    DeskStage stage("on_poison = \"park_key\"");
    stage.book_refused("7");
    stage.book("7");
    stage.drain();
    auto order = DeskStage::order("redrive");
    order.key = "7";
    order.preview = true;
    const auto preview = stage.act(order);
    CHECK(preview.at("count").to_number<int>() == 2);
    CHECK(preview.at("preview").as_bool());
    order.preview = false;
    order.seen.count = 1;
    CHECK(stage.conflict_of(order).to_number<int>() == 2);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.aside WHERE state = 'due'") == "0");
    order.seen.count = 2;
    CHECK(contains(json::serialize(stage.act(order).at("done")), "2 rows handed over again"));
  }

  TEST_CASE("redrive of one row compares which it is: parked once more, it is another") {
    DeskStage stage("on_poison = \"dead_letter\"");
    stage.book_refused("7");
    stage.drain();
    auto order = DeskStage::order("redrive");
    order.row = "1";
    order.preview = true;
    const auto preview = stage.act(order);
    CHECK(preview.at("count").to_number<int>() == 1);
    order.preview = false;
    order.seen.plan = std::string(preview.at("plan").as_string());
    stage.act(order);
    stage.drain();  // it is refused again
    REQUIRE(stage.database.value("SELECT count(*) FROM seriatim.aside WHERE state = 'parked'") ==
            "1");
    CHECK(stage.conflict_of(order).to_number<int>() == 1);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.aside WHERE state = 'due'") == "0");
  }

  TEST_CASE("discard of all compares which rows they are: as many others are another plan") {
    DeskStage stage("on_poison = \"dead_letter\"");
    stage.book_refused("7");
    stage.book_refused("8");
    stage.drain();
    auto order = DeskStage::order("discard");
    order.all = true;
    CHECK_THROWS_AS(stage.desk().act(order), console::Refused);  // without a plan
    order.preview = true;
    const auto preview = stage.act(order);
    CHECK(preview.at("count").to_number<int>() == 2);
    order.preview = false;
    order.seen.plan = std::string(preview.at("plan").as_string());

    auto one = DeskStage::order("discard");
    one.row = "1";
    stage.act(one);
    stage.book_refused("9");
    stage.drain();
    CHECK(stage.conflict_of(order).to_number<int>() == 2);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.parked") == "2");

    const auto counted = json::parse(
        stage.seriatim({"parked", "discard", "p", "--all", "--reason", "r", "--dry-run", "--json"})
            .out);
    CHECK(counted.at("count").to_number<int>() == 2);
    const auto plan = "plan=" + std::string(counted.at("plan").as_string());
    CHECK(stage.seriatim({"parked", "discard", "p", "--all", "--reason", "r", "--expect", plan})
              .code == 0);
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.parked") == "0");
  }

  TEST_CASE("a rewind does what its preview showed, or nothing") {
    DeskStage stage;
    stage.book("7");
    stage.book("7");
    stage.drain();
    auto order = DeskStage::order("rewind");
    order.place = "start";
    order.preview = true;
    const auto preview = stage.act(order);
    CHECK(preview.at("lanes").at(0).at("rows").to_number<int>() == 2);
    CHECK(contains(json::serialize(preview.at("text")), "2 rows would be delivered again"));
    order.preview = false;
    order.seen.plan = std::string(preview.at("plan").as_string());
    stage.book("7");
    stage.drain();
    CHECK(stage.conflict_of(order).at("sequence").to_number<int>() == 3);
    CHECK(stage.database.value("SELECT position_id FROM seriatim.cursor") == "3");

    const auto planned =
        json::parse(stage.seriatim({"rewind", "p", "--to", "start", "--json"}).out);
    order.seen.plan = std::string(planned.at("plan").as_string());
    const auto done = stage.act(order);
    CHECK(contains(json::serialize(done.at("done")), "3 rows to be delivered again"));
    CHECK(stage.last_entry("act, who") == "rewind|alice (console 10.0.0.7)");
    const auto changed = stage.seriatim({"rewind", "p", "--to", "end", "--yes", "--reason", "r",
                                         "--expect", "plan=" + *order.seen.plan});
    CHECK(changed.code == 1);
    CHECK(contains(changed.err, "something else than the preview showed; nothing was changed"));
  }

  TEST_CASE("an order that is incomplete or does not apply is refused with what to do") {
    DeskStage stage;
    stage.book("7");
    stage.drain();
    const auto mend_of = [&](const console::Order& order) {
      try {
        stage.desk().act(order);
      } catch (const console::Refused& refused) {
        CHECK_FALSE(std::string(refused.what()).empty());
        return refused.remedy;
      }
      return std::string("done");
    };
    auto order = DeskStage::order("skip");
    CHECK(mend_of(order) == "name the row that the lane is at");
    order.row = "17";
    order.reason = "";
    CHECK(mend_of(order) == "say why");
    order.reason = "r";
    CHECK(mend_of(order) == "");  // no lane is at it
    CHECK(mend_of(DeskStage::order("explode")) ==
          "retry, pause, resume, skip, redrive, discard or rewind");
    CHECK(mend_of(DeskStage::order("redrive")) == "name a row, a key, or all");
    order = DeskStage::order("pause");
    order.seen.count = 3;
    CHECK(mend_of(order) == "leave the expected count out");
    order.process = "q";
    CHECK_THROWS_AS(stage.desk().act(order), console::NotFound);
    CHECK(stage.seriatim({"pause", "p", "--expect", "count=3"}).code == 2);
    CHECK(stage.database.value("SELECT state FROM seriatim.cursor") == "running");
  }

  TEST_CASE("an act that waits for a call ends when the desk gives up, with nothing changed") {
    DeskStage stage("handler_deadline = \"60s\"");
    stage.receiver.reply_with(lab::Reply::doing(lab::Reply::Act::hang));
    stage.book("7");
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(stage.receiver.wait_for_requests(1, std::chrono::seconds{30}));
    std::string refused;
    auto& desk = stage.desk();
    std::jthread person([&] {
      try {
        desk.act(DeskStage::order("pause"));
      } catch (const console::Refused& refusal) {
        refused = refusal.what();
      }
    });
    CHECK(stage.database.becomes_true("SELECT hold_by LIKE 'alice%' FROM seriatim.cursor"));
    desk.give_up();
    person.join();
    CHECK(contains(refused, "was given up"));
    CHECK(stage.database.value("SELECT state FROM seriatim.cursor") == "running");
    relay.kill();
  }

  TEST_CASE("a payload is shown once it is in the journal to whom, and only a row of the process") {
    DeskStage stage;
    stage.book("7", R"({"phone":"+45 12"})");
    const auto shown =
        json::parse(stage.desk().reveal("p", "1", "alice (console 10.0.0.7)", "a call"));
    CHECK(shown.at("id").as_string() == "1");
    CHECK(shown.at("payload").as_string() == R"({"phone":"+45 12"})");
    CHECK(stage.last_entry("act, who, row_id, process_name, why") ==
          "reveal|alice (console 10.0.0.7)|1|p|a call");
    for (const auto* id : {"2", "x", "1; --"}) {
      CHECK_THROWS_AS(stage.desk().reveal("p", id, "alice", ""), console::NotFound);
    }
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.journal WHERE act = 'reveal'") ==
          "1");
  }
}
