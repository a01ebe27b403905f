#include "app/text.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace seriatim::app;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("foreign text is one line without control characters") {
  CHECK(printable("plain, grün, 💶") == "plain, grün, 💶");
  CHECK(printable("a\nb\tc\x1b[31m\x07") == "a\\nb\\tc\\x1b[31m\\x07");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");           // C1 control: CSI
  CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right-to-left override
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");           // no UTF-8
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // surrogate
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong
}

TEST_CASE("long text is cut between characters") {
  CHECK(printable("aaaa", 4) == "aaaa");
  CHECK(printable("aaaaa", 4) == "aaaa…");
  CHECK(printable("aaaü", 4) == "aaa…");
}

TEST_CASE("durations are given in at most two units") {
  CHECK(human_duration(milliseconds{0}) == "0 ms");
  CHECK(human_duration(milliseconds{999}) == "999 ms");
  CHECK(human_duration(seconds{59}) == "59 s");
  CHECK(human_duration(seconds{60}) == "1 min");
  CHECK(human_duration(seconds{185}) == "3 min 5 s");
  CHECK(human_duration(hours{25}) == "1 d 1 h");
}

TEST_CASE("sizes are given in powers of 1024") {
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(std::size_t{1} << 40U) == "1024.0 GiB");
}
