// The sms handler against a server that answers as the large providers do.
#include <doctest/doctest.h>

#include "lab/http/http_service.hpp"
#include "seriatim/registry.hpp"
#include "sms/provider_error.hpp"
#include "sms/sms_handler.hpp"
#include "support/encoding.hpp"
#include "support/handler_calls.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::lab;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

SmsHandlerConfig config_for(const HttpService& receiver) {
  SmsHandlerConfig config;
  config.target.url = receiver.url("/2010-04-01/Accounts/AC1/Messages.json");
  config.target.username = "AC1";
  config.target.password = "canary-password";
  config.target.client.allow_private = true;
  config.to = "{{payload.phone}}";
  config.from = "+4560000000";
  config.body = "Booked for {{payload.starts_at}}";
  return config;
}

Outcome deliver(const SmsHandlerConfig& config, const std::string& payload) {
  SmsHandler handler(config);
  return outcome_of(handler, make_record(payload), call_within(10s));
}

const std::string booking = R"({"phone":"+4512345678","starts_at":"20:00 & later – æ"})";

}  // namespace

TEST_CASE("a record is one form POST with To, From and Body") {
  HttpService receiver;
  receiver.push(Reply::with_status(201, R"({"sid":"SM1"})"));
  CHECK(deliver(config_for(receiver), booking).is_done());
  const auto request = receiver.last_request();
  CHECK(request.method == "POST");
  CHECK(request.target == "/2010-04-01/Accounts/AC1/Messages.json");
  CHECK(request.header("content-type") == "application/x-www-form-urlencoded");
  CHECK(request.header("authorization") == "Basic " + base64_encode("AC1:canary-password"));
  CHECK(request.header("idempotency-key") == "bookings:4711");
  CHECK(request.header("seriatim-sequence") == "42");
  CHECK(request.body ==
        "To=%2B4512345678&From=%2B4560000000&Body=Booked+for+20%3A00+%26+later+%E2%80%93+%C3%A6");
}

TEST_CASE("a number that is none is poison before anything is sent, and is not quoted") {
  HttpService receiver;
  for (const auto* number :
       {"", "12345678", "4512345678", "+0512345678", "+45 12 34 56 78", "+45123",
        "+1234567890123456", "+45123456a8", "+4512345678\r\nX: y", "+4512345678&To=+1900"}) {
    const auto outcome = deliver(config_for(receiver),
                                 R"({"starts_at":"x","phone":")" + json_escape(number) + "\"}");
    CHECK(outcome.kind == Kind::poison);
    CHECK(outcome.reason.find("E.164") != std::string::npos);
    CHECK(outcome.reason.find("345678") == std::string::npos);
  }
  CHECK(receiver.request_count() == 0);
}

TEST_CASE("what the record lacks is poison that names it") {
  HttpService receiver;
  CHECK(deliver(config_for(receiver), R"({"starts_at":"x"})").reason ==
        "the template needs {{payload.phone}}, which this record lacks or has as null");
  CHECK(deliver(config_for(receiver), R"({"phone":"+4512345678"})").kind == Kind::poison);
  CHECK(deliver(config_for(receiver), "not json").kind == Kind::poison);
  auto config = config_for(receiver);
  config.body = "{{payload.text}}";
  CHECK(deliver(config, R"({"phone":"+4512345678","text":""})").kind == Kind::poison);
  CHECK(receiver.request_count() == 0);
}

TEST_CASE("the provider's code and message make the reason, without number, text or password") {
  HttpService receiver;
  receiver.push(Reply::with_status(
      400,
      R"({"code":21211,"message":"The 'To' number +4512345678 (4512345678) is not valid. \u001b[31m canary-password","more_info":"https://x","status":400})"));
  const auto outcome = deliver(config_for(receiver), booking);
  CHECK(outcome.kind == Kind::poison);
  CHECK(outcome.reason ==
        "HTTP 400: code 21211: The 'To' number [redacted] ([redacted]) is not "
        "valid. \\x1b[31m [redacted]");
}

TEST_CASE("answers are classed as the http handler does") {
  HttpService receiver;
  auto busy = Reply::with_status(429, R"({"code":20429,"message":"Too many requests"})");
  busy.headers = {{"Retry-After", "3"}};
  receiver.push({busy, Reply::with_status(503), Reply::with_status(401),
                 Reply::doing(Reply::Act::close_before_answer)});
  const auto later = deliver(config_for(receiver), booking);
  CHECK(later.kind == Kind::retry_later);
  CHECK(later.retry_after == 3s);
  CHECK(later.reason == "HTTP 429: code 20429: Too many requests");
  CHECK(deliver(config_for(receiver), booking).kind == Kind::retry_later);
  CHECK(deliver(config_for(receiver), booking).kind == Kind::poison);
  CHECK(deliver(config_for(receiver), booking).kind == Kind::unknown);
}

TEST_CASE(
    "the third answer in a row that cannot be read halts, and quotes neither number nor text") {
  HttpService receiver;
  receiver.reply_with([](const ReceivedRequest&) {
    Reply reply;
    reply.raw = "sent \"Booked for 20:00 & later – æ\" to +4512345678";
    return reply;
  });
  auto config = config_for(receiver);
  config.target.client.keep_alive = false;
  SmsHandler handler(config);
  for (const bool last : {false, false, true}) {
    const auto outcome = outcome_of(handler, make_record(booking), call_within(10s));
    CHECK(outcome.kind == Kind::unknown);
    CHECK(outcome.must_halt == last);
    CHECK(outcome.reason.ends_with("it begins: sent \"[redacted]\" to [redacted]"));
  }
  CHECK(receiver.last_request().header("connection") == "close");
}

TEST_CASE("an error that is not in the usual shape is reported as it is") {
  CHECK(provider_error_text("plain") == "plain");
  CHECK(provider_error_text("") == "");
  CHECK(provider_error_text("[1]") == "[1]");
  CHECK(provider_error_text(R"({"message":"m"})") == "m");
  CHECK(provider_error_text(R"({"code":"E7"})") == "code E7");
}
