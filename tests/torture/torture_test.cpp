// Concurrent writers at their worst against the program as users run it; judged at the receiver.
// SERIATIM_TORTURE_SECONDS (default 60) and SERIATIM_TORTURE_SEED change a run.
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "support/http_receiver.hpp"
#include "support/postgres_fixture.hpp"
#include "support/relay_program.hpp"
#include "torture/checker.hpp"
#include "torture/producers.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* impatient = "backoff = { first = \"10ms\", max = \"50ms\" }\n";

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::stoull(text);
}

std::chrono::seconds length() {
  return std::chrono::seconds(number_from("SERIATIM_TORTURE_SECONDS", 60));
}

std::uint64_t seed() {
  static const auto drawn = number_from("SERIATIM_TORTURE_SEED", std::random_device{}());
  MESSAGE("seed ", drawn);
  return drawn;
}

/// Now and then the receiver fails at a row's first attempt: batches break in the middle.
bool is_refused(const ReceivedRequest& request) {
  return request.header("Seriatim-Attempt") == "1" &&
         std::stoull(request.header("Seriatim-Sequence").value_or("0")) % 37 == 0;
}

Reply answer(const ReceivedRequest& request) {
  return Reply::with_status(is_refused(request) ? 503 : 200);
}

/// What the receiver took, in the order of arrival.
std::vector<Delivery> deliveries(const HttpReceiver& receiver) {
  std::vector<Delivery> all;
  for (const auto& request : receiver.requests()) {
    if (is_refused(request)) continue;
    const auto key = request.header("Idempotency-Key").value_or(":");
    all.push_back(
        {key.substr(key.find(':') + 1),
         std::stoull(request.header("Seriatim-Sequence").value_or("0")),
         std::stoull(request.header("Seriatim-Epoch").value_or("0")),
         static_cast<unsigned>(std::stoul(request.header("Seriatim-Attempt").value_or("0"))),
         request.body});
  }
  return all;
}

/// Every committed row has been called for: nothing is left to come.
bool drained(TestDatabase& database, const std::string& process) {
  return database.becomes_true(
      "SELECT c.sequence = (SELECT count(*) FROM torture)"
      " FROM seriatim.cursor AS c WHERE process_name = '" +
          process + "'",
      60);
}

}  // namespace

TEST_SUITE("torture") {
  TEST_CASE("writers overtaking each other: lost 0, repeated 0, out of order 0, in both orders") {
    TestDatabase database;
    Producers producers({.url = database.url(), .seed = seed()});
    HttpReceiver by_time;
    HttpReceiver by_id;
    by_time.reply_with(answer);
    by_id.reply_with(answer);
    TemporaryFolder folder;
    RelayProgram relay(folder, "relay",
                       database_section(database.url()) +
                           http_process("by_time", "public.torture", "created_at", by_time.url(),
                                        impatient, "where = \"t.writer >= 0\"\n") +
                           http_process("by_id", "public.torture", "id", by_id.url(), impatient));
    producers.start();
    const auto end = Clock::now() + length();
    wait_until(
        "the time is over", [&] { return relay.has_ended() || Clock::now() > end; },
        length() + 60s);
    producers.stop();
    REQUIRE_MESSAGE(drained(database, "by_time"), relay.log());
    REQUIRE_MESSAGE(drained(database, "by_id"), relay.log());
    CHECK(relay.stop().code == 0);

    for (const auto& [order, receiver] :
         {std::pair("created_at", &by_time), std::pair("id", &by_id)}) {
      CAPTURE(order);
      const auto verdict = judge(committed_ids(database.url(), order), deliveries(*receiver));
      MESSAGE(order, ": ", verdict.text());
      CHECK(verdict.committed > 0);
      CHECK(verdict.clean_but_for_repeats());
      CHECK(verdict.repeated.empty());
    }
  }

  TEST_CASE("kill -9 of the relay every few seconds: lost 0, in order, at most one repeat a kill") {
    TestDatabase database;
    Producers producers({.url = database.url(), .seed = seed() + 1});
    HttpReceiver receiver;
    receiver.reply_with(answer);
    TemporaryFolder folder;
    const auto config =
        database_section(database.url()) +
        http_process("p", "public.torture", "created_at", receiver.url(), impatient);
    std::mt19937_64 random(seed());
    producers.start();
    const auto end = Clock::now() + length();
    std::size_t kills = 0;
    while (Clock::now() < end) {
      RelayProgram relay(folder, "relay" + std::to_string(kills), config);
      const auto more = std::uniform_int_distribution<std::size_t>(20, 200)(random);
      const auto enough = receiver.request_count() + more;
      REQUIRE_MESSAGE(receiver.wait_for_requests(enough, 60s), relay.log());
      relay.kill();
      relay.wait();
      kills += 1;
    }
    producers.stop();
    RelayProgram last(folder, "last", config);
    REQUIRE_MESSAGE(drained(database, "p"), last.log());
    CHECK(last.stop().code == 0);

    const auto verdict = judge(committed_ids(database.url(), "created_at"), deliveries(receiver));
    MESSAGE("kills ", kills, "; ", verdict.text());
    CHECK(kills > 0);
    CHECK(verdict.clean_but_for_repeats());
    CHECK(verdict.repeated.size() <= kills);
  }
}
