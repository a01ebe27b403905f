// Who may do what over HTTP. Each case has the number of the attack that it tries. Those that
// need a browser or a database are tried by the tests that have one.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "console/console_stage.hpp"
#include "seriatim/error.hpp"

using namespace seriatim;
using namespace seriatim::console;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const std::string acts = "/api/v1/processes/p/acts";

/// All requests that change something, as the table of routes has them.
std::vector<Ask> all_changes(ConsoleStage& stage, const std::string& token) {
  std::vector<Ask> changes;
  for (const auto& route : stage.api.routes()) {
    if (route.method == "GET" || route.path == "/api/v1/session") continue;
    auto path = route.path;
    path.replace(path.find("{process}"), 9, "p");
    auto ask = Ask::post(path, R"({"act":"retry","row":"1"})", token);
    ask.method = route.method;
    changes.push_back(ask);
  }
  return changes;
}

const std::vector<std::string> act_bodies{
    R"({"act":"retry","lane":0})",
    R"({"act":"pause"})",
    R"({"act":"resume"})",
    R"({"act":"skip","row":"1","reason":"r"})",
    R"({"act":"redrive","key":"k","reason":"r"})",
    R"({"act":"discard","row":"1","reason":"r"})",
    R"({"act":"rewind","place":"1","reason":"r","expect":{"plan":"h"},"confirm":"p"})"};

std::string cookie_of(ConsoleStage& stage, const std::string& token) {
  const auto reply = stage.ask(Ask::post("/api/v1/session", R"({"token":")" + token + "\"}"));
  CHECK(reply.status == 200);
  const auto set = reply.header("Set-Cookie");
  return set.substr(0, set.find(';'));
}

Ask status_with(const std::string& cookie) {
  return Ask::get("/api/v1/status").with("Cookie", cookie);
}

}  // namespace

TEST_SUITE("security of the console") {
  TEST_CASE("1: without a token nobody can act, from this machine neither") {
    ConsoleStage stage(nobody());
    CHECK(stage.ask(Ask::get("/api/v1/status")).status == 200);
    for (const auto& change : all_changes(stage, "")) {
      const auto reply = stage.ask(change);
      CHECK(reply.status == 403);
      CHECK(reply.body.find("set console.token or add a [[console.user]]") != std::string::npos);
    }
    CHECK(stage.ask(Ask::post(acts, act_bodies[0], "any-token-any-token-any")).status != 200);
    CHECK(stage.desk.acts().empty());
  }

  TEST_CASE("2: a wrong token may not act") {
    ConsoleStage stage;
    CHECK(stage.retry("wrong-token-wrong-token").status == 401);
    CHECK(stage.retry("").status == 401);
    CHECK(stage.desk.acts().empty());
  }

  TEST_CASE("3: the right token may act") {
    ConsoleStage stage;
    CHECK(stage.retry().status == 200);
    REQUIRE(stage.desk.acts().size() == 1);
  }

  TEST_CASE("4: a viewer may change nothing") {
    ConsoleStage stage;
    const auto changes = all_changes(stage, victor_token);
    CHECK(changes.size() == 4);
    for (const auto& change : changes) CHECK(stage.ask(change).status == 403);
    for (const auto& body : act_bodies) {
      CHECK(stage.ask(Ask::post(acts, body, victor_token)).status == 403);
    }
    CHECK(stage.ask(Ask::post("/api/v1/no/such/path", "{}", victor_token)).status == 403);
    CHECK(stage.desk.acts().empty());
  }

  TEST_CASE("5: an operator does each act under a name") {
    ConsoleStage stage;
    for (const auto& body : act_bodies) {
      CAPTURE(body);
      CHECK(stage.ask(Ask::post(acts, body, alice_token)).status == 200);
    }
    const auto done = stage.desk.acts();
    REQUIRE(done.size() == act_bodies.size());
    for (const auto& order : done) CHECK(order.who == "alice (console 127.0.0.1)");
    const auto reveal = Ask::post("/api/v1/processes/p/reveal", R"({"row":"4711"})", alice_token);
    CHECK(stage.ask(reveal).body == "{\"asked\":\"reveal p 4711 by alice (console 127.0.0.1)\"}");
    const auto why =
        Ask::post("/api/v1/processes/p/reveal", R"({"row":"4711","reason":"a call"})", alice_token);
    CHECK(stage.ask(why).body.find("by alice (console 127.0.0.1): a call") != std::string::npos);
  }

  TEST_CASE("6: a cookie alone does not act") {
    ConsoleStage stage;
    const auto cookie = cookie_of(stage, alice_token);
    CHECK(stage.ask(status_with(cookie)).status == 200);
    CHECK(stage.ask(Ask::post(acts, act_bodies[0]).with("Cookie", cookie)).status == 401);
    CHECK(stage.desk.acts().empty());
  }

  TEST_CASE("7: a cookie that has expired, is forged or of another key is none") {
    auto now = Access::Clock::now();
    ConsoleStage stage(Access::Settings{users(), {}, false, [&now] { return now; }});
    const auto cookie = cookie_of(stage, victor_token);
    CHECK(stage.ask(status_with(cookie)).status == 200);
    auto forged = cookie;
    forged.replace(forged.find("viewer"), 6, "operator");
    CHECK(stage.ask(status_with(forged)).status == 401);
    auto longer = cookie;
    longer.back() = longer.back() == '0' ? '1' : '0';
    CHECK(stage.ask(status_with(longer)).status == 401);
    auto others = users();
    others[0].token = "another-token-another-token";
    ConsoleStage elsewhere(Access::Settings{others});
    CHECK(stage.ask(status_with(cookie_of(elsewhere, others[0].token))).status == 401);
    for (const char* odd : {"", ".", "..", "...", "61.viewer.x.y", "%00.viewer.1.2"}) {
      CHECK(stage.ask(status_with(std::string("seriatim=") + odd)).status == 401);
    }
    now += 8h;
    CHECK(stage.ask(status_with(cookie)).status == 401);
  }

  TEST_CASE("8: a cookie ends with the token it was made from, and with the role") {
    ConsoleStage before;
    const auto cookie = cookie_of(before, alice_token);
    ConsoleStage same;
    CHECK(same.ask(status_with(cookie)).status == 200);  // every relay takes it
    auto changed = users();
    changed[0].token = "a-new-token-of-alice-2026";
    ConsoleStage after(Access::Settings{changed});
    CHECK(after.ask(status_with(cookie)).status == 401);
    auto demoted = users();
    demoted[0].role = Role::viewer;
    ConsoleStage later(Access::Settings{demoted});
    CHECK(later.ask(status_with(cookie)).status == 401);
  }

  TEST_CASE("9: a page of another origin is refused, one of ours is not") {
    ConsoleStage stage;
    const auto ask = Ask::post(acts, act_bodies[0], alice_token).without("Sec-Fetch-Site");
    CHECK(stage.ask(ask.with("Origin", "http://evil.example")).status == 403);
    CHECK(stage.ask(ask.with("Origin", "http://localhost:1")).status == 403);
    CHECK(stage.ask(ask).status == 403);
    for (const char* site : {"cross-site", "same-site", "none"}) {
      CHECK(stage.ask(ask.with("Sec-Fetch-Site", site).with("Origin", "http://localhost")).status ==
            403);
    }
    CHECK(stage.desk.acts().empty());
    CHECK(stage.ask(ask.with("Origin", "http://localhost")).status == 200);
  }

  TEST_CASE("10: an origin that is hidden is refused") {
    ConsoleStage stage;
    const auto ask = Ask::post(acts, act_bodies[0], alice_token).without("Sec-Fetch-Site");
    CHECK(stage.ask(ask.with("Origin", "null")).status == 403);
  }

  TEST_CASE("12: a form is refused, and so is what lacks the console's own header") {
    ConsoleStage stage;
    const auto ask = Ask::post(acts, act_bodies[0], alice_token);
    for (const char* type : {"application/x-www-form-urlencoded", "text/plain",
                             "multipart/form-data", "", "application/jsonx"}) {
      CHECK(stage.ask(ask.with("Content-Type", type)).status == 403);
    }
    CHECK(stage.ask(ask.without("Content-Type")).status == 403);
    CHECK(stage.ask(ask.without("Seriatim-Console")).status == 403);
    const auto login = Ask::post("/api/v1/session", R"({"token":")" + alice_token + "\"}");
    CHECK(stage.ask(login.without("Seriatim-Console")).status == 403);
    CHECK(stage.ask(ask.with("Content-Type", "application/json; charset=utf-8")).status == 200);
  }

  TEST_CASE("13: nobody is told that other sites may read") {
    ConsoleStage stage;
    auto ask = Ask::get("/api/v1/status")
                   .with("Origin", "http://evil.example")
                   .with("Access-Control-Request-Method", "POST");
    for (const char* method : {"OPTIONS", "GET", "POST"}) {
      ask.method = method;
      const auto reply = stage.ask(ask);
      CHECK(reply.status >= 401);
      CHECK(reply.head.find("Access-Control") == std::string::npos);
    }
  }

  TEST_CASE("14: a Host that is not ours is refused, for metrics too") {
    ConsoleStage stage(nobody());
    for (const char* path : {"/", "/metrics", "/livez", "/api/v1/status"}) {
      CHECK(stage.ask(Ask::get(path).with("Host", "evil.example")).status == 403);
      CHECK(stage.ask(Ask::get(path).with("Host", "localhost:8642")).status == 200);
    }
  }

  TEST_CASE("15: a Host that is doubled, absent or has a user is malformed") {
    ConsoleStage stage(nobody());
    CHECK(stage.raw("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n").status == 400);
    CHECK(stage.raw("GET / HTTP/1.1\r\n\r\n").status == 400);
    CHECK(stage.ask(Ask::get("/").with("Host", "user@localhost")).status == 400);
  }

  TEST_CASE("16: an act by GET is not there") {
    ConsoleStage stage;
    for (const char* path : {"/api/v1/processes/p/acts?act=retry", "/api/v1/processes/p/recounts",
                             "/api/v1/processes/p/reveal?row=1"}) {
      CHECK(stage.ask(Ask::get(path).with("Authorization", "Bearer " + alice_token)).status == 404);
    }
    CHECK(stage.desk.acts().empty());
  }

  TEST_CASE("18: every answer has the same guards, and the page has nothing inline") {
    ConsoleStage stage;
    const std::vector<std::string> targets{"/",          "/p/x",  "/nothing", "/api/v1/status",
                                           "/api/v1/me", "/livez"};
    for (const auto& target : targets) {
      CAPTURE(target);
      const auto reply = stage.ask(Ask::get(target));
      CHECK(reply.header("Content-Security-Policy") ==
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
            "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'");
      CHECK(reply.header("X-Content-Type-Options") == "nosniff");
      CHECK(reply.header("X-Frame-Options") == "DENY");
      CHECK(reply.header("Referrer-Policy") == "no-referrer");
      CHECK(reply.header("Cross-Origin-Opener-Policy") == "same-origin");
      CHECK(reply.header("Cross-Origin-Resource-Policy") == "same-origin");
      CHECK(reply.header("Cache-Control") == "no-store");
    }
    const auto page = stage.ask(Ask::get("/")).body;
    for (const char* inline_code : {"<script>", "<style", " style=", " onclick=", "javascript:"}) {
      CHECK(page.find(inline_code) == std::string::npos);
    }
  }

  TEST_CASE("19: names and messages that are HTML are told as JSON, never as a page") {
    ConsoleStage stage(nobody());
    const auto reply = stage.ask(Ask::get("/api/v1/processes/%3Cscript%3E/row?id=%3Cimg%3E"));
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Type") == "application/json");
    const auto missing = stage.ask(Ask::get("/<script>"));
    CHECK(missing.header("Content-Type") == "text/plain; charset=utf-8");
    CHECK(missing.body.find("script") == std::string::npos);
    CHECK(stage.ask(Ask::get("/p/%3Cscript%3E")).body.find("%3Cscript") == std::string::npos);
  }

  TEST_CASE("20: paths that climb or hold a NUL are not there") {
    ConsoleStage stage(nobody());
    for (const char* target : {"/assets/../", "/assets/%2e%2e/", "/p/..", "/p/%2e%2e", "/p/%2E",
                               "/p/a%00b", "/p/%ff", "/p/%", "/p/%4", "/api/v1/processes/../rows",
                               "/api/v1/processes/%2e%2e/rows", "//", "/p/", "http://localhost/"}) {
      CAPTURE(target);
      CHECK(stage.ask(Ask::get(target)).status == 404);
    }
    CHECK(stage.ask(Ask::get("/p/%C3%A4%20%2F")).status == 200);
  }

  TEST_CASE("25: a sixth wrong token waits a minute, and another peer does not") {
    auto now = Access::Clock::now();
    ConsoleStage stage(Access::Settings{users(), {}, false, [&now] { return now; }});
    const auto log_in = [&](const std::string& token, const char* from = "127.0.0.1") {
      return stage.ask(Ask::post("/api/v1/session", R"({"token":")" + token + "\"}"), from).status;
    };
    for (int i = 0; i < 5; ++i) CHECK(log_in("wrong") == 401);
    CHECK(log_in("wrong") == 429);
    CHECK(log_in(alice_token) == 429);  // else it would say which token is right
    CHECK(stage.retry().status == 429);
    CHECK(log_in(alice_token, "127.0.0.2") == 200);
    for (const char* from : {"127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"}) {
      for (int i = 0; i < 5; ++i) CHECK(log_in("wrong", from) == 401);
    }
    CHECK(log_in("wrong", "127.0.0.8") == 429);      // thirty in all
    CHECK(log_in(alice_token, "127.0.0.2") == 200);  // was right before
    now += 61s;
    CHECK(log_in(alice_token) == 200);
  }

  TEST_CASE("26: forwarded headers change nothing without the proxy's secret") {
    const TrustedProxy proxy{{"127.0.0.5/32"}, "proxy-secret-proxy-secret", "X-Forwarded-User"};
    auto all = users();
    all.push_back({"operator", console::Role::operator_, "shared-token-shared-token", true});
    ConsoleStage stage(Access::Settings{all, proxy});
    const auto ask = Ask::get("/api/v1/status").with("X-Forwarded-User", "alice");
    CHECK(stage.ask(ask.with("X-Forwarded-For", "127.0.0.1")).status == 401);
    CHECK(stage.ask(ask, "127.0.0.5").status == 401);
    const auto through = ask.with("Seriatim-Proxy", proxy.secret);
    CHECK(stage.ask(through).status == 401);
    CHECK(stage.ask(ask.with("Seriatim-Proxy", "wrong"), "127.0.0.5").status == 401);
    CHECK(stage.ask(through, "127.0.0.5").status == 200);
    const auto act = Ask::post(acts, act_bodies[0]).with("Seriatim-Proxy", proxy.secret);
    CHECK(stage.ask(act.with("X-Forwarded-User", "victor"), "127.0.0.5").status == 403);
    CHECK(stage.ask(act.with("X-Forwarded-User", "stranger"), "127.0.0.5").status == 403);
    // The name of the shared token is nobody's own.
    CHECK(stage.ask(act.with("X-Forwarded-User", "operator"), "127.0.0.5").status == 403);
    const auto alices = act.with("X-Forwarded-User", "alice");
    CHECK(stage.ask(alices.without("Sec-Fetch-Site"), "127.0.0.5").status == 403);
    CHECK(stage.ask(alices, "127.0.0.5").status == 200);
    CHECK(stage.desk.acts().front().who == "alice (console 127.0.0.5)");
    auto twice = alices.text();
    twice.insert(twice.find("X-Forwarded-User"), "X-Forwarded-User: victor\r\n");
    CHECK(stage.raw(twice, "127.0.0.5").status == 401);  // one may be the client's own
    CHECK(
        stage
            .ask(ask.with("Seriatim-Proxy", proxy.secret).with("X-Forwarded-User", ""), "127.0.0.5")
            .status == 401);
    CHECK(stage.desk.acts().size() == 1);
  }

  TEST_CASE("28: tokens and what is to be redacted are in no answer and no event") {
    ConsoleStage stage;
    const auto check = [&](const Reply& reply) {
      for (const auto& secret : {alice_token, victor_token, std::string("canary")}) {
        CHECK(reply.head.find(secret) == std::string::npos);
        CHECK(reply.body.find(secret) == std::string::npos);
      }
    };
    for (const auto& route : stage.api.routes()) {
      auto path = route.path;
      if (path.ends_with("/events")) continue;
      if (const auto at = path.find('{'); at != std::string::npos) path.replace(at, 9, "p");
      check(stage.ask(Ask::get(path).with("Authorization", "Bearer " + alice_token)));
      check(stage.ask(Ask::post(path, R"({"token":")" + alice_token + "\"}", victor_token)));
    }
    stage.desk.on_act = [](const Order&) -> std::string { throw Error("password=canary"); };
    const auto failed = stage.retry();
    CHECK(failed.status == 503);
    CHECK(failed.body.find("password=***") != std::string::npos);
    check(failed);
    stage.desk.on_status = []() -> std::string { throw Error("password=canary"); };
    auto client = client_of(*stage.server);
    client.send(Ask::get("/api/v1/events").with("Authorization", "Bearer " + alice_token).text());
    (void)client.until("event: trouble\n");
    CHECK(client.until("\n\n") == "data: {\"detail\":\"password=***\"}\n\n");
  }
}
