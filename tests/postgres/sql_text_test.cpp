#include "postgres/wire/sql_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace seriatim::postgres;

TEST_CASE("placeholders are filled once, braces of the SQL stay") {
  CHECK(fill("SELECT '{}', {a}, '{\"k\": 1}', {b}{", {{"a", "{b}"}, {"b", "x"}}) ==
        "SELECT '{}', {b}, '{\"k\": 1}', x{");
}

TEST_CASE("identifiers and literals are quoted whatever they hold") {
  CHECK(quote_identifier("a\"; drop table x; --") == "\"a\"\"; drop table x; --\"");
  CHECK(quote_literal("o'clock") == "'o''clock'");
  CHECK(array_text({"a\"b", "c\\d", ""}) == "{\"a\\\"b\",\"c\\\\d\",\"\"}");
}

TEST_CASE("names fold as SQL folds them") {
  CHECK(fold_identifier("Customer_ID") == "customer_id");
  CHECK(fold_identifier("\"Customer \"\"ID\"\"\"") == "Customer \"ID\"");
}

TEST_CASE("timestamps are exact to the ends of PostgreSQL's range") {
  CHECK(timestamp_text(0) == "1970-01-01 00:00:00.000000+00");
  CHECK(timestamp_text(-1) == "1969-12-31 23:59:59.999999+00");
  CHECK(timestamp_text(951'868'799'999'999) == "2000-02-29 23:59:59.999999+00");
  CHECK(timestamp_text(-210'866'803'200'000'000) == "4714-11-24 00:00:00.000000+00 BC");
  CHECK(timestamp_text(-62'135'596'800'000'001) == "0001-12-31 23:59:59.999999+00 BC");
  CHECK(timestamp_text(INT64_MIN) == "-infinity");
  CHECK(timestamp_text(INT64_MAX) == "infinity");
}

TEST_CASE("text for a column is cut at a character, its broken bytes replaced") {
  CHECK(storable_text("h\xc3\xa9llo", 2) == "h");
  CHECK(storable_text("h\xc3\xa9llo", 3) == "h\xc3\xa9");
  CHECK(storable_text("\xff\xc0\x80\xed\xa0\x80\xf0\x9f\x98", 50) == "?????????");
  CHECK(storable_text(std::string_view("a\0b", 3), 50) == "ab");
}
