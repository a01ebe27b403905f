// FAULTS.md 19: what a session does about a network, and a server, that do not say goodbye.
#include <doctest/doctest.h>

#include "lab/proxy/fault_proxy.hpp"
#include "postgres/wire/connection.hpp"
#include "postgres/wire/network_bounds.hpp"
#include "seriatim/error.hpp"
#include "support/postgres_fixture.hpp"
#include "support/skip.hpp"

using namespace seriatim;
using namespace seriatim::postgres;
using namespace std::chrono_literals;
using seriatim::testing::TestDatabase;
using seriatim::torture::FaultProxy;
using seriatim::torture::Side;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

const std::string quick =
    "&keepalives_idle=1&keepalives_interval=1&keepalives_count=1&tcp_user_timeout=1000";

/// A session of ours on the other side of a proxy.
struct Line {
  explicit Line(const std::string& bounds = quick)
      : connection(through(bounds), {"far away", milliseconds{20'000}, {}, milliseconds{600'000}}) {
  }
  [[nodiscard]] std::string through(const std::string& more) const {
    return database.url() + "?host=127.0.0.1&sslmode=disable&connect_timeout=2&port=" +
           std::to_string(proxy.port()) + more;
  }
  bool backend_goes() {
    return database.becomes_true(
        "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'far away'"
        " AND datname = current_database())");
  }

  TestDatabase database;
  FaultProxy proxy{"127.0.0.1", static_cast<unsigned short>(testing::shared_server().port())};
  Connection connection;
};

std::string loss_of(Connection& connection) {
  try {
    connection.run("SELECT 1");
  } catch (const SessionLost& lost) {
    return lost.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("bounds go into the query of a URL, and what the user wrote comes after them") {
  const std::string bounds =
      "connect_timeout=10&keepalives=1&keepalives_idle=10&keepalives_interval=5&"
      "keepalives_count=3&tcp_user_timeout=15000";
  for (const std::string place : {"postgresql://db", "postgres:///shop",
                                  "postgresql://me:pa?ss@db:5432/shop", "postgresql://m?e@db"}) {
    CAPTURE(place);
    CHECK(with_network_bounds(place) == place + '?' + bounds);
    CHECK(with_network_bounds(place + "?a=b") == place + '?' + bounds + "&a=b");
  }
  CHECK(with_network_bounds("host=db").ends_with("tcp_user_timeout=15000 host=db"));
}

TEST_SUITE("the network of a session") {
  TEST_CASE("the server's end is given the bounds of ours") {
    Line line("&keepalives_idle=7&keepalives_interval=3&keepalives_count=2&tcp_user_timeout=9000");
    const auto setting = [&](const std::string& name) {
      return line.connection.run("SHOW " + name)[0][0].as<std::string>();
    };
    CHECK(setting("tcp_keepalives_idle") == "7");
    CHECK(setting("tcp_keepalives_interval") == "3");
    CHECK(setting("tcp_keepalives_count") == "2");
    CHECK(setting("tcp_user_timeout") == "9000");
    CHECK(setting("idle_in_transaction_session_timeout") == "10min");
    Line ours("");
    CHECK(ours.connection.run("SHOW tcp_user_timeout")[0][0].as<std::string>() == "15000");
    CHECK(ours.connection.run("SHOW tcp_keepalives_idle")[0][0].as<std::string>() == "10");
  }

  TEST_CASE("a server that lets nobody set them is used all the same") {
    TestDatabase database;
    database.run("CREATE ROLE humble LOGIN; REVOKE SELECT ON pg_settings FROM public");
    {
      Connection connection(database.url() + "?user=humble", {});
      CHECK(connection.run("SHOW tcp_user_timeout")[0][0].as<std::string>() == "0");
    }
    database.run("DROP ROLE humble");
  }

  TEST_CASE("a host that vanished is noticed by both ends, and its lock falls") {
    Line line;
    line.database.run("CREATE TABLE t (n int); INSERT INTO t VALUES (1)");
    line.connection.begin("SELECT n FROM t FOR UPDATE");
    if (!line.proxy.cut()) SKIP_TEST("this kernel has no SO_ATTACH_FILTER");
    CHECK(line.backend_goes());
    CHECK(line.database.value("SELECT count(*) FROM (SELECT FROM t FOR UPDATE NOWAIT) AS f") ==
          "1");
    const auto began = Clock::now();
    CHECK(loss_of(line.connection) != "none");
    CHECK(Clock::now() - began < 20s);
  }

  TEST_CASE("an end that acknowledges and never answers is given up, and it is said why") {
    for (const auto end : {"a black hole", "a half-open connection"}) {
      CAPTURE(end);
      Line line;
      if (end == std::string("a black hole")) {
        line.proxy.set({{}, {.swallow = true}});
      } else {
        line.proxy.half_open(Side::server);
      }
      const auto said = loss_of(line.connection);
      CHECK(said.find("did not answer in time") != std::string::npos);
      CHECK_THROWS_AS(line.connection.run("SELECT 1"), SessionLost);
    }
  }

  TEST_CASE("nor do statements sent together wait for one that never answers") {
    Line line;
    const auto loss = [&] {
      try {
        line.connection.commit_with({{"SELECT $1::int", {"1"}}, {"SELECT $1::text", {"a"}}});
      } catch (const SessionLost& lost) {
        return std::string(lost.what());
      }
      return std::string("none");
    };
    CHECK(loss() == "none");
    line.proxy.set({{}, {.swallow = true}}, seriatim::torture::Connections::existing);
    CHECK(loss().find("did not answer in time") != std::string::npos);
    CHECK(loss() != "none");
  }

  TEST_CASE("nor does a statement on its own, or the preparing before it") {
    for (const bool prepared : {false, true}) {
      CAPTURE(prepared);
      Line line;
      const auto commit = [&] { (void)line.connection.run_then({"SELECT $1::int", {"1"}}); };
      if (prepared) commit();
      line.proxy.set({{}, {.swallow = true}}, seriatim::torture::Connections::existing);
      try {
        commit();
        FAIL("answered");
      } catch (const SessionLost& lost) {
        CHECK(std::string(lost.what()).find("did not answer in time") != std::string::npos);
      }
    }
  }

  TEST_CASE("nor do rows in binary form, and the preparing before them") {
    const auto loss = [](const auto& work) {
      try {
        work();
      } catch (const SessionLost& lost) {
        return std::string(lost.what());
      }
      return std::string("none");
    };
    for (const bool prepared : {false, true}) {
      CAPTURE(prepared);
      Line line;
      auto& connection = line.connection;
      if (prepared) REQUIRE(connection.fetch_prepared("SELECT 1", {}).size() == 1);
      line.proxy.set({{}, {.swallow = true}}, seriatim::torture::Connections::existing);
      const auto said = loss([&] { (void)connection.fetch_prepared("SELECT 1", {}); });
      CHECK(said.find("did not answer in time") != std::string::npos);
    }
  }

  TEST_CASE("an answer that trickles in is no silence") {
    Line line;
    using seriatim::torture::Connections;
    line.proxy.set({{}, {.bytes_per_second = 1'000}}, Connections::existing);
    const auto began = Clock::now();
    const auto text = line.connection.run("SELECT repeat('x', 3000)");
    CHECK(text[0][0].as<std::string>().size() == 3000);
    CHECK(Clock::now() - began > 2s);  // longer than silence is borne
  }

  TEST_CASE("a server that is still at the statement is not given up") {
    Line line;
    CHECK_NOTHROW(line.connection.run("SELECT pg_sleep(6)"));  // asked about more than once
    CHECK(loss_of(line.connection) == "none");
  }

  TEST_CASE("nor is one that cannot be asked because it is full") {
    Line line;
    line.database.run("CREATE ROLE humble LOGIN CONNECTION LIMIT 1");
    {
      Connection humble(line.through(quick + "&user=humble"), {});
      CHECK_NOTHROW(humble.run("SELECT pg_sleep(4)"));
    }
    line.database.run("DROP ROLE humble");
  }

  TEST_CASE("after a statement that failed nothing is owed") {
    Line line;
    CHECK_THROWS_AS(line.connection.run("SELECT nothing"), SourceBroken);
    CHECK(line.database.value("SELECT pg_sleep(4)") == "");
    CHECK(loss_of(line.connection) == "none");
  }

  TEST_CASE("an answer that was lost on the way is not waited for") {
    Line line;
    line.proxy.set({{}, {.swallow = true}}, seriatim::torture::Connections::existing);
    CHECK(loss_of(line.connection).find("did not answer") != std::string::npos);
  }
}
