// Answers as receivers write them: which heads are one, and what is kept of those that are none.
#include "support/http_answer.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "support/answer_pieces.hpp"

using namespace seriatim::handlers;
using Failure = HttpFailure::Kind;

namespace {

/// The exchange of a request that was sent, its answer read in pieces of this size.
Exchange read(std::string_view text, std::size_t piece) {
  seriatim::testing::AnswerPieces stream{text, piece};
  HttpAnswerReader reader;
  HttpAnswerReader::Error error;
  reader.begin();
  if (!reader.read_head(stream, error)) {
    reader.failed(error);
  } else {
    reader.read_body(stream);
  }
  return reader.judge({.any = true, .whole = true, .problem = {}});
}

Exchange read(std::string_view text) {
  return read(text, text.size());
}

int status_of(const Exchange& exchange) {
  const auto* answer = std::get_if<HttpAnswer>(&exchange.result);
  return answer ? answer->status : 0;
}

std::string body_of(const Exchange& exchange) {
  const auto* answer = std::get_if<HttpAnswer>(&exchange.result);
  return answer ? answer->body : "no answer";
}

HttpFailure failure_of(const Exchange& exchange) {
  const auto* failure = std::get_if<HttpFailure>(&exchange.result);
  return failure ? *failure : HttpFailure{};
}

/// All but what hangs on how much has come: whether bytes follow the answer.
std::string text_of(const Exchange& exchange) {
  const auto failure = failure_of(exchange);
  return std::to_string(status_of(exchange)) + ' ' + body_of(exchange) + ' ' + failure.what +
         (failure.received.empty() ? "" : " (unreadable)");
}

}  // namespace

TEST_CASE("a status line without a reason phrase, or without the space before it, is read") {
  for (const int status : {200, 204, 400, 503}) {
    for (const std::string after_code : {" Said", " ", ""}) {
      for (const std::string version : {"HTTP/1.1 ", "HTTP/1.0 "}) {
        const auto line = version + std::to_string(status) + after_code;
        CAPTURE(line);
        const auto exchange = read(line + "\r\nContent-Length: 0\r\n\r\n");
        CHECK(status_of(exchange) == status);
        CHECK(exchange.reusable == (version == "HTTP/1.1 "));
      }
    }
  }
}

TEST_CASE("lines of a head that end in LF alone are read, and the body stays as it is") {
  const std::string body = "a\nb\r\n\n\rc";
  const std::vector<std::string> heads = {
      "HTTP/1.1 422 No\nContent-Length: 8\nX: y\n\n", "HTTP/1.1 422\nContent-Length: 8\n\n",
      "HTTP/1.1 422 \r\nContent-Length: 8\n\r\n", "HTTP/1.1 422 No\nContent-Length: 8\r\n\n",
      "HTTP/1.1 422\r\nX: folded\n  line\nContent-Length: 8\n\n"};
  for (const auto& head : heads) {
    CAPTURE(head);
    const auto exchange = read(head + body);
    CHECK(status_of(exchange) == 422);
    CHECK(body_of(exchange) == body);
    CHECK_FALSE(exchange.reusable);  // whoever is between may see another end of the head
  }
  CHECK(body_of(read("HTTP/1.1 422\n\n\nuntil the end\n")) == "\nuntil the end\n");
  CHECK(status_of(read("HTTP/1.1 100\n\nHTTP/1.1 103 Hints\r\nX: y\n\nHTTP/1.1 201\n\n")) == 201);
}

TEST_CASE("chunks stay strict, and so does what says how long an answer is") {
  const std::string chunked = "HTTP/1.1 200\nTransfer-Encoding: chunked\n\n";
  CHECK(status_of(read(chunked + "1\r\nx\r\n0\r\n\r\n")) == 200);
  for (const std::string bad : {"1\nx\n0\n\n", "1\r\nx\n0\r\n\r\n", "x\r\n\r\n"}) {
    CAPTURE(bad);
    CHECK(failure_of(read(chunked + bad)).kind != Failure::not_sent);
  }
  for (const std::string both : {"Content-Length: 2\nTransfer-Encoding: chunked\n\n",
                                 "Content-Length: 2\nContent-Length: 3\n\n"}) {
    CAPTURE(both);
    CHECK(failure_of(read("HTTP/1.1 200\n" + both + "0\r\n\r\n")).kind == Failure::unreadable);
  }
}

TEST_CASE("what can be no status line ends the answer at its first byte that does not fit") {
  for (const std::string text :
       {"OK", "\r\n", "http/1.1 200", "HTTP/2 2", "HTTP/1.1 2x", "HTTP/1.1 023 No", "HTTP/1.1 2000",
        "HTTP/1.1 200O", "HTTP/1.1\t2", "SSH-2.0", "\n"}) {
    CAPTURE(text);
    const auto failure = failure_of(read(text, 1));
    CHECK(failure.kind == Failure::unreadable);
    CHECK(failure.what == "no HTTP status line");
    CHECK(text.starts_with(failure.received));
    CHECK(failure_of(read(text)).received == text);
  }
}

TEST_CASE("a part of an answer, closed in good order, cannot be read; none at all is lost") {
  CHECK(failure_of(read("")).kind == Failure::lost);
  for (const std::string text :
       {"HTTP/1.1 2", "HTTP/1.1 200\r\n", "HTTP/1.1 200\nContent-Length: 2\n\nx"}) {
    CAPTURE(text);
    const auto failure = failure_of(read(text));
    CHECK(failure.kind == Failure::unreadable);
    CHECK(failure.received == text);
  }
}

TEST_CASE("a head of 16 KiB is read, one more byte is not, whatever its lines end in") {
  for (const std::string end : {"\n", "\r\n"}) {
    const auto head = [&](std::size_t size) {
      auto text = "HTTP/1.1 200" + end;
      const auto line = "X: y" + end;
      while (text.size() + line.size() + 100 < size) text += line;
      text += "Z: ";
      return text + std::string(size - text.size() - 2 * end.size(), 'z') + end + end;
    };
    REQUIRE(head(16 << 10).size() == 16 << 10);
    CHECK(status_of(read(head(16 << 10))) == 200);
    const auto failure = failure_of(read(head((16 << 10) + 1)));
    CHECK(failure.kind == Failure::unreadable);
    CHECK(failure.what == "the answer's head is over 16 KiB");
    CHECK(failure.received.size() == 16 << 10);
  }
}

TEST_CASE("an answer is read the same in pieces of any size, whatever it holds") {
  const std::vector<std::string> parts = {"HTTP/1.1 200",
                                          "HTTP/1.1 422 No",
                                          "HTTP/1.0 100",
                                          "\r\n",
                                          "\n",
                                          "\r",
                                          "\r\n\r\n",
                                          "\n\n",
                                          "Content-Length: 3",
                                          "Transfer-Encoding: chunked",
                                          "Connection: close",
                                          "X: y",
                                          " folded",
                                          ":",
                                          "1\r\nx\r\n",
                                          "0\r\n\r\n",
                                          "abc",
                                          std::string("\0", 1),
                                          "\xff"};
  std::mt19937 random(25);
  const auto below = [&](std::size_t end) { return random() % end; };
  for (int turn = 0; turn < 5'000; ++turn) {
    std::string text = parts[below(3)];
    for (auto left = below(8); left > 0; --left) text += parts[below(parts.size())];
    CAPTURE(text);
    const auto whole = text_of(read(text));
    for (const std::size_t piece : {1U, 2U, 7U}) CHECK(text_of(read(text, piece)) == whole);
  }
}
