// The example consumer: a relay fills a RabbitMQ queue, both are killed in the middle of it, and
// each event is booked once.
#include <doctest/doctest.h>
#include <signal.h>

#include "postgres/least_role.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"
#include "support/rabbitmq_client.hpp"
#include "support/rabbitmq_server.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;

namespace {

constexpr const char* queue = "charges";

class Stage {
 public:
  explicit Stage(int rows) : rows_(rows), role_(target_, "") {
    source_.run(
        "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "INSERT INTO t (payload) SELECT json_build_object('customer', 'c-' || n % 7, 'cents', n)"
        " FROM generate_series(1, " +
        std::to_string(rows) + ") AS n");
    target_.run(
        "CREATE TABLE charge (n bigint GENERATED ALWAYS AS IDENTITY, event_id text,"
        " customer text, cents integer); GRANT INSERT ON charge TO " +
        role_.name());
    role_.grant("consumer.sql");
    RabbitmqClient(server_).declare_queue(queue);
  }

  std::unique_ptr<RelayProgram> relay(const std::string& name, const RelayProgram::Hooks& hooks) {
    return std::make_unique<RelayProgram>(
        folder_, name,
        database_section(source_.url()) +
            "[[process]]\nname = \"p\"\nlease = \"2s\"\nstandby_interval = \"50ms\"\n"
            "batch_rows = 100\n[process.source]\ntable = \"public.t\"\norder_by = \"id\"\n"
            "[process.handler]\nkind = \"rabbitmq\"\nurl = \"" +
            server_.url() + "\"\nrouting_key = \"" + queue + "\"\n",
        hooks);
  }
  std::unique_ptr<Process> consumer() {
    return std::make_unique<Process>(
        std::vector<std::string>{CONSUMER_EXAMPLE, server_.url(), queue, role_.url()});
  }
  bool booked(int rows) {
    return target_.becomes_true("SELECT count(*) >= " + std::to_string(rows) + " FROM charge", 60);
  }
  /// In order, each once.
  bool all_booked_once() {
    return target_.value("SELECT count(*) = " + std::to_string(rows_) +
                         " AND bool_and(event_id = 'p:' || place AND cents = place) FROM"
                         " (SELECT *, row_number() OVER (ORDER BY n) AS place FROM charge) AS c") ==
           "t";
  }
  std::size_t waiting() { return RabbitmqClient(server_).count(queue); }

 private:
  RabbitmqServer server_;
  TestDatabase source_;
  TestDatabase target_;
  TemporaryFolder folder_;
  int rows_;
  LeastRole role_;
};

}  // namespace

TEST_CASE("relay and consumer killed in the middle: each event is booked once and in order") {
  constexpr int rows = 600;
  Stage stage(rows);
  auto dying = stage.relay("dying", {{"SERIATIM_CRASH_AT", "after call:2"}});
  CHECK(dying->wait().code == 128 + SIGKILL);  // 100 rows are in the queue that it did not note
  const auto relay = stage.relay("relay", {});
  std::string said;
  for (const int rows_booked : {50, 200, 400}) {
    const auto consumer = stage.consumer();
    REQUIRE(stage.booked(rows_booked));
    consumer->signal(SIGKILL);
    said += consumer->wait().out;
  }
  const auto consumer = stage.consumer();
  REQUIRE(stage.booked(rows));
  wait_until("the queue is empty", [&] { return stage.waiting() == 0; });
  consumer->signal(SIGTERM);
  said += consumer->wait().out;
  CHECK(stage.all_booked_once());
  CHECK(std::count(said.begin(), said.end(), '\n') >= 100);  // "taken before"
  CHECK(said.find("taken before: p:101\n") != std::string::npos);
}
