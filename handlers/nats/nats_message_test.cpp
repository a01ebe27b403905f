// A record as a message of NATS, and what JetStream answers to it.
#include "nats/nats_message.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "nats/publish_ack.hpp"
#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;

namespace {

NatsMessage make(const Record& record, const NatsHandlerConfig& config = {}) {
  return NatsMessageMaker(config).make(record);
}

std::string subject_problem(const std::string& event_type) {
  NatsHandlerConfig config;
  config.subject = "events.{{event_type}}";
  if (event_type.starts_with('$')) config.subject = "{{event_type}}";
  auto record = make_record("{}");
  record.event_type = event_type;
  try {
    (void)make(record, config);
    return "";
  } catch (const CannotRender& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a message has the record's names as headers, and an id to be known again by") {
  auto record = make_record("{}");
  record.headers = {{"traceparent", "00-4bf9"},
                    {"Nats-Rollup", "all"},
                    {"nats-msg-id", "forged"},
                    {"Seriatim-Epoch", "forged"},
                    {"x-note", " blåbær "}};
  record.late = true;
  const auto made = make(record);
  CHECK(made.subject == "bookings.2");
  const std::vector<Header> headers{{"Nats-Msg-Id", "bookings:4711"},
                                    {"id", "4711"},
                                    {"event-type", "booking.created"},
                                    {"key", "customer-7"},
                                    {"content-type", "application/json"},
                                    {"seriatim-process", "bookings"},
                                    {"seriatim-lane", "2"},
                                    {"seriatim-sequence", "42"},
                                    {"seriatim-epoch", "3"},
                                    {"seriatim-late", "true"},
                                    {"traceparent", "00-4bf9"},
                                    {"x-note", " blåbær "}};
  CHECK(made.headers == headers);
  CHECK(made.body.bytes() == "{}");
}

TEST_CASE("a record cannot command the server, nor write header lines of its own") {
  CHECK(subject_problem("booking.created") == "");
  CHECK(subject_problem("$JS.API.STREAM.DELETE.EVENTS") == "the subject begins with $");
  CHECK(subject_problem("a b") == "the subject holds a blank or a control character");
  CHECK(subject_problem("a\r\nPUB x 1") == "the subject holds a blank or a control character");
  CHECK(subject_problem("a..b") == "a part of the subject between dots is empty");
  CHECK(subject_problem("") == "a part of the subject between dots is empty");
  CHECK(subject_problem("a.>") == "the subject holds a wildcard");
  CHECK(subject_problem("*.a") == "the subject holds a wildcard");
  CHECK(subject_problem(std::string(1'000, 'x')) == "the subject is over 1000 bytes");
  for (const Header& header : {Header{"a", "b\r\nc: d"}, Header{"a", std::string("b\0c", 3)},
                               Header{"a:b", "c"}, Header{"", "c"}, Header{"a b", "c"}}) {
    auto record = make_record("{}");
    record.headers = {header};
    CHECK_THROWS_AS((void)make(record), CannotRender);
  }
  auto record = make_record("{}");
  record.key = "two\nlines";
  CHECK_THROWS_AS((void)make(record), CannotRender);
}

TEST_CASE("CloudEvents in binary mode are headers of their own") {
  NatsHandlerConfig config;
  config.form.body = MessageFormConfig::Body::cloudevents;
  auto record = make_record("{}");
  record.event_type = "caf\xc3\xa9";
  const auto made = make(record, config);
  const Header type{"ce-type", "caf%C3%A9"};
  CHECK(std::find(made.headers.begin(), made.headers.end(), type) != made.headers.end());
}

TEST_CASE("an acknowledgement says where the message is, or why it is not there") {
  const auto stored = parse_publish_ack(R"({"stream":"ROWS","seq":7})");
  CHECK(stored.is_stored());
  CHECK(stored.stream == "ROWS");
  CHECK(stored.sequence == 7);
  CHECK_FALSE(stored.duplicate);
  const auto repeat =
      parse_publish_ack(R"({"stream":"ROWS","seq":18446744073709551615,"duplicate":true})");
  CHECK(repeat.is_stored());
  CHECK(repeat.duplicate);
  CHECK(repeat.sequence == 18'446'744'073'709'551'615U);
  const auto wrong = parse_publish_ack(
      R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},"stream":"ROWS","seq":0})");
  CHECK(wrong.is_wrong_sequence());
  CHECK(wrong.stream_ends_at() == 12);
  CHECK(wrong.stream == "ROWS");
  CHECK_FALSE(wrong.is_against_the_row());
  const auto large = parse_publish_ack(
      R"({"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}})");
  CHECK(large.is_against_the_row());
  CHECK_FALSE(large.stream_ends_at());
  for (const char* text : {"", "+OK", "{}", "[]", R"({"stream":"ROWS"})", R"({"seq":1})",
                           R"({"error":{}})", R"({"error":"x","stream":"S","seq":1})"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_publish_ack(text).is_stored());
  }
}
