// How records become messages: the payload forms of all handlers.
#include <doctest/doctest.h>

#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"
#include "support/handler_table.hpp"
#include "support/message_form.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Body = MessageFormConfig::Body;

namespace {

Read<MessageFormConfig> read(const Values& values) {
  return read_table(read_message_form, values);
}

bool complains(const Values& values, std::string_view about) {
  return complains(read(values), about);
}

MessageForm form_of(Body body, const std::string& body_template = {}) {
  return MessageForm({body, body_template});
}

}  // namespace

TEST_CASE("the form is chosen by name, or is a template") {
  CHECK(read({}).config.body == Body::payload);
  CHECK(read({}).config.content_type == "application/json");
  CHECK(read({}).problems == "");
  CHECK(read({{"body", text("payload")}}).config.body == Body::payload);
  CHECK(read({{"body", text("cloudevents")}}).config.body == Body::cloudevents);
  CHECK(read({{"body", text("cloudevents-structured")}}).config.body ==
        Body::cloudevents_structured);
  for (const auto* key : {"body", "template"}) {
    const auto [config, problems] =
        read({{key, text("<b>{{id}}</b>")}, {"content_type", text("text/html")}});
    CHECK(problems == "");
    CHECK(config.body == Body::rendered);
    CHECK(config.body_template == "<b>{{id}}</b>");
    CHECK(config.content_type == "text/html");
  }
}

TEST_CASE("a content type is sent if it was named, and with CloudEvents") {
  CHECK_FALSE(read({}).config.sends_content_type);
  CHECK_FALSE(read({{"body", text("{{id}}")}}).config.sends_content_type);
  CHECK(read({{"content_type", text("text/html")}}).config.sends_content_type);
  CHECK(read({{"body", text("cloudevents")}}).config.sends_content_type);
  CHECK(read({{"body", text("cloudevents-structured")}}).config.sends_content_type);
}

TEST_CASE("a form that cannot be is reported with its key") {
  CHECK(complains({{"body", text("cloud")}}, "body: must be \"payload\""));
  CHECK(complains({{"body", text("{{id}}")}, {"template", text("x")}}, "either template or body"));
  CHECK(complains({{"body", text("{{paylod.x}}")}}, "{{paylod.x}}"));
  CHECK(complains({{"template", text("{{#payload}}")}}, "template: "));
  CHECK(complains({{"content_type", text("a\r\nb")}}, "content_type: "));
}

TEST_CASE("as payload the body is the record's own bytes, uncopied") {
  const auto record = make_record(std::string("{ \"a\" :1e400\0", 12));
  for (const auto body : {Body::payload, Body::cloudevents}) {
    const auto form = form_of(body);
    const auto made = form.body_of(record);
    CHECK(made.bytes()->data() == record.payload->data());
    CHECK(made.bytes()->size() == 12);
    CHECK(form.content_type() == "application/json");
  }
  CHECK(form_of(Body::payload).attributes_of(record).empty());
}

TEST_CASE("a NULL payload is no body, for the protocol to judge; empty text is one") {
  auto record = make_record("");
  CHECK(form_of(Body::payload).body_of(record).bytes() == "");
  record.payload.reset();
  CHECK_FALSE(form_of(Body::payload).body_of(record).bytes());
  CHECK_FALSE(form_of(Body::cloudevents).body_of(record).bytes());
  CHECK(form_of(Body::rendered, "gone: {{id}}").body_of(record).bytes() == "gone: 4711");
  const auto envelope = form_of(Body::cloudevents_structured).body_of(record);
  CHECK(envelope.bytes()->ends_with(R"("datacontenttype":"application/json"})"));
}

TEST_CASE("CloudEvents in binary mode: bare attributes, unencoded, next to the body") {
  auto record = make_record("{}");
  record.process = "two words";
  record.event_type = "caf\xc3\xa9\r\n";
  const std::vector<Header> attributes{{"specversion", "1.0"},
                                       {"id", "4711"},
                                       {"source", "seriatim:two%20words"},
                                       {"type", "caf\xc3\xa9\r\n"},
                                       {"subject", "customer-7"},
                                       {"time", "2023-11-14T22:13:20.123456Z"}};
  const auto form = form_of(Body::cloudevents);
  CHECK(form.attributes_of(record) == attributes);
  record.key.reset();
  record.event_type.reset();
  record.position.created_at_us = 0;
  const std::vector<Header> fewest{{"specversion", "1.0"},
                                   {"id", "4711"},
                                   {"source", "seriatim:two%20words"},
                                   {"type", "seriatim.record"}};
  CHECK(form.attributes_of(record) == fewest);
}

TEST_CASE("CloudEvents in structured mode: one envelope, its data untouched") {
  const auto form = form_of(Body::cloudevents_structured);
  CHECK(form.content_type() == "application/cloudevents+json");
  CHECK(form.attributes_of(make_record("{}")).empty());
  CHECK(form.body_of(make_record("{\"n\":12345678901234567890123}")).bytes() ==
        R"({"specversion":"1.0","id":"4711","source":"seriatim:bookings",)"
        R"("type":"booking.created","subject":"customer-7","time":"2023-11-14T22:13:20.123456Z",)"
        R"("datacontenttype":"application/json","data":{"n":12345678901234567890123}})");
  CHECK(form.body_of(make_record("\xff")).bytes()->ends_with(R"("data_base64":"/w=="})"));
}

TEST_CASE("a template escapes for JSON where the content type says so") {
  const auto record = make_record(R"({"text":"a\"b"})");
  CHECK(form_of(Body::rendered, R"({"t":"{{payload.text}}"})").body_of(record).bytes() ==
        R"({"t":"a\"b"})");
  const MessageForm plain({Body::rendered, "{{payload.text}}", "text/plain"});
  CHECK(plain.body_of(record).bytes() == "a\"b");
  CHECK(plain.content_type() == "text/plain");
  TemplateValues values(record);
  CHECK(plain.body_of(record, values).bytes() == "a\"b");
  CHECK_THROWS_AS((void)plain.body_of(make_record("{}")), CannotRender);
}
