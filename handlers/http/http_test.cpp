// The http handler against a real server: what goes over the wire, and what answers mean.
#include <doctest/doctest.h>

#include <algorithm>

#include "http/http_handler.hpp"
#include "lab/http/http_service.hpp"
#include "support/encoding.hpp"
#include "support/handler_calls.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

HttpHandlerConfig config_for(const HttpService& receiver, const std::string& path = "/hook") {
  HttpHandlerConfig config;
  config.target.url = receiver.url(path);
  config.target.pass_headers = {"traceparent"};
  config.target.client.allow_private = true;
  return config;
}

Outcome deliver(HttpHandler& handler, const Record& record, std::chrono::milliseconds time = 10s) {
  return outcome_of(handler, record, call_within(time));
}

Outcome deliver(const HttpHandlerConfig& config, const Record& record,
                std::chrono::milliseconds time = 10s) {
  HttpHandler handler(config);
  return deliver(handler, record, time);
}

}  // namespace

TEST_CASE("a record is one POST with the payload's bytes and the delivery headers") {
  HttpService receiver;
  auto record = make_record("{ \"a\" :1e400,\n\"b\":\"\xf0\x9f\x98\x80\"}");
  record.headers = {{"TraceParent", "00-abc-def-01"}, {"private", "not passed"}};
  record.attempt = 2;
  CHECK(deliver(config_for(receiver, "/hook?a=b%20c"), record).is_done());

  const auto request = receiver.last_request();
  CHECK(request.method == "POST");
  CHECK(request.target == "/hook?a=b%20c");
  CHECK(request.body == *record.payload);
  CHECK(request.header("host") == "127.0.0.1:" + std::to_string(receiver.port()));
  CHECK(request.header("content-type") == "application/json");
  CHECK(request.header("idempotency-key") == "bookings:4711");
  CHECK(request.header("seriatim-process") == "bookings");
  CHECK(request.header("seriatim-lane") == "2");
  CHECK(request.header("seriatim-sequence") == "42");
  CHECK(request.header("seriatim-epoch") == "3");
  CHECK(request.header("seriatim-attempt") == "2");
  CHECK(request.header("seriatim-previous-id") == "4710");
  CHECK_FALSE(request.header("seriatim-late"));
  CHECK(request.header("traceparent") == "00-abc-def-01");
  CHECK(!request.header("private"));
  CHECK(!request.header("webhook-id"));
  CHECK(!request.header("accept-encoding"));
}

TEST_CASE("payload bytes arrive exactly as stored") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver));
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  for (const auto& payload : {std::string(), std::string("a\0b", 3), std::string("\xef\xbb\xbf{}"),
                              std::string("\xff\xfe invalid"), deep, std::string(300'000, 'x')}) {
    CHECK(deliver(handler, make_record(payload)).is_done());
    CHECK(receiver.last_request().body == payload);
  }
  CHECK(receiver.connections_accepted() == 1);
}

TEST_CASE("a NULL payload is poison, not an empty request") {
  HttpService receiver;
  auto record = make_record("");
  record.payload.reset();
  CHECK(deliver(config_for(receiver), record).kind == Kind::poison);
  CHECK(receiver.request_count() == 0);
}

TEST_CASE("the class table of the HTTP contract") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver));
  const std::vector<std::pair<int, Kind>> table = {
      {200, Kind::done},        {201, Kind::done},        {202, Kind::done},
      {204, Kind::done},        {299, Kind::done},        {300, Kind::poison},
      {301, Kind::poison},      {302, Kind::poison},      {304, Kind::poison},
      {307, Kind::poison},      {308, Kind::poison},      {400, Kind::poison},
      {401, Kind::poison},      {403, Kind::poison},      {404, Kind::poison},
      {408, Kind::retry_later}, {410, Kind::poison},      {413, Kind::poison},
      {422, Kind::poison},      {425, Kind::retry_later}, {429, Kind::retry_later},
      {451, Kind::poison},      {500, Kind::retry_later}, {501, Kind::retry_later},
      {502, Kind::retry_later}, {503, Kind::retry_later}, {504, Kind::retry_later},
      {599, Kind::retry_later}, {600, Kind::retry_later}, {999, Kind::retry_later}};
  for (const auto& [status, kind] : table) {
    const auto& shown = status;
    CAPTURE(shown);
    receiver.push(Reply::with_status(status));
    CHECK(deliver(handler, make_record("{}")).kind == kind);
  }
  CHECK(receiver.request_count() == table.size());
}

TEST_CASE("a record's value never climbs the URL's path") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver, "/tenants/{{key}}/hook?of={{key}}"));
  auto record = make_record("{}");
  for (const auto* key : {"..", "."}) {
    CAPTURE(key);
    record.key = key;
    const auto outcome = deliver(handler, record);
    CHECK(outcome.kind == Kind::poison);
    CHECK(outcome.reason ==
          "the record gives the URL a path segment . or .., which leads elsewhere");
  }
  CHECK(receiver.request_count() == 0);
  for (const auto* key : {"...", "a..b", "../x"}) {
    CAPTURE(key);
    record.key = key;
    CHECK(deliver(handler, record).is_done());
  }
  CHECK(receiver.last_request().target == "/tenants/..%2Fx/hook?of=..%2Fx");
}

TEST_CASE("a redirect is not followed, inside or outside") {
  HttpService receiver;
  HttpService elsewhere;
  for (const auto& to : {receiver.url("/other"), elsewhere.url("/")}) {
    auto reply = Reply::with_status(302);
    reply.headers = {{"Location", to}};
    receiver.push(reply);
    CHECK(deliver(config_for(receiver), make_record("{}")).kind == Kind::poison);
  }
  CHECK(receiver.request_count() == 2);
  CHECK(elsewhere.request_count() == 0);
}

TEST_CASE("success with an error in its body is success, and interim answers are passed over") {
  HttpService receiver;
  receiver.push(Reply::with_status(200, R"({"error":"no"})"));
  CHECK(deliver(config_for(receiver), make_record("{}")).is_done());
  Reply reply;
  reply.raw =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
  receiver.push(reply);
  CHECK(deliver(config_for(receiver), make_record("{}")).is_done());
}

TEST_CASE("Retry-After is passed on") {
  HttpService receiver;
  for (const auto& [value, wait] :
       std::vector<std::pair<std::string, std::optional<std::chrono::milliseconds>>>{
           {"7", 7s},
           {"-1", std::nullopt},
           {"1000000000", std::chrono::days(366)},
           {"soon", std::nullopt}}) {
    auto reply = Reply::with_status(429);
    reply.headers = {{"Retry-After", value}};
    receiver.push(reply);
    const auto outcome = deliver(config_for(receiver), make_record("{}"));
    CHECK(outcome.kind == Kind::retry_later);
    CHECK(outcome.retry_after == wait);
  }
}

TEST_CASE("the reason holds what the receiver said, escaped, cut and without secrets") {
  HttpService receiver;
  auto config = config_for(receiver, "/services/T0123456789abcdefg?api_key=query-canary-0123");
  config.target.username = "user";
  config.target.password = "canary-password";
  config.target.headers = {{"X-Api-Key", "canary-header"}};
  config.secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"};
  receiver.reply_with([](const ReceivedRequest& request) {
    return Reply::with_status(422, "no \x1b[31m\r\n" + request.target +
                                       *request.header("x-api-key") +
                                       *request.header("authorization") + " " + request.body + " " +
                                       base64_encode("x") + std::string(1000, 'y'));
  });
  const auto outcome = deliver(config, make_record(R"({"card":"canary-payload"})"));
  CHECK(outcome.kind == Kind::poison);
  CHECK(outcome.reason.starts_with("HTTP 422: no \\x1b[31m\\r\\n/services/[redacted]"));
  CHECK(outcome.reason.size() < 250);
  CHECK(outcome.reason.find("canary") == std::string::npos);
  CHECK(outcome.reason.find(base64_encode("user:canary-password")) == std::string::npos);
}

TEST_CASE("the answer lost after sending is unknown, and the next attempt repeats the key") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver));
  auto record = make_record("{\"a\":1}");
  receiver.push(Reply::doing(Reply::Act::reset_before_answer));
  CHECK(deliver(handler, record).kind == Kind::unknown);
  record.attempt = 2;
  CHECK(deliver(handler, record).is_done());
  const auto requests = receiver.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].header("idempotency-key") == requests[1].header("idempotency-key"));
  CHECK(requests[0].header("seriatim-sequence") == requests[1].header("seriatim-sequence"));
  CHECK(requests[0].body == requests[1].body);
  CHECK(requests[0].header("seriatim-attempt") == "1");
  CHECK(requests[1].header("seriatim-attempt") == "2");
}

TEST_CASE(
    "the third answer in a row that cannot be read halts; an operator's retry has three more") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver));
  Reply garbage;
  garbage.raw = "220 smtp.example ESMTP\r\n";
  Reply endless;
  endless.raw = "HTTP/1.1 200 OK\r\nX: " + std::string(1 << 20, 'x');
  const auto lost = Reply::doing(Reply::Act::reset_before_answer);
  receiver.push({garbage, endless, garbage, garbage, garbage, garbage});
  for (int round = 0; round < 2; ++round) {
    for (const bool last : {false, false, true}) {
      const auto outcome = deliver(handler, make_record("{}"));
      CHECK(outcome.kind == Kind::unknown);
      CHECK(outcome.must_halt == last);
    }
  }
  SUBCASE("an answer in between begins the row anew") {
    receiver.push({garbage, garbage, Reply::with_status(503), garbage, garbage, garbage});
    for (const bool last : {false, false, false, false, false, true}) {
      CHECK(deliver(handler, make_record("{}")).must_halt == last);
    }
  }
  SUBCASE("a lost answer is none, and neither counts nor begins anew") {
    receiver.push({garbage, lost, garbage, lost, garbage});
    for (const bool last : {false, false, false, false, true}) {
      CHECK(deliver(handler, make_record("{}")).must_halt == last);
    }
  }
  SUBCASE("a part of an answer, closed in good order, is one of the three") {
    Reply part;
    part.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
    part.close_after = true;
    receiver.push({part, part, part});
    for (const bool last : {false, false, true}) {
      CHECK(deliver(handler, make_record("{}")).must_halt == last);
    }
  }
  SUBCASE("another row begins anew") {
    receiver.push({garbage, garbage, garbage, garbage, garbage});
    for (const bool last : {false, false}) {
      CHECK(deliver(handler, make_record("{}", "1")).must_halt == last);
    }
    for (const bool last : {false, false, true}) {
      CHECK(deliver(handler, make_record("{}", "2")).must_halt == last);
    }
  }
}

TEST_CASE(
    "the reason shows the first 200 bytes of what came instead of an answer, no secret in it") {
  HttpService receiver;
  auto config = config_for(receiver);
  config.target.token = "canary-token-0123";
  HttpHandler handler(config);
  receiver.reply_with([](const ReceivedRequest& request) {
    Reply reply;
    reply.raw = "echo\x1b[31m\r\n" + *request.header("authorization") + " " + request.body +
                std::string(300, 'y');
    return reply;
  });
  const auto first = deliver(handler, make_record(R"({"card":"canary-payload"})"));
  CHECK(first.reason ==
        "sent, but the answer cannot be read (no HTTP status line); it begins: "
        "echo\\x1b[31m\\r\\n[redacted] [redacted]" +
            std::string(200 - 32, 'y'));
  (void)deliver(handler, make_record(R"({"card":"canary-payload"})"));
  const auto third = deliver(handler, make_record(R"({"card":"canary-payload"})"));
  CHECK(third.reason == "3 times in a row (check what the receiver did): " + first.reason);

  receiver.reply_with([](const ReceivedRequest&) {
    Reply reply;
    reply.raw = std::string(1000, '\xff');
    return reply;
  });
  const auto binary = deliver(handler, make_record("{}", "another")).reason;
  CHECK(binary.size() + 50 < Outcome::reason_bytes_max);
  CHECK(binary.find("\\xff\\xff") != std::string::npos);
}

TEST_CASE("a receiver that hangs costs the deadline, or the handler's own timeout") {
  HttpService receiver;
  receiver.reply_with(Reply::doing(Reply::Act::hang));
  auto config = config_for(receiver);
  auto began = std::chrono::steady_clock::now();
  CHECK(deliver(config, make_record("{}"), 150ms).kind == Kind::unknown);
  CHECK(std::chrono::steady_clock::now() - began < 2s);
  config.target.timeout = 150ms;
  began = std::chrono::steady_clock::now();
  CHECK(deliver(config, make_record("{}"), 60s).kind == Kind::unknown);
  CHECK(std::chrono::steady_clock::now() - began < 2s);
}

TEST_CASE(
    "a stop during the wait for an answer lets the record in flight be finished, and no other "
    "begin") {
  HttpService receiver;
  std::stop_source stop;
  receiver.reply_with([&](const ReceivedRequest&) {
    stop.request_stop();
    auto late = Reply::with_status(200);
    late.delay = 50ms;
    return late;
  });
  HttpHandler handler(config_for(receiver));
  const std::vector<Record> batch{make_record("{}", "1"), make_record("{}", "2")};
  auto context = call_within(10s);
  context.stop = stop.get_token();
  const auto outcome = handler.handle(batch, context);
  CHECK(outcome.done == 1);
  CHECK_FALSE(outcome.next);
  CHECK(receiver.request_count() == 1);
}

TEST_CASE("nothing listening is retried, a private target is poison") {
  HttpService receiver;
  auto config = config_for(receiver);
  config.target.client.allow_private = false;
  const auto refused = deliver(config, make_record("{}"));
  CHECK(refused.kind == Kind::poison);
  CHECK(refused.reason.find("a loopback address; set allow_private = true") != std::string::npos);
  CHECK(receiver.connections_accepted() == 0);

  receiver.push(Reply::doing(Reply::Act::close_before_reading));
  CHECK(deliver(config_for(receiver), make_record(std::string(32 << 20, 'x'))).kind ==
        Kind::retry_later);
}

TEST_CASE("a signed record carries one id and a new time at each attempt") {
  HttpService receiver;
  auto config = config_for(receiver);
  config.secrets = {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                    "whsec_" + base64_encode(std::string(32, 'k'))};
  auto now = std::chrono::system_clock::time_point(1'614'265'330s);
  config.now = [&] { return now; };
  HttpHandler handler(config);
  auto record = make_record(R"({"test": 2432232314})");
  CHECK(deliver(handler, record).is_done());
  now += 90s;
  record.attempt = 2;
  CHECK(deliver(handler, record).is_done());
  const WebhookSigner signer(config.secrets);
  const auto requests = receiver.requests();
  REQUIRE(requests.size() == 2);
  for (const auto& request : requests) CHECK(request.header("webhook-id") == "bookings:4711");
  CHECK(requests[0].header("webhook-timestamp") == "1614265330");
  CHECK(requests[1].header("webhook-timestamp") == "1614265420");
  CHECK(requests[1].header("webhook-signature") ==
        signer.sign("bookings:4711", 1'614'265'420, *record.payload));
  CHECK(requests[0].header("webhook-signature") != requests[1].header("webhook-signature"));
}

TEST_CASE("CloudEvents binary mode: attributes as headers, the payload as it is") {
  HttpService receiver;
  auto config = config_for(receiver);
  config.form.body = MessageFormConfig::Body::cloudevents;
  auto record = make_record("{\"a\": 1}");
  record.event_type = "caf\xc3\xa9 \"100%\"\r\nX-Injected: y";
  CHECK(deliver(config, record).is_done());
  const auto request = receiver.last_request();
  CHECK(request.body == "{\"a\": 1}");
  CHECK(request.header("content-type") == "application/json");
  CHECK(request.header("ce-specversion") == "1.0");
  CHECK(request.header("ce-id") == "4711");
  CHECK(request.header("ce-source") == "seriatim:bookings");
  CHECK(request.header("ce-type") == "caf%C3%A9%20%22100%25%22%0D%0AX-Injected:%20y");
  CHECK(request.header("ce-subject") == "customer-7");
  CHECK(request.header("ce-time") == "2023-11-14T22:13:20.123456Z");
  CHECK(!request.header("x-injected"));
}

TEST_CASE("CloudEvents structured mode: one envelope, its data untouched") {
  HttpService receiver;
  auto config = config_for(receiver);
  config.form.body = MessageFormConfig::Body::cloudevents_structured;
  CHECK(deliver(config, make_record("{\"n\":12345678901234567890123}")).is_done());
  CHECK(receiver.last_request().header("content-type") == "application/cloudevents+json");
  CHECK(receiver.last_request().body ==
        R"({"specversion":"1.0","id":"4711","source":"seriatim:bookings",)"
        R"("type":"booking.created","subject":"customer-7","time":"2023-11-14T22:13:20.123456Z",)"
        R"("datacontenttype":"application/json","data":{"n":12345678901234567890123}})");
  CHECK(deliver(config, make_record("\xff")).is_done());
  CHECK(receiver.last_request().body.ends_with(R"("data_base64":"/w=="})"));
}

TEST_CASE("a body template escapes for JSON, and what is missing is poison before sending") {
  HttpService receiver;
  auto config = config_for(receiver, "/to/{{payload.who}}?id={{id}}");
  config.form.body = MessageFormConfig::Body::rendered;
  config.form.body_template = R"({"text":"{{payload.text}}","all":{{{payload}}}})";
  CHECK(deliver(config, make_record(R"({"text":"a\"b","who":"x/../y?z"})")).is_done());
  CHECK(receiver.last_request().body ==
        R"({"text":"a\"b","all":{"text":"a\"b","who":"x/../y?z"}})");
  CHECK(receiver.last_request().target == "/to/x%2F..%2Fy%3Fz?id=4711");
  CHECK(deliver(config, make_record(R"({"text":"a"})")).kind == Kind::poison);
  CHECK(receiver.request_count() == 1);
}

TEST_CASE("ids and headers cannot write header lines of their own") {
  HttpService receiver;
  HttpHandler handler(config_for(receiver));
  auto record = make_record("{}", "a\r\nX-Injected: b %0d%0a \xc3\xa6");
  CHECK(deliver(handler, record).is_done());
  CHECK(receiver.last_request().header("idempotency-key") ==
        "bookings:a%0D%0AX-Injected:%20b%20%250d%250a%20%C3%A6");
  CHECK(!receiver.last_request().header("x-injected"));
  for (const auto& value :
       {std::string("00\r\nX-Injected: c"), std::string("0\0", 2), std::string(65536, 'x')}) {
    record.headers = {{"traceparent", value}};
    const auto outcome = deliver(handler, record);
    CHECK(outcome.kind == Kind::poison);
    CHECK(outcome.reason.find("traceparent") != std::string::npos);
  }
  record.headers = {{"traceparent", "%0d%0aX: y \xc3\xa6"}};
  CHECK(deliver(handler, record).is_done());
  CHECK(receiver.last_request().header("traceparent") == "%0d%0aX: y \xc3\xa6");
  CHECK(receiver.request_count() == 2);
}

TEST_CASE("a rendering masks what the handler knows as secret, and sends nothing") {
  const HttpService receiver;
  auto config = config_for(receiver, "/canary-canary-canary/{{id}}?page=2");
  config.target.headers = {{"X-Tenant", "canary"}};
  config.target.username = "robot";
  config.target.password = "canary";
  config.secrets = {"whsec_" + base64_encode("canary-canary-canary-canary")};
  const auto shown = HttpHandler(config).render(make_record("{}")).value();
  CHECK(shown.envelope ==
        std::vector<Header>{{"method", "POST"}, {"url", receiver.url("/***/4711?page=2")}});
  const auto value = [&](const std::string& name) {
    const auto found = std::find_if(shown.headers.begin(), shown.headers.end(),
                                    [&](const Header& header) { return header.first == name; });
    return found == shown.headers.end() ? "none" : found->second;
  };
  CHECK(value("Authorization") == masked);
  CHECK(value("X-Tenant") == masked);
  CHECK(value("webhook-signature") == masked);
  CHECK(value("webhook-timestamp") == "<time of the call>");
  CHECK(value("webhook-id") == "bookings:4711");
  CHECK(shown.body == "{}");
  CHECK(receiver.connections_accepted() == 0);
}
