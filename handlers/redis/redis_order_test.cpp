// What the redis handler leaves in a stream when rows come again, others write there, or it is
// full.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "redis/redis_calls.hpp"
#include "support/process.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;

namespace {

std::string last_id_in(RedisClient& client) {
  const auto info = client.run({"XINFO", "STREAM", stream}).items;
  for (std::size_t i = 0; i + 1 < info.size(); i += 2) {
    if (info[i].text == "last-generated-id") return info[i + 1].str();
  }
  return {};
}

}  // namespace

TEST_CASE("a row handed over again is no second entry") {
  const RedisServer server;
  REQUIRE(all_done(deliver(server, rows(1, 300)), rows(1, 300)));
  REQUIRE(all_done(deliver(server, rows(1, 300)), rows(1, 300)));
  const auto half_new = rows(201, 400);
  RedisHandler handler(config_for(server));
  REQUIRE(all_done(deliver(handler, half_new), half_new));
  REQUIRE(all_done(deliver(handler, half_new), half_new));
  CHECK(ids_in(server) == ids_up_to(400));
}

TEST_CASE("rows that a former holder appends meanwhile are found, and the others follow") {
  const RedisServer server;
  RedisHandler holder(config_for(server));
  REQUIRE(deliver(holder, rows(1, 10)).done == 10);
  SUBCASE("one") {
    REQUIRE(deliver(server, rows(11, 11)).done == 1);
  }
  SUBCASE("many") {
    REQUIRE(deliver(server, rows(11, 500)).done == 490);
  }
  const auto batch = rows(11, 1'000);
  CHECK(all_done(deliver(holder, batch), batch));
  CHECK(ids_in(server) == ids_up_to(1'000));
}

TEST_CASE("nothing is appended behind rows that were handed over once and deleted since") {
  const RedisServer server;
  RedisHandler holder(config_for(server));
  REQUIRE(deliver(holder, rows(1, 10)).done == 10);
  auto before = rows(11, 100);
  SUBCASE("by a former holder") {
    for (auto& record : before) record.epoch -= 1;
    REQUIRE(deliver(server, before).done == 90);
  }
  SUBCASE("by this one") {
    REQUIRE(deliver(holder, before).done == 90);
  }
  RedisClient client(server);
  for (int n = 12; n <= 100; ++n) client.run({"XDEL", stream, std::to_string(n) + "-0"});
  const auto outcome = deliver(holder, rows(11, 1'000));
  CHECK(outcome.done == 1);
  CHECK(says(outcome, "ends at 100-0, but 12-0 was trimmed or deleted"));
  CHECK(ids_in(server) == ids_up_to(11));
}

TEST_CASE("if the guard may not read, no more rows follow") {
  const RedisServer server;
  RedisClient client(server);
  RedisHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  client.run({"ACL", "SETUSER", "default", "-xrange"});
  REQUIRE(deliver(handler, rows(11, 20)).done == 10);
  const auto outcome = deliver(handler, rows(21, 30));
  CHECK(outcome.done == 0);
  CHECK(
      says(outcome, " script"));  // "the user executing the script can't", "ACL failure in script"
  CHECK(outcome.next->kind == Kind::retry_later);
  client.run({"ACL", "SETUSER", "default", "+xrange"});
  CHECK(deliver(handler, rows(11, 40)).done == 30);
  CHECK(ids_in(server) == ids_up_to(40));
}

TEST_CASE("a consumer that deletes what it reads holds nothing up") {
  const RedisServer server({.settings = {"--appendonly", "no"}});
  RedisHandler handler(config_for(server));
  std::atomic<unsigned> deleted = 0;
  std::jthread consumer([&](const std::stop_token& stop) {
    RedisClient client(server);
    while (!stop.stop_requested()) {
      const auto found = client.run({"XRANGE", stream, "-", "+", "COUNT", "1"}).items;
      if (!found.empty()) client.run({"XDEL", stream, found[0].items[0].str()});
      deleted += found.empty() ? 0 : 1;
    }
  });
  for (std::uint64_t first = 1; first < 20'000; first += 1'000) {
    const auto batch = rows(first, first + 999);
    REQUIRE(all_done(deliver(handler, batch), batch));
    wait_until("the consumer is at it", [&] { return deleted >= first / 1'000; });
  }
  consumer.request_stop();
  consumer.join();
  CHECK(entries_of(server, stream).size() + deleted == 20'000);
}

TEST_CASE("numbers used up by rows set aside are left out") {
  const RedisServer server;
  RedisHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 2)).done == 2);
  REQUIRE(deliver(handler, rows(5, 6)).done == 2);
  CHECK(ids_in(server) == "1-0 2-0 5-0 6-0");
}

TEST_CASE("an entry of someone else is never taken for ours") {
  const RedisServer server;
  RedisClient client(server);
  SUBCASE("at the same id") {
    auto foreign = rows(3, 3);
    foreign[0].position.id = "another row";
    REQUIRE(deliver(server, rows(1, 2)).done == 2);
    REQUIRE(deliver(server, foreign).done == 1);
    const auto outcome = deliver(server, rows(1, 5));
    CHECK(outcome.done == 2);
    CHECK(says(outcome, "another record is at 3-0 of stream bookings:0, which ends at 3-0"));
    CHECK(outcome.next->kind == Kind::poison);
    CHECK(ids_in(server) == "1-0 2-0 3-0");
  }
  SUBCASE("further on, in the midst of rows that are on their way") {
    RedisHandler handler(config_for(server));
    REQUIRE(deliver(handler, rows(1, 10)).done == 10);
    client.run({"XADD", stream, "400-0", "a", "b"});
    const auto outcome = deliver(handler, rows(11, 1'000));
    CHECK(outcome.done == 0);
    CHECK(says(outcome, "11-0 was trimmed or deleted"));
    CHECK(ids_in(server) == ids_up_to(10) + " 400-0");
    CHECK(last_id_in(client) == "400-0");
  }
  SUBCASE("further on, and deleted since") {
    RedisHandler handler(config_for(server));
    REQUIRE(deliver(handler, rows(1, 10)).done == 10);
    client.run({"XADD", stream, "400-7", "a", "b"});
    client.run({"XDEL", stream, "400-7"});
    const auto outcome = deliver(handler, rows(11, 1'000));
    CHECK(outcome.done == 0);
    CHECK(says(outcome, "ends at 400-7, but 11-0 was trimmed or deleted"));
    CHECK(ids_in(server) == ids_up_to(10));
    CHECK(last_id_in(client) == "400-7");
  }
  SUBCASE("where the next row belongs") {
    RedisHandler handler(config_for(server));
    REQUIRE(deliver(handler, rows(1, 10)).done == 10);
    client.run({"XADD", stream, "11-0", "a", "b"});
    const auto outcome = deliver(handler, rows(11, 1'000));
    CHECK(outcome.done == 0);
    CHECK(says(outcome, "another record is at 11-0"));
    CHECK(ids_in(server) == ids_up_to(11));
  }
  SUBCASE("where another writer lets the stream give ids") {
    client.run({"XADD", stream, "*", "a", "b"});
    CHECK(deliver(server, rows(1, 5)).next->kind == Kind::poison);
    CHECK(entries_of(server, stream).size() == 1);
  }
}

TEST_CASE("a repeat whose entry is gone halts, and what the reason advises lets it go on") {
  const RedisServer server;
  RedisClient client(server);
  REQUIRE(deliver(server, rows(1, 5)).done == 5);
  for (const char* id : {"3-0", "4-0", "5-0"}) client.run({"XDEL", stream, id});
  const auto outcome = deliver(server, rows(1, 6));
  CHECK(outcome.done == 2);
  CHECK(says(outcome, "with XSETID to 2-0"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(says(outcome, "RENAME"));
  try {
    client.run({"XSETID", stream, "2-0"});
  } catch (const std::exception& refused) {  // from Redis 7.2 on
    REQUIRE(std::string(refused.what()).find("max_deleted_entry_id") != std::string::npos);
    client.run({"RENAME", stream, "old"});
  }
  REQUIRE(deliver(server, rows(3, 6)).done == 4);
  CHECK(ids_in(server).ends_with("3-0 4-0 5-0 6-0"));
}

TEST_CASE(
    "a server that becomes full in the midst of a batch has its first rows and no later one") {
  const RedisServer server;
  RedisClient client(server);
  RedisHandler handler(config_for(server));
  REQUIRE(deliver(handler, rows(1, 10)).done == 10);
  const auto batch = rows(11, 5'000, 1'000);
  const auto info = client.run({"INFO", "memory"}).str();
  const auto used = std::stoull(info.substr(info.find("used_memory:") + 12));
  client.run({"CONFIG", "SET", "maxmemory", std::to_string(used + 5'000'000)});
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done > 0);
  CHECK(outcome.done < batch.size());
  CHECK(says(outcome, "OOM"));
  CHECK(ids_in(server) == ids_up_to(10 + outcome.done));
  client.run({"CONFIG", "SET", "maxmemory", "0"});
  const auto rest = rows(11 + outcome.done, 5'000, 1'000);
  CHECK(all_done(deliver(handler, rest), rest));
  CHECK(ids_in(server) == ids_up_to(5'000));
}

TEST_CASE("streams named by the record each keep their order; a record that names none is poison") {
  const RedisServer server;
  auto config = config_for(server);
  config.stream = "{{event_type}}:{{lane}}";
  config.stream_by_record = true;
  auto batch = rows(1, 6);
  for (const std::size_t i : {1UL, 2UL, 4UL}) batch[i].event_type = "cancelled";
  batch[5].event_type.reset();
  RedisHandler handler(config);
  const auto outcome = deliver(handler, batch);
  CHECK(outcome.done == 5);
  CHECK(says(outcome, "event_type"));
  CHECK(outcome.next->kind == Kind::poison);
  CHECK(ids_in(server, "booking.created:0") == "1-0 4-0");
  CHECK(ids_in(server, "cancelled:0") == "2-0 3-0 5-0");
}
