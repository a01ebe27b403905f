// A name that was given up stays given up, and a cursor that disappears or is made anew is never
// taken for that of a new process. The whole program, real servers.
#include <doctest/doctest.h>

#include <csignal>

#include "cli/stage.hpp"
#include "support/relay_program.hpp"

using namespace seriatim::testing;

namespace {

constexpr const char* table_t =
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text, payload "
    "text,"
    " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "CREATE INDEX ON t (created_at, id)";

std::string log_handler(const Stage& stage) {
  return "kind = \"log\"\nfile = \"" + stage.log.string() + "\"";
}

/// Configurations of one table and log under any name, and relays that run them.
struct Desk {
  Desk() {
    stage.database.run(table_t);
    configure("p");
  }
  [[nodiscard]] std::string toml(const std::string& name, const std::string& more = {},
                                 const std::string& source = {}) const {
    return "[[process]]\nname = \"" + name + "\"\n" + more +
           "\n[process.source]\ntable = \"public.t\"\nkey = \"customer\"\n" + source +
           "\n[process.handler]\n" + log_handler(stage) + '\n';
  }
  void configure(const std::string& name, const std::string& more = {},
                 const std::string& source = {}) const {
    stage.configure(toml(name, more, source));
  }
  RelayProgram start(const std::string& name, const std::string& more = {}) {
    runs += 1;
    return {stage.folder, "relay" + std::to_string(runs),
            database_section(stage.database.url()) + toml(name, more)};
  }
  void insert(int rows) {
    stage.database.run(
        "INSERT INTO t (customer, payload) SELECT 'c' || n % 7, 'x' FROM "
        "generate_series(1, " +
        std::to_string(rows) + ") AS n");
  }
  void wait_for_lines(int lines) const {
    wait_until(std::to_string(lines) + " lines in the log",
               [&] { return stage.lines_in_log() >= lines; });
  }
  static void wait_for(const RelayProgram& relay, const std::string& text) {
    wait_until("the relay says " + text, [&] { return contains(relay.log(), text); });
  }

  /// All rows delivered as p, which is q from then on, in the configuration too.
  void deliver_and_rename(int rows, const std::string& reason) {
    insert(rows);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    REQUIRE(stage.lines_in_log() == rows);
    configure("q");
    REQUIRE(stage.seriatim({"adopt", "q", "--from", "p", "--reason", reason}).code == 0);
  }

  Stage stage;
  int runs = 0;
};

}  // namespace

TEST_SUITE("a lost cursor") {
  TEST_CASE("an instance started under the name of before a rename repeats no row") {
    Desk desk;
    auto& stage = desk.stage;
    desk.deliver_and_rename(200, "ticket 17");
    auto renamed = desk.start("q");
    desk.insert(1);
    desk.wait_for_lines(201);

    desk.configure("p");  // an old file, on another machine perhaps
    const auto old = stage.seriatim({"run", "--drain"});
    CAPTURE(old.err);
    CHECK(old.code == 1);
    CHECK(contains(old.err, "process \"p\" was renamed to \"q\" at "));
    CHECK(contains(old.err, "(ticket 17)"));
    CHECK(contains(old.err, "set name = \"q\""));
    CHECK(contains(old.err, "seriatim adopt p --from q"));
    CHECK(stage.lines_in_log() == 201);
    CHECK(stage.seriatim({"check"}).code == 1);
    for (const auto& act : {std::vector<std::string>{"status"},
                            {"pause", "p"},
                            {"audit", "p"},
                            {"why", "p", "1"},
                            {"peek", "p"},
                            {"adopt", "p"},
                            {"rewind", "p", "--to", "start"},
                            {"lanes", "p", "2"}}) {
      CAPTURE(act.front());
      const auto answer = stage.seriatim(act);
      CHECK(answer.code == (act.front() == "status" ? 3 : 1));
      CHECK(contains(answer.out + answer.err, "was renamed to \"q\""));
    }
    CHECK(stage.database.value("SELECT string_agg(process_name || ' ' || state, ', ' ORDER BY 1) "
                               "FROM (SELECT process_name, CASE process_name WHEN 'p' THEN state "
                               "ELSE 'of a relay' END AS state FROM seriatim.lanes) AS l") ==
          "p retired, q of a relay");
    CHECK(renamed.stop().code == 0);
  }

  TEST_CASE("a renamed process whose cursor is gone before it ran is no new one") {
    Desk desk;
    auto& stage = desk.stage;
    desk.deliver_and_rename(5, "ticket 17");
    stage.database.run("DELETE FROM seriatim.cursor WHERE process_name = 'q'");
    const auto again = stage.seriatim({"run", "--drain"});
    CAPTURE(again.err);
    CHECK(again.code == 1);
    CHECK(contains(again.err, "it took the place of process \"p\""));
    CHECK(stage.lines_in_log() == 5);
  }

  TEST_CASE("a name is taken back by adopting from the new one, and from no other") {
    Desk desk;
    auto& stage = desk.stage;
    desk.deliver_and_rename(3, "back soon");
    desk.configure("r");
    CHECK(stage.seriatim({"adopt", "r", "--from", "p"}).code == 1);  // p has no cursor to give
    CHECK(stage.seriatim({"adopt", "r"}).code == 0);                 // another process
    desk.configure("p");
    const auto other = stage.seriatim({"adopt", "p", "--from", "r"});
    CHECK(other.code == 1);
    CHECK(contains(other.err, "was renamed to \"q\""));
    CHECK(stage.seriatim({"adopt", "p", "--from", "q"}).code == 0);
    desk.insert(2);
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 5);
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
    desk.configure("q");
    CHECK(contains(stage.seriatim({"run", "--drain"}).err, "\"q\" was renamed to \"p\""));
  }

  TEST_CASE("a relay frozen while its process is renamed stops when it is thawed") {
    Desk desk;
    auto& stage = desk.stage;
    desk.insert(5);
    auto frozen = desk.start("p", "lease = \"1s\"");
    desk.wait_for_lines(5);
    frozen.signal(SIGSTOP);
    wait_until("its lease is over", [&] {
      return stage.database.value("SELECT holder IS NULL FROM seriatim.lanes") == "t";
    });
    desk.configure("q");
    REQUIRE(stage.seriatim({"adopt", "q", "--from", "p"}).code == 0);
    desk.insert(3);
    frozen.signal(SIGCONT);
    Desk::wait_for(frozen, "was renamed to \"q\"");
    CHECK(contains(frozen.log(), "CONFIG_CHANGED"));
    CHECK(stage.lines_in_log() == 5);
    desk.configure("p");  // back again: it goes on by itself
    REQUIRE(stage.seriatim({"adopt", "p", "--from", "q"}).code == 0);
    desk.wait_for_lines(8);
    CHECK(frozen.stop().code == 0);
    CHECK(stage.lines_in_log() == 8);
  }

  TEST_CASE("a cursor row deleted by hand while a relay runs is not made anew") {
    Desk desk;
    auto& stage = desk.stage;
    desk.insert(5);
    auto relay = desk.start("p");
    desk.wait_for_lines(5);
    stage.database.run("DELETE FROM seriatim.cursor");
    desk.insert(2);
    Desk::wait_for(relay, "is gone, so nobody knows which rows were delivered");
    CHECK(contains(relay.log(), "SOURCE_CHANGED"));
    CHECK(stage.database.value("SELECT count(*) FROM seriatim.cursor") == "0");
    const auto status = stage.seriatim({"status"});
    CAPTURE(status.out);
    CHECK(status.code == 3);
    CHECK(contains(status.out, "has no cursor, but seriatim.journal says that it ran"));
    CHECK(relay.stop().code == 0);

    const auto again = stage.seriatim({"run", "--drain"});  // the journal still knows it
    CAPTURE(again.err);
    CHECK(again.code == 1);
    CHECK(contains(again.err, "seriatim adopt p --reason"));
    CHECK(stage.lines_in_log() == 5);
    CHECK(stage.seriatim({"adopt", "p", "--reason", "all once more"}).code == 0);
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 12);
  }

  TEST_CASE(
      "schema seriatim dropped and installed anew: a running relay refuses, a new one says it") {
    Desk desk;
    auto& stage = desk.stage;
    desk.insert(5);
    auto relay = desk.start("p");
    desk.wait_for_lines(5);
    stage.database.run("DROP SCHEMA seriatim CASCADE");
    REQUIRE(stage.seriatim({"init"}).code == 0);
    desk.insert(2);
    Desk::wait_for(relay, "is gone, so nobody knows which rows were delivered");
    CHECK(stage.lines_in_log() == 5);

    auto second = desk.start("p");  // nothing remembers
    desk.wait_for_lines(12);
    CHECK(contains(second.log(),
                   "process p has no cursor here: it begins with the oldest row "
                   "(start = \"beginning\"); 7 rows go out first"));
    Desk::wait_for(relay, "was made anew while this relay ran");
    CHECK(second.stop().code == 0);
    CHECK(relay.stop().code == 0);
    CHECK(stage.lines_in_log() == 12);
  }

  TEST_CASE("a row of one lane deleted is missed after a restart too") {
    Desk desk;
    auto& stage = desk.stage;
    desk.configure("p", "lanes = 2");
    desk.insert(20);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    REQUIRE(stage.lines_in_log() == 20);
    stage.database.run("DELETE FROM seriatim.cursor WHERE lane = 1");
    const auto again = stage.seriatim({"run", "--drain"});
    CAPTURE(again.err);
    CHECK(again.code == 3);
    CHECK(contains(again.err, "is gone"));
    CHECK(stage.lines_in_log() == 20);
    CHECK(contains(stage.seriatim({"status"}).out, "is gone"));
  }

  TEST_CASE("lanes lowered and raised again while a relay runs: no row comes again") {
    Desk desk;
    auto& stage = desk.stage;
    desk.configure("p", "lanes = 3");
    desk.insert(30);
    auto relay = desk.start("p", "lanes = 3");
    desk.wait_for_lines(30);
    const auto cut = [&](const char* lanes) { return stage.seriatim({"lanes", "p", lanes}).code; };
    REQUIRE(cut("1") == 0);
    REQUIRE(cut("3") == 0);
    desk.insert(30);
    desk.wait_for_lines(60);
    CHECK(relay.stop().code == 0);
    CHECK(stage.lines_in_log() == 60);
    CHECK(stage.database.value("SELECT count(DISTINCT created_at) FROM seriatim.cursor") == "1");
    CHECK(stage.seriatim({"audit", "p"}).code == 0);
  }
}
