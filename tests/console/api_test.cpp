// The API over a desk of the tests' own: what is asked of the desk, and how its answers and errors
// look.
#include "console/api.hpp"

#include <doctest/doctest.h>

#include <boost/json.hpp>

#include "console/console_stage.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::console;
using namespace seriatim::testing;

namespace {

Ask read(const std::string& path) {
  return Ask::get("/api/v1" + path).with("Authorization", "Bearer " + victor_token);
}

boost::json::object json_of(const Reply& reply) {
  return boost::json::parse(reply.body).as_object();
}

Ask act(const std::string& body) {
  return Ask::post("/api/v1/processes/p/acts", body, alice_token);
}

}  // namespace

TEST_SUITE("api") {
  TEST_CASE("each path asks the desk for what it names") {
    ConsoleStage stage;
    for (const auto& [path, asked] : std::vector<std::pair<std::string, std::string>>{
             {"/processes/p/rows", "rows p 0 20"},
             {"/processes/p/rows?lane=3&limit=5", "rows p 3 5"},
             {"/processes/caf%C3%A9%2Fbar/rows", "rows café/bar 0 20"},
             {"/processes/p/row?id=a+b%26c", "row p a b&c"},
             {"/processes/p/parked", "parked p any after= 50"},
             {"/processes/p/parked?key=k&after=7&limit=2", "parked p k after=7 2"},
             {"/processes/p/history?minutes=1440", "history p 1440"},
             {"/processes/p/audit", "audits p"},
             {"/journal?process=p&before=12", "journal p before=12"},
             {"/journal", "journal all before="},
             {"/checks", "checks"},
             {"/relays", "relays"}}) {
      CAPTURE(path);
      const auto reply = stage.ask(read(path));
      CHECK(reply.status == 200);
      CHECK(reply.header("Content-Type") == "application/json");
      CHECK(stage.desk.last_asked() == asked);
    }
    CHECK(stage.ask(read("/status")).body == R"({"lanes":[]})");
    CHECK(json_of(stage.ask(read("/alerts"))).contains("alerts"));
  }

  TEST_CASE("a parameter that is wrong is named, with what to do") {
    ConsoleStage stage;
    for (const char* path :
         {"/processes/p/rows?lane=x", "/processes/p/rows?lane=-1", "/processes/p/rows?limit=0",
          "/processes/p/rows?limit=501", "/processes/p/row", "/processes/p/history?minutes=1501",
          "/journal?before=x", "/alerts?before=%27"}) {
      CAPTURE(path);
      const auto reply = stage.ask(read(path));
      CHECK(reply.status == 422);
      CHECK(reply.header("Content-Type") == "application/problem+json");
      CHECK(json_of(reply).at("remedy").as_string() != "");
    }
    CHECK(stage.desk.last_asked() == "");
  }

  TEST_CASE("errors of the desk are problems, and say what to do") {
    ConsoleStage stage;
    const auto missing = stage.ask(read("/processes/nobody/rows"));
    CHECK(missing.status == 404);
    CHECK(json_of(missing) == boost::json::object{{"type", "about:blank"},
                                                  {"title", "Not Found"},
                                                  {"status", 404},
                                                  {"detail", "no process is called nobody"}});
    stage.desk.on_act = [](const Order&) -> std::string {
      throw Conflict("it has moved on", R"({"state":"running"})");
    };
    const auto moved = stage.ask(act(R"({"act":"retry"})"));
    CHECK(moved.status == 409);
    CHECK(json_of(moved).at("now").at("state") == "running");
    stage.desk.on_act = [](const Order&) -> std::string {
      throw Refused("it is not halted", "look at its state");
    };
    const auto refused = stage.ask(act(R"({"act":"retry"})"));
    CHECK(refused.status == 422);
    CHECK(json_of(refused).at("detail") == "it is not halted");
    CHECK(json_of(refused).at("remedy") == "look at its state");
    stage.desk.on_act = [](const Order&) -> std::string { throw SessionLost("gone"); };
    const auto lost = stage.ask(act(R"({"act":"retry"})"));
    CHECK(lost.status == 503);
    CHECK(json_of(lost).at("detail") == "the database cannot be asked: gone");
    stage.desk.on_act = [](const Order&) -> std::string { throw std::logic_error("canary"); };
    const auto failed = stage.ask(act(R"({"act":"retry"})"));
    CHECK(failed.status == 500);
    CHECK(json_of(failed).at("detail") == "this relay failed at it: ***");
    CHECK(stage.ask(act(R"({"act":"fly"})")).status == 422);
    CHECK(stage.ask(read("/no/such/path")).header("Content-Type") == "application/problem+json");
  }

  TEST_CASE("a method that a path does not have is refused with those it has") {
    ConsoleStage stage;
    auto ask = act("{}");
    ask.method = "DELETE";
    const auto reply = stage.ask(ask);
    CHECK(reply.status == 405);
    CHECK(reply.header("Allow") == "POST");
    ask.target = "/api/v1/status";
    CHECK(stage.ask(ask).header("Allow") == "GET, HEAD");
  }

  TEST_CASE("everyone is told who they are, and whether to log in") {
    ConsoleStage stage;
    const auto stranger = json_of(stage.ask(Ask::get("/api/v1/me")));
    CHECK(stranger == boost::json::object{{"name", nullptr},
                                          {"role", nullptr},
                                          {"may_act", false},
                                          {"why_not", "log in first"},
                                          {"needs_login", true},
                                          {"needs_token", true},
                                          {"payload", "hidden"},
                                          {"version", "1"},
                                          {"relay", "host:1"}});
    const auto victor = json_of(stage.ask(read("/me")));
    CHECK(victor.at("name") == "victor");
    CHECK(victor.at("role") == "viewer");
    CHECK(victor.at("may_act") == false);
    CHECK(victor.at("needs_login") == false);
    const auto alice =
        json_of(stage.ask(Ask::get("/api/v1/me").with("Authorization", "Bearer " + alice_token)));
    CHECK(alice.at("may_act") == true);
    CHECK(alice.at("why_not") == nullptr);
    const ConsoleStage open(nobody());
    const auto reader = json_of(open.ask(Ask::get("/api/v1/me")));
    CHECK(reader.at("role") == "reader");
    CHECK(reader.at("needs_login") == false);
    CHECK(reader.at("why_not").as_string().starts_with("no token is configured"));
  }

  TEST_CASE("a session's cookie reads for eight hours, and ends when asked") {
    ConsoleStage stage;
    const auto login =
        stage.ask(Ask::post("/api/v1/session", R"({"token":")" + victor_token + "\"}"));
    CHECK(login.body == R"({"name":"victor","role":"viewer"})");
    const auto cookie = login.header("Set-Cookie");
    CHECK(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Max-Age=28800"));
    const auto value = cookie.substr(0, cookie.find(';'));
    CHECK(stage.ask(Ask::get("/api/v1/status").with("Cookie", "a=b; " + value)).status == 200);
    auto logout = Ask::post("/api/v1/session", "");
    logout.method = "DELETE";
    CHECK(stage.ask(logout).header("Set-Cookie").find("seriatim=; ") == 0);
    CHECK(stage.ask(Ask::post("/api/v1/session", R"({"token":1})")).status == 422);
  }

  TEST_CASE("one recount runs at a time, and can be ended") {
    ConsoleStage stage;
    const auto path = "/api/v1/processes/p/recounts";
    const auto started = stage.ask(Ask::post(path, "{}", alice_token));
    CHECK(started.status == 202);
    CHECK(started.body == R"({"process":"p","started":true})");
    CHECK(stage.ask(Ask::post(path, "{}", alice_token)).status == 409);
    auto stop = Ask::post(path, "", alice_token);
    stop.method = "DELETE";
    CHECK(stage.ask(stop).status == 200);
    CHECK(stage.ask(Ask::post("/api/v1/processes/nobody/recounts", "{}", alice_token)).status ==
          404);
  }

  TEST_CASE("the page's files are answered for every path of the page") {
    ConsoleStage stage;
    const auto page = stage.ask(Ask::get("/"));
    CHECK(page.header("Content-Type") == "text/html; charset=utf-8");
    for (const char* path :
         {"/p/orders", "/p/orders/row?id=1", "/journal", "/instances", "/checks", "/login"}) {
      CHECK(stage.ask(Ask::get(path)).body == page.body);
    }
    CHECK(page.body.find("{assets}") == std::string::npos);
    const auto at = page.body.find("/assets/");
    REQUIRE(at != std::string::npos);
    const auto asset = page.body.substr(at, page.body.find('"', at) - at);
    const auto file = stage.ask(Ask::get(asset));
    CHECK(file.status == 200);
    CHECK(file.header("Cache-Control") == "public, max-age=31536000, immutable");
    CHECK(stage.ask(Ask::get("/assets/0000000000000000/console.css")).status == 404);
  }
}
