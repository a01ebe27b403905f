// Alerts as those who are called get them: a real receiver, relays that die, a database that ends.
#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>

#include "cli/stage.hpp"
#include "console/probe_client.hpp"
#include "embedded/embedded_server.hpp"
#include "lab/process/free_port.hpp"
#include "support/relay_program.hpp"
#include "support/webhook_signature.hpp"

using namespace seriatim;
using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A slow server makes alerts late: a read that took d is used for 20 d.
constexpr auto patience = 120s;
const std::string secret = "whsec_c2VyaWF0aW0gdGVzdHMgc2lnbiB0aGlzIQ==";

/// A stage whose relays send alerts to `pager`, unless configured otherwise.
class Watched {
 public:
  void configure(const std::string& processes, const std::string& more = {}) {
    configure_alerts("url = \"" + pager.url() + "\"\nsecret = \"" + secret + "\"\n" + more,
                     processes);
  }
  void configure_alerts(const std::string& alerts, const std::string& processes) {
    toml_ =
        database_section(stage.database.url()) + "[alerts]\nevery = \"1s\"\n" + alerts + processes;
    std::ofstream(stage.folder.path() / "seriatim.toml") << toml_;
  }
  [[nodiscard]] RelayProgram relay(const std::string& name) const {
    return {stage.folder, name, toml_};
  }

  /// What was sent on alerts of that type, each once, in order: "open", "resolved".
  std::vector<std::string> heard(const std::string& type) const {
    std::vector<std::string> states;
    std::set<std::string> ids;
    for (const auto& request : pager.requests()) {
      const auto message = boost::json::parse(request.body);
      if (message.at("type").as_string() != type) continue;
      if (!ids.insert(request.header("webhook-id").value_or("")).second) continue;
      states.emplace_back(message.at("data").at("state").as_string());
    }
    return states;
  }
  void wait_for(const std::string& type, const std::vector<std::string>& states) const {
    wait_until(
        "the pager hears of " + type, [&] { return heard(type) == states; }, patience);
  }
  [[nodiscard]] std::string into_log() const {
    return Stage::process("kind = \"log\"\nfile = \"" + stage.log.string() + '"');
  }
  static std::string into(const HttpService& receiver, const std::string& more = {}) {
    return Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + '"',
                          more);
  }

  Stage stage;
  HttpService pager;

 private:
  std::string toml_;
};

const std::vector<std::string> open{"open"};
const std::vector<std::string> open_and_over{"open", "resolved"};

}  // namespace

TEST_SUITE("alerts") {
  TEST_CASE("a halted lane: one signed message from two relays, and one when it is over") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422, "number not in service"));
    Watched watched;
    watched.configure(Watched::into(receiver), "resolve_after = \"1s\"\n");
    auto one = watched.relay("one");
    auto other = watched.relay("other");
    watched.stage.append();
    watched.wait_for("seriatim.lane.halted", open);
    const auto request = watched.pager.last_request();
    const auto id = request.header("webhook-id").value();
    const auto at = std::stoll(request.header("webhook-timestamp").value());
    CHECK(request.header("webhook-signature").value() ==
          handlers::WebhookSigner({secret}).sign(id, at, request.body));
    const auto data = boost::json::parse(request.body).at("data");
    CHECK(data.at("process").as_string() == "p");
    CHECK(data.at("lane").as_int64() == 0);
    CHECK(data.at("status").at("row").as_string() == "1");
    CHECK(contains(std::string(data.at("summary").as_string()), "number not in service"));
    CHECK_FALSE(contains(request.body, "\"n\""));  // of the payload

    receiver.reply_with(Reply::with_status(200));
    REQUIRE(watched.stage.seriatim({"retry", "p"}).code == 0);
    watched.wait_for("seriatim.lane.halted", open_and_over);
    CHECK(watched.stage.database.value(
              "SELECT string_agg(act, ', ' ORDER BY id) FROM seriatim.journal"
              " WHERE act LIKE 'alert%'") == "alert, alert over");
    CHECK(one.stop().code == 0);
    CHECK(other.stop().code == 0);
  }

  TEST_CASE("an open transaction that holds rows back, and the lag it makes") {
    Watched watched;
    watched.configure(watched.into_log(), "lag = \"1s\"\nfence = \"1s\"\nresolve_after = \"1s\"\n");
    auto relay = watched.relay("one");
    auto writer = watched.stage.database.connect("psql");
    writer.run("BEGIN; SELECT seriatim.append('booking', 'b', 'open', '{}')");
    watched.stage.append();
    watched.wait_for("seriatim.lane.fence", open);
    watched.wait_for("seriatim.lane.lag", open);
    CHECK(contains(watched.pager.last_request().body, std::to_string(writer.pid())));
    writer.run("ROLLBACK");
    watched.wait_for("seriatim.lane.fence", open_and_over);
    watched.wait_for("seriatim.lane.lag", open_and_over);
    CHECK(relay.stop().code == 0);
  }

  TEST_CASE("an audit that is not sound") {
    Watched watched;
    watched.configure(watched.into_log(), "resolve_after = \"1s\"\n");
    watched.stage.append(3);
    REQUIRE(watched.stage.seriatim({"run", "--drain"}).code == 0);
    // Behind the cursor, as a restore or a hand may put it there.
    watched.stage.database.run(
        "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, created_at)"
        " SELECT 'booking', 'b', 'late', min(created_at) - interval '1 hour' FROM seriatim.outbox");
    REQUIRE(watched.stage.seriatim({"audit", "p"}).code == 1);
    auto relay = watched.relay("one");
    watched.wait_for("seriatim.process.audit_broken", open);
    CHECK(contains(watched.pager.last_request().body, "neither delivered nor set aside: 4"));
    REQUIRE(watched.stage.database.becomes_true(
        "SELECT count(*) = 1 FROM seriatim.cursor WHERE failed_id = '4'"));
    REQUIRE(watched.stage.seriatim({"skip", "p", "4", "--reason", "a test row"}).code == 0);
    REQUIRE(watched.stage.seriatim({"audit", "p"}).code == 0);
    watched.wait_for("seriatim.process.audit_broken", open_and_over);
    relay.stop();
  }

  TEST_CASE("rows set aside") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422));
    Watched watched;
    watched.configure(Watched::into(receiver, "on_poison = \"dead_letter\"\n"),
                      "resolve_after = \"1s\"\n");
    auto relay = watched.relay("one");
    watched.stage.append();
    watched.wait_for("seriatim.process.parked", open);
    receiver.reply_with(Reply::with_status(200));
    REQUIRE(watched.stage.seriatim({"parked", "redrive", "p", "--all"}).code == 0);
    watched.wait_for("seriatim.process.parked", open_and_over);
    relay.stop();
  }

  TEST_CASE("a key that is held for long") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(503));
    Watched watched;
    watched.configure(http_process("p", "seriatim.outbox", "created_at", receiver.url(),
                                   "on_poison = \"park_key\"\non_retry = \"hold_key\"\n"
                                   "backoff = { first = \"50ms\", max = \"500ms\" }\n",
                                   "key = \"aggregate_id\"\n"),
                      "resolve_after = \"1s\"\nheld = \"1s\"\n");
    auto relay = watched.relay("one");
    watched.stage.append();
    watched.wait_for("seriatim.process.held", open);
    receiver.reply_with(Reply::with_status(200));
    watched.wait_for("seriatim.process.held", open_and_over);
    relay.stop();
  }

  TEST_CASE("a lane that nobody holds: another relay of the same configuration says so") {
    Watched watched;
    watched.configure(watched.into_log() + "\n[[process]]\nname = \"q\"\n[process.handler]\n" +
                          "kind = \"log\"\nfile = \"/dev/null\"\n",
                      "unheld = \"1s\"\nresolve_after = \"1s\"\n");
    Process holder(Stage::command({"run", "q"}), watched.stage.options());
    REQUIRE(watched.stage.database.becomes_true(
        "SELECT count(*) > 0 FROM seriatim.lanes WHERE process_name = 'q' AND holder IS NOT NULL"));
    Process watcher(Stage::command({"run", "p"}), watched.stage.options());
    holder.kill();
    watched.wait_for("seriatim.lane.unheld", open);
    CHECK(contains(watched.pager.last_request().body, "q lane 0 is held by no relay"));
    Process again(Stage::command({"run", "q"}), watched.stage.options());
    watched.wait_for("seriatim.lane.unheld", open_and_over);
    again.stop();
    watcher.stop();
  }

  TEST_CASE("a relay that is killed while it sends: the other sends the same message") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422));
    Watched watched;
    watched.configure(Watched::into(receiver));
    watched.pager.push(Reply::doing(Reply::Act::hang));
    auto one = watched.relay("one");
    watched.stage.append();
    REQUIRE(watched.pager.wait_for_requests(1, patience));
    one.kill();
    auto other = watched.relay("other");
    // Once the lease of the one that was killed is over.
    REQUIRE(watched.pager.wait_for_requests(2, patience));
    const auto requests = watched.pager.requests();
    CHECK(requests[0].header("webhook-id") == requests[1].header("webhook-id"));
    CHECK(boost::json::parse(requests[1].body).at("type").as_string() == "seriatim.lane.halted");
    other.stop();
  }

  TEST_CASE("a pager that never answers holds up no row") {
    Watched watched;
    watched.configure(watched.into_log());
    watched.pager.reply_with(Reply::doing(Reply::Act::hang));
    watched.stage.database.run(
        "INSERT INTO seriatim.audit_report (process_name, who, sound, rows, hash, detail)"
        " VALUES ('p', 'test', false, 1, '0', 'NOT complete')");
    auto relay = watched.relay("one");
    REQUIRE(watched.pager.wait_for_requests(1, patience));
    watched.stage.append(1'000);
    wait_until("all rows are delivered", [&] { return watched.stage.lines_in_log() == 1'000; });
    CHECK(watched.pager.request_count() == 1);  // it still waits for its answer
    CHECK(relay.stop().code == 0);
  }

  TEST_CASE("a database that is away is an alert from memory, and its return another message") {
    TemporaryFolder folder;
    embedded::EmbeddedServer server({folder.path() / "server"});
    HttpService pager;
    const auto toml =
        database_section(server.url()) + "[alerts]\nevery = \"1s\"\nurl = \"" + pager.url() +
        "\"\ndatabase = \"1s\"\nresolve_after = \"1s\"\n" +
        Stage::process("kind = \"log\"\nfile = \"" + (folder.path() / "out").string() + '"');
    std::ofstream(folder.path() / "seriatim.toml") << toml;
    Process::Options options;
    options.folder = folder.path();
    REQUIRE(run(Stage::command({"init"}), options).code == 0);
    RelayProgram one(folder, "one", toml);
    RelayProgram other(folder, "other", toml);
    SqlSession session(server.url());
    wait_until("both relays run",
               [&] { return session.value("SELECT count(*) > 0 FROM seriatim.cursor") == "t"; });
    server.stop(embedded::EmbeddedServer::Stop::fast);
    REQUIRE(pager.wait_for_requests(2, patience));
    const auto requests = pager.requests();
    const auto message = boost::json::parse(requests[0].body);
    CHECK(message.at("type").as_string() == "seriatim.server.database");
    CHECK(message.at("data").at("state").as_string() == "open");
    CHECK(requests[0].header("webhook-id") == requests[1].header("webhook-id"));
    server.start();
    INFO(one.log(), other.log());
    REQUIRE(pager.wait_for_requests(4, patience));
    CHECK(boost::json::parse(pager.last_request().body).at("data").at("state").as_string() ==
          "resolved");
    one.stop();
    other.stop();
  }

  TEST_CASE("a program gets the message on its stdin, and one that fails is run again") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422));
    Watched watched;
    const auto& folder = watched.stage.folder.path();
    const auto program = folder / "page";
    std::ofstream(program) << "#!/bin/sh\ncat >> " << (folder / "pages").string() << "\n[ -e "
                           << (folder / "ready").string() << " ] || { touch "
                           << (folder / "ready").string() << "; echo modem busy >&2; exit 3; }\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    watched.configure_alerts("command = [\"" + program.string() + "\"]\n", Watched::into(receiver));
    auto relay = watched.relay("one");
    watched.stage.append();
    wait_until(
        "it was run twice",
        [&] {
          std::ifstream in(folder / "pages");
          int lines = 0;
          for (std::string line; std::getline(in, line);) {
            CHECK(boost::json::parse(line).at("type").as_string() == "seriatim.lane.halted");
            ++lines;
          }
          return lines == 2;
        },
        patience);
    CHECK(contains(relay.log(), "page exited with 3: modem busy"));
    relay.stop();
  }

  TEST_CASE("in Slack's format it is a text with the command to type") {
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422));
    Watched watched;
    watched.configure(Watched::into(receiver), "format = \"slack\"\n");
    auto relay = watched.relay("one");
    watched.stage.append();
    REQUIRE(watched.pager.wait_for_requests(1, patience));
    const auto text = boost::json::parse(watched.pager.last_request().body).at("text").as_string();
    CHECK(contains(std::string(text), "Alert: p lane 0 is halted POISON at row 1"));
    CHECK(contains(std::string(text), "`seriatim status p`"));
    relay.stop();
  }

  TEST_CASE("secrets and payloads are in no metric, alert, span or log line") {
    HttpService receiver;  // repeats to everybody what it was sent
    receiver.reply_with([](const ReceivedRequest& request) {
      return Reply::with_status(
          422, request.target + request.header("Authorization").value_or("") + request.body);
    });
    HttpService collector;
    Watched watched;
    const auto port = static_cast<unsigned short>(free_port());
    watched.configure(
        "[console]\nlisten = \"127.0.0.1:" + std::to_string(port) + "\"\n[traces]\nurl = \"" +
            collector.url("/v1/traces") +
            "\"\nheaders = { Authorization = \"Bearer canary-collector\" }\n" +
            Stage::process(
                "kind = \"http\"\nallow_private = true\ntoken = \"canary-receiver\"\nurl = \"" +
                receiver.url() + '"'),
        "headers = { Authorization = \"Bearer canary-pager-token\" }\n");
    watched.stage.database.run(
        "SELECT seriatim.append('booking', 'b', 'booked', '{\"n\":\"canary-payload\"}',"
        " '{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\","
        "   \"note\":\"canary-note\"}')");
    auto relay = watched.relay("one");
    watched.wait_for("seriatim.lane.halted", open);
    REQUIRE(collector.wait_for_requests(1, patience));
    CHECK(contains(receiver.last_request().body, "canary-payload"));  // it had them to repeat
    CHECK(contains(receiver.last_request().header("Authorization").value(), "canary-receiver"));
    CHECK(watched.pager.last_request().header("Authorization") == "Bearer canary-pager-token");
    CHECK(collector.last_request().header("Authorization") == "Bearer canary-collector");
    const auto metrics = console::ask("127.0.0.1", port, "/metrics", 10s).body;
    CHECK(contains(metrics, "seriatim_alerts_sent_total{result=\"accepted\"} 1\n"));
    CHECK(contains(metrics, "seriatim_spans_total"));
    relay.stop();
    for (const auto& text :
         {metrics, watched.pager.last_request().body, collector.last_request().body, relay.log()}) {
      CAPTURE(text);
      CHECK_FALSE(contains(text, "canary"));
    }
  }
}
