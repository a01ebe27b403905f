// AMQP as it is written and read, and what the end of a channel speaks against.
#include "rabbitmq/amqp_frames.hpp"

#include <doctest/doctest.h>

#include <random>

#include "rabbitmq/amqp_refusal.hpp"
#include "support/cannot_render.hpp"

using namespace seriatim::handlers;
using Kind = AmqpEvent::Kind;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

std::string frame(int type, int channel, const std::string& payload) {
  const auto size = payload.size();
  return bytes(
             {type, 0, channel, 0, 0, static_cast<int>(size >> 8), static_cast<int>(size & 255)}) +
         payload + bytes({206});
}

std::string ack_up_to(int tag) {
  return frame(1, 1, bytes({0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, tag, 1}));
}

/// basic.return 312 NO_ROUTE, the header with message-id "7", a body of three bytes.
std::string returned() {
  return frame(1, 1, bytes({0, 60, 0, 50, 1, 56, 8}) + "NO_ROUTE" + bytes({1}) + "x" + bytes({0})) +
         frame(2, 1, bytes({0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 128, 1}) + "7") +
         frame(3, 1, "abc");
}

AmqpMessage message_with(std::string_view id, std::string_view body) {
  AmqpMessage message;
  message.routing_key = "queue";
  message.content_type = "text/plain";
  message.id = id;
  message.body = body;
  return message;
}

std::size_t count_of(std::string_view all, std::string_view part) {
  std::size_t count = 0;
  for (auto at = all.find(part); at != all.npos; at = all.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("events are the same however the bytes are cut") {
  const auto all = returned() + ack_up_to(9) + frame(8, 0, "");
  for (std::size_t step = 1; step <= all.size(); ++step) {
    AmqpReader reader;
    std::vector<AmqpEvent> events;
    for (std::size_t at = 0; at < all.size(); at += step) {
      REQUIRE(reader.take(std::string_view(all).substr(at, step), events) == "");
    }
    REQUIRE(events.size() == 2);
    CHECK(events[0].kind == Kind::returned);
    CHECK(events[0].code == 312);
    CHECK(events[0].text == "NO_ROUTE");
    CHECK(events[0].message_id == "7");
    CHECK(events[1].kind == Kind::ack);
    CHECK(events[1].tag == 9);
    CHECK(events[1].multiple);
  }
}

TEST_CASE("a content header of another class says nothing of a returned message") {
  const auto all = returned();
  const auto method_bytes = all.find('\xCE') + 1;
  const auto other = frame(2, 1, bytes({0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 128}));
  AmqpReader reader;
  std::vector<AmqpEvent> events;
  REQUIRE(reader.take(all.substr(0, method_bytes) + other, events) == "");
  CHECK(events.empty());
  REQUIRE(reader.take(all.substr(method_bytes), events) == "");
  REQUIRE(events.size() == 1);
  CHECK(events[0].message_id == "7");
}

TEST_CASE("what is no AMQP is a problem, never a crash") {
  const auto problem_of = [](const std::string& text) {
    AmqpReader reader;
    std::vector<AmqpEvent> events;
    return reader.take(text, events);
  };
  CHECK(problem_of(bytes({'A', 'M', 'Q', 'P', 0, 1, 0, 0})) == "speaks no AMQP 0-9-1");
  CHECK(problem_of("HTTP/1.1 400 Bad Request\r\n\r\n").find("not AMQP") == 0);
  CHECK(problem_of(ack_up_to(1) + frame(1, 1, bytes({0, 60, 0, 80}))).find("not AMQP") == 0);
  std::mt19937 random(20'261'121);
  for (int round = 0; round < 20'000; ++round) {
    auto text = returned() + ack_up_to(9);
    for (int change = 0; change < 3; ++change) {
      text[random() % text.size()] = static_cast<char>(random() & 255);
    }
    (void)problem_of(text);
  }
}

TEST_CASE("a body is cut into frames the server takes") {
  AmqpWriter writer;
  const std::string body(10'000, 'x');
  writer.publish(message_with("1", body), 4'096);
  const auto written = std::string(writer.bytes());
  CHECK(count_of(written, frame(3, 1, std::string(4'088, 'x'))) == 2);
  CHECK(written.ends_with(frame(3, 1, std::string(10'000 - 2 * 4'088, 'x'))));
  writer.clear();
  writer.publish(message_with("1", ""), 4'096);
  CHECK(count_of(writer.bytes(), bytes({206, 3, 0, 1})) == 0);
}

TEST_CASE("what AMQP does not carry is refused, and nothing of it written") {
  AmqpWriter writer;
  writer.publish(message_with("1", "body"), 4'096);
  const auto before = std::string(writer.bytes());
  const std::string long_text(256, 'x');
  auto message = message_with(long_text, "body");
  CHECK_THROWS_WITH_AS(writer.publish(message, 4'096), doctest::Contains("the id is over 255"),
                       CannotRender);
  message = message_with("2", "body");
  message.routing_key = long_text;
  CHECK_THROWS_AS(writer.publish(message, 4'096), CannotRender);
  message = message_with("2", "body");
  message.headers.emplace_back(long_text, "value");
  CHECK_THROWS_AS(writer.publish(message, 4'096), CannotRender);
  const std::string large(4'096, 'v');
  message = message_with("2", "body");
  message.headers.emplace_back("name", large);
  CHECK_THROWS_WITH_AS(writer.publish(message, 4'096), doctest::Contains("do not fit"),
                       CannotRender);
  writer.publish(message, 64 << 10);
  CHECK(writer.bytes().starts_with(before));
}

TEST_CASE("the end of a channel speaks against the server, the exchange or the row") {
  struct Case {
    unsigned code;
    const char* text;
    AmqpRefusal refusal;
  };
  for (const auto& [code, text, refusal] : std::initializer_list<Case>{
           {404, "NOT_FOUND - no exchange 'events' in vhost '/'", AmqpRefusal::exchange},
           {406, "PRECONDITION_FAILED - message size 2 is larger than configured max size 1",
            AmqpRefusal::row},
           {403, "ACCESS_REFUSED - access to exchange 'events' refused", AmqpRefusal::server},
           {320, "CONNECTION_FORCED - broker forced connection closure", AmqpRefusal::server},
           {541, "INTERNAL_ERROR", AmqpRefusal::server},
           {999, "", AmqpRefusal::server}}) {
    const auto& shown = code;
    CAPTURE(shown);
    CHECK(amqp_refusal_of(code, text) == refusal);
  }
}
