// Templates over a record: what they print, and what they refuse to print.
#include "support/template.hpp"

#include <doctest/doctest.h>

#include "support/cannot_render.hpp"
#include "support/handler_calls.hpp"

using namespace seriatim;
using namespace seriatim::handlers;
using seriatim::testing::make_record;

namespace {

std::string render(const std::string& text, const Record& record,
                   Escaping escaping = Escaping::none) {
  TemplateValues values(record);
  return Template(text, escaping).render(values);
}

std::string refusal(const std::string& text, const Record& record) {
  try {
    return "rendered: " + render(text, record);
  } catch (const CannotRender& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a template reads the record's own fields") {
  auto record = make_record("{}");
  record.headers = {{"X-Tenant.Id", "t1"}};
  CHECK(render("{{id}} {{key}} {{event_type}} {{process}} {{lane}} {{sequence}} {{epoch}} "
               "{{attempt}} {{previous_id}} {{created_at}} {{headers.x-tenant.id}}",
               record) ==
        "4711 customer-7 booking.created bookings 2 42 3 1 4710 2023-11-14T22:13:20.123456Z t1");
}

TEST_CASE("the payload is printed whole as stored, or by path") {
  const auto record = make_record(R"({ "a": {"b": "c<&>\"" }, "yes":true, "no": false, "e":""})");
  CHECK(render("{{payload}}", record) == *record.payload);
  CHECK(render("{{payload.a.b}}", record) == "c<&>\"");
  CHECK(render("{{ payload.yes }}/{{payload.no}}/{{payload.e}}/", record) == "true/false//");
  CHECK(render("{{payload}}", make_record("not json")) == "not json");
}

TEST_CASE("numbers keep their digits") {
  for (const auto* number : {"0", "-0", "9007199254740993", "9223372036854775808",
                             "18446744073709551616", "123456789012345678901234567890", "0.10",
                             "1.00000000000000000001", "1e400", "-1E+2", "1e-999"}) {
    CAPTURE(std::string(number));
    CHECK(render("{{payload.n}}", make_record(R"({"n":)" + std::string(number) + "}")) == number);
    CHECK(render("{{#payload}}{{.}};{{/payload}}",
                 make_record("[" + std::string(number) + ",1]")) == std::string(number) + ";1;");
  }
}

TEST_CASE("what a record lacks is an error that names it, never empty text") {
  auto record = make_record(R"({"null":null,"object":{},"list":[1]})");
  CHECK(refusal("{{payload.phone}}", record) ==
        "the template needs {{payload.phone}}, which this record lacks or has as null");
  CHECK(refusal("{{payload.null}}", record).ends_with("lacks or has as null"));
  CHECK(refusal("{{payload.object}}", record).ends_with("an object or a list here, not a value"));
  CHECK(refusal("{{payload.list}}", record).ends_with("an object or a list here, not a value"));
  CHECK(refusal("{{headers.x}}", record).ends_with("lacks or has as null"));
  record.key.reset();
  CHECK(refusal("{{key}}", record).ends_with("lacks or has as null"));
  record.payload.reset();
  CHECK(refusal("{{payload}}", record).ends_with("lacks or has as null"));
  CHECK(refusal("{{payload.a}}", record).ends_with("lacks or has as null"));
}

TEST_CASE("a payload that cannot be parsed is an error only if it is read") {
  for (const auto& payload :
       {std::string("{"), std::string("canary"), std::string("{\"a\":\"\xff\"}"),
        std::string(10'000, '['), std::string()}) {
    const auto record = make_record(payload);
    CHECK(refusal("{{payload.a}}", record).starts_with("the payload is not JSON"));
    CHECK(refusal("{{payload.a}}", record).find("canary") == std::string::npos);
    CHECK(render("{{id}}", record) == "4711");
  }
}

TEST_CASE("sections ask whether there is something, and repeat") {
  const auto record =
      make_record(R"({"items":[{"n":1,"s":"a"},{"n":2}],"none":[],"null":null,"flag":false})");
  CHECK(render("{{#payload.items}}{{n}}{{#s}}{{s}}{{/s}},{{/payload.items}}", record) == "1a,2,");
  CHECK(render("{{^payload.none}}none{{/payload.none}}", record) == "none");
  CHECK(render("{{^payload.null}}null{{/payload.null}}", record) == "null");
  CHECK(render("{{^payload.missing}}missing{{/payload.missing}}", record) == "missing");
  CHECK(render("{{#payload.flag}}x{{/payload.flag}}", record).empty());
  CHECK(render("{{#payload}}{{#items}}{{n}}-{{id}} {{/items}}{{/payload}}", record) ==
        "1-4711 2-4711 ");
  CHECK(refusal("{{#payload.items}}{{s}}{{/payload.items}}", record).ends_with("has as null"));
}

TEST_CASE("values are escaped for the place, unless asked otherwise") {
  const auto record = make_record(R"({"t":"a\"b\n/?&=\r\u0000é"})");
  CHECK(render("{{payload.t}}", record) == std::string("a\"b\n/?&=\r\0\xc3\xa9", 12));
  CHECK(render("\"{{payload.t}}\"", record, Escaping::json) ==
        "\"a\\\"b\\n/?&=\\r\\u0000\xc3\xa9\"");
  CHECK(render("{\"data\":{{{payload}}}}", record, Escaping::json) ==
        "{\"data\":" + *record.payload + "}");
  CHECK(render("{{&payload}}", record, Escaping::json) == *record.payload);
  CHECK(render("/x?t={{payload.t}}", record, Escaping::url) ==
        "/x?t=a%22b%0A%2F%3F%26%3D%0D%00%C3%A9");
}

TEST_CASE("a value is text, never a template again") {
  CHECK(render("{{payload.t}}", make_record(R"({"t":"{{id}}"})")) == "{{id}}");
}

TEST_CASE("a template that is wrong in itself is refused at once") {
  for (const auto* text : {"{{", "{{id", "{{id}", "{{}}", "{{{id}}", "{{> file}}", "{{=<% %>=}}",
                           "{{#payload}}", "{{/payload}}", "{{#payload}}{{/key}}", "{{paylod.x}}",
                           "{{Payload.x}}", "{{#nosuch}}{{/nosuch}}"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS(Template(text, Escaping::none), CannotRender);
  }
  CHECK_THROWS_AS(Template("{{{id}}}", Escaping::url), CannotRender);
  CHECK_THROWS_AS(Template("{{&id}}", Escaping::url), CannotRender);
  CHECK(Template("plain } text {", Escaping::none).is_constant());
  CHECK(!Template("{{id}}", Escaping::none).is_constant());
  CHECK(render("a{{! a comment }}b", make_record("")) == "ab");
}
