// COMMITs found in the bytes of PostgreSQL's protocol, however they are cut.
#include "lab/proxy/commit_watch.hpp"

#include <doctest/doctest.h>

using seriatim::torture::CommitWatch;
using namespace std::string_literals;

namespace {

std::string number(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}
std::string message(char type, const std::string& body) {
  return type + number(body.size() + 4) + body;
}
std::string start_up() {
  const auto body = number(3 << 16) + "user\0me\0\0"s;
  return number(body.size() + 4) + body;
}
const std::string tls_request = number(8) + number(80877103);

const std::string before = message('T', "columns") + message('D', std::string(3'000, 'C'));
const std::string answer = message('C', "COMMIT\0"s);
const std::string other_answers = message('C', "ROLLBACK\0"s) + message('C', "SELECT 1\0"s);

}  // namespace

TEST_SUITE("COMMITs in the protocol") {
  TEST_CASE("an answer is found where it begins, among whatever else comes") {
    CommitWatch watch;
    CHECK(watch.from_server(before + answer + message('Z', "I")) ==
          CommitWatch::Offsets{before.size()});
    CHECK(watch.from_server(other_answers).empty());
    CHECK(watch.from_server(answer + answer) == CommitWatch::Offsets{0, answer.size()});
  }

  TEST_CASE("cut anywhere, it is found once, before the last byte of its message") {
    const auto stream = other_answers + before + answer + message('Z', "I");
    const auto begin = other_answers.size() + before.size();
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
      CommitWatch watch;
      const auto first = watch.from_server(stream.substr(0, cut));
      const auto second = watch.from_server(stream.substr(cut));
      CAPTURE(cut);
      REQUIRE(first.size() + second.size() == 1);
      const auto at = first.empty() ? cut + second[0] : first[0];
      CHECK(at >= begin);
      CHECK(at < begin + answer.size());
    }
    CommitWatch watch;
    std::size_t found = 0;
    for (const char byte : stream) found += watch.from_server({&byte, 1}).size();
    CHECK(found == 1);
  }

  TEST_CASE("an UPDATE of a cursor commits if it is a transaction of its own") {
    CommitWatch watch;
    CHECK(watch.from_client(start_up()).empty());
    const auto text = "-- What it does.\n  -- More\nUPDATE seriatim.cursor SET x = 1\0\0\0"s;
    CHECK(watch.from_client(message('P', "settle\0"s + text)).empty());
    CHECK(watch.from_client(message('B', "\0settle\0"s)) == CommitWatch::Offsets{0});
    CHECK(watch.from_client(message('P', "\0UPDATE other SET x = 1\0\0\0"s)).empty());
    const auto updated = message('C', "UPDATE 1\0"s);
    CHECK(watch.from_server(updated) == CommitWatch::Offsets{0});
    CHECK(watch.from_server(message('C', "BEGIN\0"s) + updated).empty());
    CHECK(watch.from_server(message('C', "ROLLBACK\0"s) + updated).size() == 1);
  }

  TEST_CASE("a request is found as a query or a statement, in any case, with or without a name") {
    CommitWatch watch;
    CHECK(watch.from_client(start_up()).empty());
    CHECK(watch.from_client(message('Q', "BEGIN; SELECT 'COMMIT'\0"s)).empty());
    CHECK(watch.from_client(message('Q', "COMMIT\0"s)).size() == 1);
    CHECK(watch.from_client(message('Q', " commit;\0"s)).size() == 1);
    CHECK(watch.from_client(message('Q', "EXECUTE move;COMMIT;BEGIN\0"s)).size() == 1);
    CHECK(watch.from_client(message('P', "\0COMMIT\0\0\0"s)).size() == 1);
    CHECK(watch.from_client(message('B', "COMMIT\0"s)).empty());
    CHECK(watch.from_client(message('p', "COMMIT\0"s)).empty());  // a password
  }

  TEST_CASE("one prepared under a name asks when it is bound, as often as it is") {
    CommitWatch watch;
    const auto bind = message('B', "\0name\0\0\0\0\0\0\0"s);
    CHECK(watch.from_client(start_up() + message('P', "name\0COMMIT\0\0\0"s)).empty());
    CHECK(watch.from_client(bind + message('B', "\0other\0\0\0\0\0\0\0"s) + bind).size() == 2);
    CHECK(watch.from_client(message('P', "name\0BEGIN\0\0\0"s) + bind).empty());
  }

  TEST_CASE("a refused request for encryption leaves it in step, a granted one leaves it blind") {
    CommitWatch watch;
    CHECK(watch.from_client(tls_request).empty());
    CHECK(watch.from_server("N").empty());
    CHECK(watch.from_client(start_up() + message('Q', "COMMIT\0"s)).size() == 1);
    CHECK(watch.from_server(answer).size() == 1);

    CommitWatch blind;
    CHECK(blind.from_client(tls_request).empty());
    CHECK(blind.from_server("S").empty());
    CHECK(blind.from_server(answer).empty());
    CHECK(blind.from_client(message('Q', "COMMIT\0"s)).empty());
  }

  TEST_CASE("what is not PostgreSQL is let alone") {
    CommitWatch watch;
    CHECK(watch.from_client("POST / HTTP/1.1\r\nHost: COMMIT\r\n\r\n").empty());
    CHECK(watch.from_server("HTTP/1.1 200 OK\r\n\r\n" + answer).empty());
  }
}
