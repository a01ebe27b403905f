// `seriatim preview`: what is shown is what a receiver then gets, and nothing is sent or written.
#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

std::string text(const boost::json::value& value) {
  return std::string(value.as_string());
}

/// A value that the preview does not show.
bool is_withheld(const std::string& value) {
  return value == "***" || (value.starts_with('<') && value.ends_with('>'));
}

void check_same(const boost::json::value& shown, const HttpService& receiver,
                const ReceivedRequest& got) {
  const auto& envelope = shown.at("envelope");
  CHECK(text(envelope.at("method")) == got.method);
  CHECK(text(envelope.at("url")) == receiver.url(got.target));
  CHECK(text(shown.at("body")) == got.body);
  const auto& headers = shown.at("headers").as_array();
  REQUIRE(headers.size() == got.headers.size());
  for (std::size_t i = 0; i < headers.size(); ++i) {
    CHECK(text(headers[i].at("name")) == got.headers[i].first);
    const auto value = text(headers[i].at("value"));
    if (!is_withheld(value)) CHECK(value == got.headers[i].second);
  }
}

std::string header(const boost::json::value& shown, const std::string& name) {
  for (const auto& one : shown.at("headers").as_array()) {
    if (text(one.at("name")) == name) return text(one.at("value"));
  }
  return {};
}

struct PreviewStage : Stage {
  HttpService receiver;

  std::string http(const std::string& more = {}, const std::string& path = "/hook") const {
    return "kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url(path) + "\"\n" + more;
  }
  void write(const std::string& payload) {
    database.run("SELECT seriatim.append('booking', 'b', 'booked', '" + payload + "')");
  }
  boost::json::array preview() const {
    const auto ended = seriatim({"preview", "p", "--json"});
    CAPTURE(ended.err);
    REQUIRE(ended.err.empty());
    return boost::json::parse(ended.out).at("rows").as_array();
  }
  /// Previews, delivers, and compares.
  void check_next_delivery() {
    const auto before = preview();
    const auto requests = receiver.request_count();
    REQUIRE(seriatim({"run", "--drain"}).code == 0);
    const auto got = receiver.requests();
    auto request = got.begin() + static_cast<std::ptrdiff_t>(requests);
    for (const auto& row : before) {
      if (row.at("queues").as_bool()) continue;
      REQUIRE(request != got.end());
      check_same(row.at("request"), receiver, *request++);
    }
    CHECK(request == got.end());
  }
  std::string all_that_is_kept() {
    std::string kept;
    for (const auto* table : {"cursor", "journal", "aside", "ledger", "instance", "audited"}) {
      kept += database.value("SELECT coalesce(string_agg(t::text, ' '), '') FROM seriatim." +
                             std::string(table) + " AS t");
    }
    return kept;
  }
};

}  // namespace

TEST_SUITE("preview") {
  TEST_CASE("the requests of http are those that the receiver gets") {
    PreviewStage stage;
    std::string handler;
    SUBCASE("signed, with a template, CloudEvents and headers of all kinds") {
      handler = stage.http(
          "secret = \"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\"\ntoken = \"a-token\"\n"
          "headers = { X-Tenant = \"7\" }\npass_headers = [\"x-shop\"]\nbody = \"cloudevents\"\n");
    }
    SUBCASE("a URL of the record, a connection each, a body of its own") {
      handler = stage.http(
          "keep_alive = false\nbody = '{\"sequence\": {{sequence}}, \"n\": {{payload.n}}}'\n",
          "/hook/{{payload.n}}/{{id}}?type={{event_type}}");
    }
    stage.configure(Stage::process(handler));
    stage.database.run(
        "SELECT seriatim.append('booking', 'b', 'booked', '{\"n\": 1.0}', '{\"x-shop\": \"9\"}')");
    stage.append(3);
    stage.check_next_delivery();
    stage.append(2);
    stage.check_next_delivery();
    CHECK(stage.receiver.request_count() == 6);
  }

  TEST_CASE("with [traces] the preview says whose span the receiver will get") {
    PreviewStage stage;
    const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    stage.configure("[traces]\nurl = \"" + stage.receiver.url("/v1/traces") + "\"\n" +
                    Stage::process(stage.http()));
    stage.database.run(
        "SELECT seriatim.append('booking', 'b', 'booked', '{}', '{\"traceparent\": \"00-" + trace +
        "-00f067aa0ba902b7-01\"}')");
    CHECK(header(stage.preview().at(0).at("request"), "traceparent") ==
          "<the span of the call, in trace " + trace + ">");
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    const auto sent = stage.receiver.requests().at(0);
    REQUIRE(sent.target == "/hook");
    CHECK(contains(sent.header("traceparent").value(), "00-" + trace + "-"));
    CHECK_FALSE(contains(sent.header("traceparent").value(), "00f067aa0ba902b7"));
  }

  TEST_CASE("the requests of sms are those that the provider gets") {
    PreviewStage stage;
    stage.configure(Stage::process(
        "kind = \"sms\"\nallow_private = true\nurl = \"" + stage.receiver.url("/Messages.json") +
        "\"\nusername = \"robot\"\npassword = \"a-password\"\nto = \"{{payload.phone}}\"\n"
        "from = \"seriatim\"\nbody = \"Booking {{id}} & more\"\n"));
    stage.write("{\"phone\":\"+4512345678\"}");
    stage.check_next_delivery();
    CHECK(stage.receiver.request_count() == 1);
  }

  TEST_CASE("after a failed call the attempt and the epoch are those of the next one") {
    PreviewStage stage;
    stage.configure(Stage::process(stage.http(), "backoff = { first = \"10m\", max = \"10m\" }"));
    stage.append(2);
    stage.receiver.push(Reply::with_status(503));
    {
      Process relay(Stage::command({"run"}), stage.options());
      relay.wait_for_errors("retrying");
      const auto held = stage.preview();
      CHECK(held[0].at("attempt").as_int64() == 2);
      CHECK(held[0].at("epoch").as_int64() == 1);
      relay.signal(15);
      CHECK(relay.wait().code == 0);
    }
    stage.database.run("UPDATE seriatim.cursor SET next_attempt_at = NULL");
    const auto rows = stage.preview();
    CHECK(header(rows.at(0).at("request"), "Seriatim-Attempt") == "2");
    CHECK(header(rows.at(0).at("request"), "Seriatim-Epoch") == "2");
    CHECK(header(rows.at(1).at("request"), "Seriatim-Attempt") == "1");
    stage.check_next_delivery();
  }

  TEST_CASE("while a call is in flight the preview shows that call") {
    PreviewStage stage;
    stage.configure(Stage::process(stage.http()));
    stage.append();
    stage.receiver.push(Reply::doing(Reply::Act::hang));
    Process relay(Stage::command({"run"}), stage.options());
    REQUIRE(stage.receiver.wait_for_requests(1, 20s));
    check_same(stage.preview().at(0).at("request"), stage.receiver, stage.receiver.last_request());
  }

  TEST_CASE("rows of a parked key are not sent, and the numbers after them show it") {
    PreviewStage stage;
    stage.configure(
        Stage::process(stage.http(), "on_poison = \"park_key\"", "key = \"aggregate_id\""));
    stage.append(2);
    stage.receiver.push(Reply::with_status(422));
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    stage.database.run(
        "SELECT seriatim.append('booking', key, 'booked', '{}')"
        " FROM unnest(array['b', 'c', 'b', 'd']) AS key");
    const auto rows = stage.preview();
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].at("queues").as_bool());
    CHECK(rows[0].at("request").is_null());
    CHECK(header(rows[3].at("request"), "Seriatim-Sequence") == "6");
    CHECK(header(rows[3].at("request"), "Seriatim-Set-Aside") == "4");
    CHECK(contains(stage.seriatim({"preview", "p"}).out,
                   "row 3 is not sent: its key is parked, so it will be set aside\n"));
    CHECK(contains(stage.seriatim({"peek", "p"}).out, "queues"));
    SUBCASE("as they are") {
      stage.check_next_delivery();
    }
    SUBCASE("redriven rows go first, and their key is free then") {
      REQUIRE(stage.seriatim({"parked", "redrive", "p", "--all"}).code == 0);
      const auto redriven = stage.preview();
      REQUIRE(redriven.size() == 6);
      CHECK(redriven[0].at("late").as_bool());
      CHECK_FALSE(redriven[2].at("queues").as_bool());
      stage.check_next_delivery();
    }
  }

  TEST_CASE("late rows go first, with the numbers and the predecessor that they will have") {
    PreviewStage stage;
    stage.configure(Stage::process(stage.http(), "", "late_rows = \"deliver\""));
    stage.append(2);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    stage.append(2);
    stage.database.run(
        "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, payload, "
        "created_at) SELECT 'booking', 'b', 'booked', '{}', min(created_at) - '1 minute'::interval"
        " FROM seriatim.outbox");
    const auto rows = stage.preview();
    REQUIRE(rows.size() == 3);
    CHECK(header(rows[0].at("request"), "Seriatim-Late") == "true");
    CHECK(header(rows[1].at("request"), "Seriatim-Previous-Id") == "2");
    stage.check_next_delivery();
  }

  TEST_CASE("nothing is sent, and nothing is written") {
    PreviewStage stage;
    stage.configure(Stage::process(stage.http()));
    stage.append(3);
    SUBCASE("before the process has begun") {
      CHECK(stage.preview().size() == 3);
      CHECK(stage.database.value("SELECT count(*) FROM seriatim.cursor") == "0");
    }
    SUBCASE("after that") {
      REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
      stage.append(3);
      stage.receiver.forget_requests();
    }
    const auto before = stage.all_that_is_kept();
    CHECK(stage.seriatim({"preview", "p"}).code == 0);
    CHECK(stage.preview().size() == 3);
    CHECK(stage.all_that_is_kept() == before);
    CHECK(stage.receiver.request_count() == 0);
    CHECK(stage.receiver.connections_accepted() <= 1);
  }

  TEST_CASE("a row that cannot be rendered is named, with what its lane will do") {
    PreviewStage stage;
    const auto handler = stage.http("body = \"{{payload.n}}\"\n");
    stage.write("{\"n\":1}");
    stage.write("{}");
    stage.write("{\"n\":3}");
    stage.configure(Stage::process(handler));
    const auto halts = stage.seriatim({"preview", "p"});
    CHECK(halts.code == 1);
    CAPTURE(halts.out);
    CHECK(contains(halts.out, "row 2 cannot be rendered: "));
    CHECK(contains(halts.out, "; its lane will halt\n"));
    const auto rows = stage.preview();
    CHECK(rows.at(1).at("request").is_null());
    CHECK(contains(text(rows.at(1).at("problem")), "row 2 cannot be rendered: "));
    CHECK(text(rows.at(2).at("request").at("body")) == "3");
    stage.configure(Stage::process(handler, "event_types = [\"refunded\"]"));
    CHECK(contains(stage.seriatim({"preview", "p"}).out,
                   "row 1 cannot be rendered: event type \"booked\" is not of event_types"));
    stage.configure(Stage::process(handler, "on_poison = \"dead_letter\""));
    CHECK(contains(stage.seriatim({"preview", "p"}).out, "; it will be parked\n"));
    stage.configure(Stage::process(handler));
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);  // as it was said
    CHECK(stage.receiver.request_count() == 1);
  }

  TEST_CASE("text has the request in lines; a row behind the fence is marked") {
    PreviewStage stage;
    stage.configure(Stage::process(stage.http("token = \"a-token\"\n")));
    CHECK(stage.seriatim({"preview", "p"}).out == "nothing waits\n");
    stage.append(2);
    const auto ended = stage.seriatim({"preview", "p", "--rows", "1"});
    CHECK(ended.code == 0);
    CAPTURE(ended.out);
    CHECK(contains(ended.out, "row 1, sequence 1, epoch 1, attempt 1\n    method: POST\n    url: " +
                                  stage.receiver.url("/hook") + "\n\n    Host: "));
    CHECK(contains(ended.out, "\n    Authorization: ***\n"));
    CHECK(contains(ended.out, "\n\n    {\"n\":1}\n\n"));
    CHECK_FALSE(contains(ended.out, "row 2"));
    CHECK_FALSE(contains(ended.out, "not settled"));
    CHECK(stage.preview().at(0).at("settled").as_bool());

    auto writer = stage.database.connect("slow-writer");
    writer.run("BEGIN; SELECT seriatim.append('booking', 'b', 'booked', '{}')");
    stage.append();
    const auto fenced = stage.seriatim({"preview", "p"});
    CHECK(contains(fenced.out, "row 4, sequence 3, epoch 1, attempt 1, not settled: an earlier"));
    CHECK_FALSE(stage.preview().at(2).at("settled").as_bool());
    CHECK(stage.seriatim({"preview", "p", "--lane", "1"}).code == 2);
  }

  TEST_CASE("the line of log is the one that is written") {
    Stage stage;
    stage.append(2);
    const auto rows = boost::json::parse(stage.seriatim({"preview", "p", "--json"}).out).at("rows");
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    std::ifstream log(stage.log);
    for (const auto& row : rows.as_array()) {
      std::string line;
      REQUIRE(std::getline(log, line));
      CHECK(text(row.at("request").at("body")) == line);
    }
  }
}
