// FAULTS.md 24 and 44: pages that cannot be read, and schemas of another version than the
// program's.
#include <doctest/doctest.h>

#include <fstream>

#include "cli/stage.hpp"
#include "embedded/embedded_server.hpp"
#include "postgres/admin/migrate.hpp"
#include "sql/migrations.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using seriatim::embedded::EmbeddedServer;
namespace fs = std::filesystem;

namespace {

/// Overwrites the head of one page of a table of a stopped server.
void break_page(const fs::path& file, long number) {
  constexpr long page_bytes = 8192;
  std::fstream page(file, std::ios::in | std::ios::out | std::ios::binary);
  REQUIRE(page.is_open());
  page.seekp(number * page_bytes);
  const std::string garbage(64, '\x5A');
  page.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
}

/// Exactly what version 1 of the program installed.
void install_first_version(TestDatabase& database) {
  database.run("DROP SCHEMA seriatim CASCADE");
  const auto& first = seriatim::sql::migrations.front();
  database.run(std::string(first.text));
  database.run("INSERT INTO seriatim.migration (version, name) VALUES (1, '001_schema')");
}

}  // namespace

TEST_SUITE("damage and versions") {
  TEST_CASE("a broken page halts the lane there, names the place, and later rows wait") {
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    EmbeddedServer server({folder.path() / "server", {"fsync=off", "shared_buffers=16MB"}, {}});
    seriatim::postgres::migrate(server.url());
    std::string file;
    std::string readable;  // the last row before the broken page
    {
      SqlSession session(server.url());
      session.run(
          "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
          " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
          "CREATE INDEX ON t (created_at, id);"  // some hundred bytes a row: several pages
          "INSERT INTO t (payload) SELECT repeat('x', 500) FROM generate_series(1, 40)");
      file = session.value("SELECT pg_relation_filepath('t')");
      readable = session.value("SELECT max(id) FROM t WHERE ctid < '(1,0)'");
    }
    server.stop(EmbeddedServer::Stop::fast);
    break_page(folder.path() / "server" / "data" / file, 1);
    server.start();
    HttpService receiver;
    RelayProgram relay(folder, "relay",
                       database_section(server.url()) +
                           http_process("by_id", "public.t", "id", receiver.url()) +
                           http_process("by_time", "public.t", "created_at", receiver.url()));
    SqlSession session(server.url());
    for (const std::string process : {"by_id", "by_time"}) {
      CAPTURE(process);
      const auto of_process = " FROM seriatim.cursor WHERE process_name = '" + process + "'";
      wait_until("it halted",
                 [&] { return session.value("SELECT state" + of_process) == "halted"; });
      const auto said = session.value("SELECT reason || ' ' || detail" + of_process);
      CAPTURE(said);
      CHECK(contains(said, "BAD_PAYLOAD"));
      CHECK(contains(said, "XX001"));
      CHECK(contains(said, "after row " + readable + " cannot be read"));
      CHECK(contains(said, "block 1"));
      CHECK(session.value("SELECT position_id" + of_process) == readable);
    }
    CHECK(receiver.request_count() == 2 * std::stoul(readable));
    CHECK(relay.stop().code == 0);
  }

  TEST_CASE("a program does not run on an older or newer schema, and says what to do") {
    Stage stage;
    install_first_version(stage.database);
    const auto older = stage.seriatim({"run", "--drain"});
    CAPTURE(older.err);
    CHECK(older.code == 1);
    CHECK(contains(older.err, "schema seriatim has version 1"));
    CHECK(contains(older.err, "seriatim init"));
    CHECK(stage.seriatim({"init"}).code == 0);
    stage.database.run("INSERT INTO seriatim.migration (version, name) VALUES (9999, 'future')");
    for (const auto* verb : {"run", "init"}) {
      const auto newer = stage.seriatim({verb});
      CAPTURE(newer.err);
      CHECK(newer.code == 1);
      CHECK(contains(newer.err, "version 9999"));
      CHECK(contains(newer.err, "use the newer seriatim"));
    }
  }

  TEST_CASE("a cursor of the first version goes on after an upgrade, from its row and no other") {
    Stage stage;
    install_first_version(stage.database);
    stage.append(5);
    stage.database.run(
        "INSERT INTO seriatim.cursor (process_name, lane, lanes, position_at, position_id, "
        "sequence,"
        " epoch) SELECT 'p', 0, 1, created_at, id::text, 3, 7 FROM seriatim.outbox WHERE id = 3");
    REQUIRE(stage.seriatim({"init"}).code == 0);
    const auto ended = stage.seriatim({"run", "--drain"});
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(stage.lines_in_log() == 2);
    CHECK(stage.database.value("SELECT sequence || ' ' || (identity ->> 'table')"
                               " FROM seriatim.cursor") == "5 seriatim.outbox");
  }

  TEST_CASE("init and changes of the cursor's table under load: every row once, in order") {
    Stage stage;
    HttpService receiver;
    stage.configure(
        Stage::process("kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\""));
    Process relay(Stage::command({"run"}), stage.options());
    constexpr int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
      stage.append(10);
      if (round % 5 == 0) CHECK(stage.seriatim({"init"}).code == 0);
      stage.database.run("ALTER TABLE seriatim.cursor ADD COLUMN future_" + std::to_string(round) +
                         " text NOT NULL DEFAULT ''");
    }
    constexpr std::size_t rows = rounds * 10;
    REQUIRE(receiver.wait_for_requests(rows, std::chrono::seconds(60)));
    REQUIRE(stage.database.becomes_true("SELECT sequence = " + std::to_string(rows) +
                                        " FROM seriatim.cursor"));
    int expected = 0;
    for (const auto& request : receiver.requests()) {
      CHECK(request.header("Idempotency-Key") == "p:" + std::to_string(++expected));
    }
    relay.signal(15);
    CHECK(relay.wait().code == 0);
  }
}
