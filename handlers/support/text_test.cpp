// Texts from and for the receiver: encodings, excerpts, header values, Retry-After, signatures.
#include <doctest/doctest.h>

#include <limits>

#include "support/cannot_render.hpp"
#include "support/classify.hpp"
#include "support/encoding.hpp"
#include "support/excerpt.hpp"
#include "support/header_text.hpp"
#include "support/json_value.hpp"
#include "support/retry_after.hpp"
#include "support/time_text.hpp"
#include "support/webhook_signature.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;

TEST_CASE("values are encoded for the place they go to") {
  CHECK(percent_encode("a/b?c&d=%\r\n\xc3\xa6~") == "a%2Fb%3Fc%26d%3D%25%0D%0A%C3%A6~");
  CHECK(form_encode("+45 60&x=\xc3\xa6*") == "%2B45+60%26x%3D%C3%A6*");
  CHECK(header_encode("a b\"%\r\n\xc3\xa6") == "a%20b%22%25%0D%0A%C3%A6");
  CHECK(json_escape(std::string("\"\\\n\r\t\0\x1f/\xc3\xa6", 10)) ==
        "\\\"\\\\\\n\\r\\t\\u0000\\u001f/\xc3\xa6");
}

TEST_CASE("base64 goes both ways and refuses what is not canonical") {
  for (const auto& [plain, coded] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {std::string("\0\xff\xfe", 3), "AP/+"}}) {
    CHECK(base64_encode(plain) == coded);
    CHECK(base64_decode(coded) == plain);
  }
  for (const auto* text : {"Zg=a", "Z", "Zh==", "Zm 9v", "Zm9v\n", "Zm-v"}) {
    CHECK(!base64_decode(text));
  }
}

TEST_CASE("an excerpt is harmless in a terminal, a log and a database") {
  CHECK(excerpt("plain \xc3\xa6 \xf0\x9f\x98\x80") == "plain \xc3\xa6 \xf0\x9f\x98\x80");
  CHECK(excerpt("\x1b[2J\x07") == "\\x1b[2J\\x07");
  CHECK(excerpt(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(excerpt("\xc2\x9b"
                "31m") == "\\xc2\\x9b31m");  // C1 control sequence introducer
  CHECK(excerpt("\xe2\x80\xae"
                "x") == "\\xe2\\x80\\xaex");  // right-to-left override
  CHECK(excerpt("\xff\xc0\x80\xed\xa0\x80") == "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  CHECK(excerpt("\xe2\x82") == "\\xe2\\x82");
  CHECK(excerpt(std::string(300, 'x')).size() <= 200);
  CHECK(excerpt(std::string(300, 'x')).ends_with("…"));
  CHECK(excerpt(std::string(300, '\x1b')).size() <= 200);
}

TEST_CASE("secrets are taken out wherever they are") {
  Redactor redactor;
  redactor.add("canary");
  redactor.add("canary-long");
  redactor.add("abc");  // too short to be a secret worth blotting out words for
  CHECK(redactor.redact("xcanaryx canary-long abc") == "x[redacted]x [redacted] abc");
}

TEST_CASE("a header is sent as it is or not at all") {
  CHECK_NOTHROW(check_header("X-Name", "caf\xc3\xa9 \t tab"));
  for (const auto& value : {std::string("a\rb"), std::string("a\nb"), std::string("a\0b", 3),
                            std::string("\x1b"), std::string("\x7f"), std::string(65536, 'x')}) {
    CHECK_THROWS_AS(check_header("X-Name", value), CannotRender);
  }
  for (const auto& name : {"", "a b", "a:b", "a\r\n", "caf\xc3\xa9"}) {
    CHECK_THROWS_AS(check_header(name, "x"), CannotRender);
  }
  HeaderLines lines;
  CHECK_THROWS_AS(lines.add("X-A", "b\r\nX-Injected: c"), CannotRender);
  CHECK(lines.all().empty());
  lines.add("X-A", "b");
  lines.add_number("X-N", 18'446'744'073'709'551'615U);
  CHECK(lines.all() ==
        std::vector<seriatim::Header>{{"X-A", "b"}, {"X-N", "18446744073709551615"}});
  CHECK(same_header("Content-Type", "content-TYPE"));
  CHECK(!same_header("a", "ab"));
}

TEST_CASE("Retry-After is read as seconds or a date, and nothing else") {
  using std::chrono::milliseconds;
  // 1994-11-06 08:49:07.5
  const auto now = std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min + 7500ms;
  const std::vector<std::pair<std::string, std::optional<milliseconds>>> table = {
      {"0", 0ms},
      {"120", 120s},
      {" 5\t", 5s},
      {"1000000000", std::chrono::days(366)},
      {"99999999999999999999999999", std::chrono::days(366)},
      {"Sun, 06 Nov 1994 08:49:37 GMT", 30s},
      {"Sunday, 06-Nov-94 08:49:37 GMT", 30s},
      {"Sun Nov  6 08:49:37 1994", 30s},
      {"Sun, 06 Nov 1994 08:49:00 GMT", 0ms},
      {"Fri, 31 Dec 9999 23:59:59 GMT", std::chrono::days(366)},
      {"Sun, 31 Feb 1994 08:49:37 GMT", std::nullopt},
      {"Sun, 06 Foo 1994 08:49:37 GMT", std::nullopt},
      {"Sun, 06 Nov 1994 25:49:37 GMT", std::nullopt},
      {"Sun, 06 Nov 1994 08:49:37 GMT; x", std::nullopt},
      {"Sun, 06 Nov 1994 08:49:37 CET", std::nullopt},
      {"-1", std::nullopt},
      {"+1", std::nullopt},
      {"1.5", std::nullopt},
      {"1s", std::nullopt},
      {"", std::nullopt},
      {" ", std::nullopt},
      {"soon", std::nullopt},
      {std::string("5\0", 2), std::nullopt},
      {std::string(100'000, '9'), std::nullopt}};
  for (const auto& [text, wait] : table) {
    const auto shown = std::string(text);
    CAPTURE(shown);
    CHECK(parse_retry_after(text, now) == wait);
  }
}

TEST_CASE("failures are classed by what the receiver can have") {
  const auto now = std::chrono::system_clock::now();
  const auto kind = [&](HttpFailure::Kind failure) {
    return classify(HttpFailure{failure, "why"}, {}, now).kind;
  };
  CHECK(kind(HttpFailure::Kind::not_sent) == Outcome::Kind::retry_later);
  CHECK(kind(HttpFailure::Kind::lost) == Outcome::Kind::unknown);
  CHECK(kind(HttpFailure::Kind::unreadable) == Outcome::Kind::unknown);
  CHECK(kind(HttpFailure::Kind::refused) == Outcome::Kind::poison);
}

TEST_CASE("times are in UTC to the microsecond, before 1970 too") {
  CHECK(rfc3339(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(rfc3339(1'700'000'000'123'456) == "2023-11-14T22:13:20.123456Z");
  CHECK(rfc3339(-1) == "1969-12-31T23:59:59.999999Z");
  CHECK(rfc3339(-62'135'596'800'000'000) == "0001-01-01T00:00:00.000000Z");
  CHECK(rfc3339(std::numeric_limits<std::int64_t>::min()) == "-290308-12-21T19:59:05.224192Z");
  CHECK(rfc3339(9'223'372'036'854'775'807) == "294247-01-10T04:00:54.775807Z");
}

TEST_CASE("JSON is recognised without being kept") {
  CHECK(json_problem(R"({"a":[1,2,{"b":null}]})").empty());
  CHECK(json_problem("12345678901234567890123").empty());
  CHECK(!json_problem("").empty());
  CHECK(!json_problem("{} x").empty());
  CHECK(!json_problem("{\"a\":\"\xff\"}").empty());
  CHECK(!json_problem(std::string(10'000, '[')).empty());
}

TEST_CASE("the signature matches the vector of the Standard Webhooks libraries") {
  const WebhookSigner signer({"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
  CHECK(signer.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1'614'265'330, R"({"test": 2432232314})") ==
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_CASE("two secrets give two signatures, in order") {
  const std::string first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const std::string second = "whsec_" + base64_encode(std::string(32, 'k'));
  CHECK(WebhookSigner({first, second}).sign("id", 1, "x") ==
        WebhookSigner({first}).sign("id", 1, "x") + ' ' +
            WebhookSigner({second}).sign("id", 1, "x"));
}

TEST_CASE("a secret that is none is refused and not quoted") {
  for (const auto* secret : {"", "whsec_", "canary!", "whsec_Y2FuYXJ5"}) {
    CHECK_THROWS_AS(WebhookSigner({secret}), CannotRender);
  }
}
