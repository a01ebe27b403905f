#include "app/desk/masked_payload.hpp"

#include <doctest/doctest.h>

using seriatim::app::masked_payload;

TEST_SUITE("masked payload") {
  const std::vector<std::string> paths{"payload.type", "payload.items.price", "payload.a.b"};

  TEST_CASE("values at whole paths are shown, all others are not") {
    CHECK(masked_payload(R"({"type":"booked","phone":"+45","n":7,"ok":true,"none":null})", paths) ==
          R"({"type": "booked", "phone": "•••", "n": "•••", "ok": "•••", "none": "•••"})");
    CHECK(masked_payload(R"({"x":{"type":"t"},"payload":{"type":"t"}})", paths) ==
          R"({"x": {"type": "•••"}, "payload": {"type": "•••"}})");
  }

  TEST_CASE("a path to an object or an array shows nothing below it") {
    CHECK(masked_payload(R"({"type":{"phone":"+45"}})", paths) == R"({"type": {"phone": "•••"}})");
    CHECK(masked_payload(R"({"type":[["+45"]]})", paths) == R"({"type": [["+45"]]})");
  }

  TEST_CASE("elements of an array share its path; numbers are shown as people write them") {
    CHECK(masked_payload(R"({"items":[{"price":12.5,"sku":"a"},{"price":3},{}]})", paths) ==
          R"({"items": [{"price": 12.5, "sku": "•••"}, {"price": 3}, {}]})");
  }

  TEST_CASE("a name with a dot in it does not pass for a path") {
    CHECK(masked_payload(R"({"a.b":"+45","a":{"b":1}})", paths) ==
          R"({"a.b": "•••", "a": {"b": 1}})");
  }

  TEST_CASE("what is no JSON is never shown, nor what is too large or too deep to judge") {
    for (const auto* payload : {"", "+4512345678", "{", "{} {}", "\xff\xfe", "type=booked"}) {
      CAPTURE(payload);
      CHECK_FALSE(masked_payload(payload, paths));
    }
    CHECK(masked_payload("4512345678", paths) == "\"•••\"");
    CHECK_FALSE(
        masked_payload('"' + std::string(seriatim::app::masked_bytes_max, 'x') + '"', paths));
    CHECK_FALSE(masked_payload(std::string(10'000, '[') + std::string(10'000, ']'), paths));
  }
}
