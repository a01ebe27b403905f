// FAULTS.md 18, 20, 42: the database, the table or the process is no longer the one the cursor was
// kept for. The whole program, real servers.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "cli/stage.hpp"
#include "embedded/embedded_server.hpp"
#include "postgres/admin/migrate.hpp"
#include "support/relay_program.hpp"
#include "support/skip.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using seriatim::embedded::EmbeddedServer;
namespace fs = std::filesystem;

namespace {

constexpr const char* table_t =
    "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text,"
    " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "CREATE INDEX ON t (created_at, id)";

std::string insert_rows(int rows) {
  return "INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, " + std::to_string(rows) + ")";
}

void wait_for(SqlSession& session, const std::string& fact) {
  wait_until(fact, [&] { return session.value("SELECT " + fact) == "t"; });
}

/// A server that can be copied while it is stopped: what the copy becomes is up to its settings.
class Cluster {
 public:
  Cluster() {
    fs::permissions(folder_.path(), fs::perms::all);
    primary = std::make_unique<EmbeddedServer>(
        EmbeddedServer::Options{folder_.path() / "primary", settings(), {}});
    SqlSession session(primary->url());
    seriatim::postgres::migrate(primary->url());
    session.run(table_t);
  }

  /// A copy of the files, which follows the primary if it is asked to.
  std::unique_ptr<EmbeddedServer> copy(bool follows) {
    primary->stop(EmbeddedServer::Stop::fast);
    const auto folder = folder_.path() / "copy";
    Process cp({"cp", "-a", (folder_.path() / "primary").string(), folder.string()});
    REQUIRE(cp.wait().code == 0);
    fs::remove(folder / "data" / "postmaster.pid");
    std::ofstream(folder / "data" / "standby.signal").close();
    fs::permissions(folder / "data" / "standby.signal", fs::perms::all);
    primary->start();
    if (follows) {
      std::ofstream(folder / "data" / "postgresql.auto.conf", std::ios::app)
          << "primary_conninfo = 'host=127.0.0.1 port=" << primary->port() << " user=postgres'\n";
    }
    return std::make_unique<EmbeddedServer>(EmbeddedServer::Options{folder, settings(), {}});
  }

  static void promote(const EmbeddedServer& server) {
    SqlSession session(server.url());
    REQUIRE(session.value("SELECT pg_promote(true, 60)") == "t");
  }

  std::unique_ptr<EmbeddedServer> primary;

 private:
  static std::vector<std::string> settings() {
    return {"fsync=off", "shared_buffers=16MB", "autovacuum=off"};
  }

  TemporaryFolder folder_;
};

/// Both servers, whichever takes writes: as a set-up with failover names them.
std::string either(const EmbeddedServer& a, const EmbeddedServer& b) {
  return "host=127.0.0.1,127.0.0.1 port=" + std::to_string(a.port()) + "," +
         std::to_string(b.port()) +
         " user=postgres dbname=postgres target_session_attrs=read-write";
}

/// A folder with a configuration of process p, and the program run in it.
struct Desk {
  explicit Desk(const std::string& url) { configure(url); }

  void configure(const std::string& url) const {
    std::ofstream(folder.path() / "seriatim.toml")
        << database_section(url) << http_process("p", "public.t", "id", receiver.url());
  }
  [[nodiscard]] Ended seriatim(std::vector<std::string> arguments) const {
    Process::Options options;
    options.folder = folder.path();
    options.without_environment = {"DATABASE_URL", "SERIATIM_CONFIG"};
    return run(Stage::command(std::move(arguments)), options);
  }
  /// Idempotency keys in the order they came: "p:1".
  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& request : receiver.requests()) {
      keys.push_back(request.header("Idempotency-Key").value_or(""));
    }
    return keys;
  }

  HttpService receiver;
  TemporaryFolder folder;
};

/// Accepts rows, but for those of one key until `recover`.
class KeyedReceiver {
 public:
  static constexpr long keys = 20;
  static constexpr long refused_key = 7;

  explicit KeyedReceiver(HttpService& service) {
    service.reply_with([this](const ReceivedRequest& request) {
      Reply reply = answer(std::stol(request.header("Idempotency-Key").value_or("p:0").substr(2)));
      reply.delay = std::chrono::milliseconds(5);
      return reply;
    });
  }
  void recover() {
    const std::scoped_lock lock(mutex_);
    refuses_ = false;
  }
  [[nodiscard]] std::size_t accepted() const {
    const std::scoped_lock lock(mutex_);
    return accepted_.size();
  }
  /// So many were accepted again. Each key came in order.
  [[nodiscard]] std::size_t repeats(std::size_t rows) const {
    const std::scoped_lock lock(mutex_);
    std::set<long> seen;
    std::map<long, long> last;
    for (const auto id : accepted_) {
      if (!seen.insert(id).second) continue;
      CHECK(id > last[id % keys]);
      last[id % keys] = id;
    }
    CHECK(seen.size() == rows);
    return accepted_.size() - seen.size();
  }

 private:
  Reply answer(long id) {
    const std::scoped_lock lock(mutex_);
    if (refuses_ && id % keys == refused_key) return Reply::with_status(503);
    accepted_.push_back(id);
    return Reply::with_status(200);
  }

  mutable std::mutex mutex_;
  bool refuses_ = true;
  std::vector<long> accepted_;
};

const std::string halted_over_source =
    "(SELECT state || ' ' || reason = 'halted SOURCE_CHANGED' FROM seriatim.cursor)";

}  // namespace

TEST_SUITE("the source changed") {
  TEST_CASE(
      "failover to a standby that lacks the last commits: SOURCE_CHANGED until adopt, no skip") {
    Cluster cluster;
    const auto standby = cluster.copy(true);
    const Desk desk(either(*cluster.primary, *standby));
    Process::Options options;
    options.folder = desk.folder.path();
    Process relay(Stage::command({"run"}), options);
    {
      SqlSession primary(cluster.primary->url());
      SqlSession replica(standby->url());
      primary.run(insert_rows(10));
      REQUIRE(desk.receiver.wait_for_requests(10, std::chrono::seconds(30)));
      wait_for(primary, "(SELECT sequence = 10 FROM seriatim.cursor)");
      wait_for(replica, "(SELECT sequence = 10 FROM seriatim.cursor)");
      replica.run("ALTER SYSTEM SET primary_conninfo = ''");  // from here on nothing arrives
      replica.run("SELECT pg_reload_conf()");
      wait_for(primary, "NOT EXISTS (SELECT FROM pg_stat_replication)");
      primary.run(insert_rows(5));
      REQUIRE(desk.receiver.wait_for_requests(15, std::chrono::seconds(30)));
      wait_for(primary, "(SELECT sequence = 15 FROM seriatim.cursor)");
    }
    cluster.primary->stop(EmbeddedServer::Stop::immediate);
    Cluster::promote(*standby);

    SqlSession promoted(standby->url());
    CHECK(promoted.value("SELECT max(id) FROM t") == "10");
    promoted.run(insert_rows(5));  // other rows, whatever their ids
    wait_for(promoted, halted_over_source);
    CHECK(desk.receiver.request_count() == 15);
    const auto status = desk.seriatim({"status"});
    CAPTURE(status.out);
    CHECK(status.code == 3);
    CHECK(contains(status.out, "timeline was 00000001 and is 00000002"));
    CHECK(contains(status.out, "seriatim adopt --reason TEXT p"));
    CHECK(desk.seriatim({"retry", "p"}).code == 0);
    wait_for(promoted, "(SELECT count(*) = 2 FROM seriatim.journal WHERE act = 'halt')");
    wait_for(promoted, halted_over_source);
    relay.signal(15);
    CHECK(relay.wait().code == 0);
    CHECK(desk.seriatim({"run", "--drain"}).code == 3);  // nor after a restart
    CHECK(desk.receiver.request_count() == 15);

    const auto adopted = desk.seriatim({"adopt", "p", "--reason", "failed over"});
    CAPTURE(adopted.err);
    CHECK(adopted.code == 0);
    CHECK(contains(adopted.out, "timeline 00000001 → 00000002; goes on after row 10"));
    const auto ended = desk.seriatim({"run", "--drain"});
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    std::multiset<std::string> sent;
    for (const auto& key : desk.keys()) sent.insert(key);
    for (const auto& row : promoted.run("SELECT id FROM t")) {
      CHECK(sent.count("p:" + row[0].value()) >= 1);
    }
    CHECK(promoted.value("SELECT sequence FROM seriatim.cursor") == "15");
  }

  TEST_CASE("several calls in flight and a held key: a promotion loses and reorders nothing") {
    constexpr std::size_t rows = 3'000;
    constexpr std::size_t repeats_max = 32 + 16;
    Cluster cluster;
    const auto standby = cluster.copy(true);
    const Desk desk(either(*cluster.primary, *standby));
    HttpService service;
    KeyedReceiver receiver(service);
    std::ofstream(desk.folder.path() / "seriatim.toml")
        << database_section(either(*cluster.primary, *standby))
        << http_process("p", "public.t", "id", service.url(),
                        "in_flight = 32\ncommit_every = 16\non_poison = \"park_key\"\n"
                        "on_retry = \"hold_key\"\n"
                        "backoff = { first = \"10ms\", max = \"100ms\" }\n",
                        "key = \"(t.id % 20)::text\"\n");
    Process::Options options;
    options.folder = desk.folder.path();
    Process relay(Stage::command({"run"}), options);
    {
      SqlSession primary(cluster.primary->url());
      primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
      primary.run("SELECT pg_reload_conf()");
      wait_for(primary, "(SELECT sync_state IN ('sync', 'quorum') FROM pg_stat_replication)");
      primary.run(insert_rows(rows));
    }
    wait_until("it is in the midst of it", [&] { return receiver.accepted() >= rows / 3; });
    cluster.primary->stop(EmbeddedServer::Stop::immediate);
    Cluster::promote(*standby);
    SqlSession promoted(standby->url());
    wait_for(promoted, halted_over_source);
    CHECK(promoted.value("SELECT count(*) > 0 FROM seriatim.aside") == "t");
    relay.signal(15);
    CHECK(relay.wait().code == 0);
    receiver.recover();
    CHECK(desk.seriatim({"adopt", "p", "--reason", "failed over"}).code == 0);
    const auto ended = desk.seriatim({"run", "--drain"});
    CAPTURE(ended.err);
    CHECK(ended.code == 0);
    CHECK(receiver.repeats(rows) <= repeats_max);
    CHECK(promoted.value("SELECT count(*) FROM seriatim.aside") == "0");
  }

  TEST_CASE("a copy of the files promoted elsewhere sends nothing") {
    Cluster cluster;
    {
      const Desk desk(cluster.primary->url());
      SqlSession(cluster.primary->url()).run(insert_rows(3));
      REQUIRE(desk.seriatim({"run", "--drain"}).code == 0);
      REQUIRE(desk.receiver.request_count() == 3);
    }
    const auto clone = cluster.copy(false);
    Cluster::promote(*clone);
    SqlSession(clone->url()).run(insert_rows(2));
    const Desk staging(clone->url());
    CHECK(staging.seriatim({"check"}).code == 1);
    CHECK(staging.seriatim({"run", "--drain"}).code == 3);
    CHECK(contains(staging.seriatim({"status"}).out, "halted SOURCE_CHANGED"));
    CHECK(staging.receiver.request_count() == 0);
  }

  TEST_CASE("an older dump restored, here or as another database, sends nothing until adopted") {
    Stage stage;
    stage.database.run(table_t);
    const Desk desk(stage.database.url());
    stage.database.run(insert_rows(3));
    REQUIRE(desk.seriatim({"run", "--drain"}).code == 0);
    const auto dump = (desk.folder.path() / "dump.sql").string();
    const auto binaries =
        stage.database.value("SELECT setting FROM pg_config WHERE name = 'BINDIR'");
    const auto pg = [&](const std::string& program, std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), binaries + "/" + program);
      Process process(arguments);
      const auto ended = process.wait();
      CAPTURE(ended.err);
      REQUIRE(ended.code == 0);
    };
    if (!fs::exists(binaries + "/pg_dump")) SKIP_TEST("there is no pg_dump next to this server");
    pg("pg_dump", {"-d", stage.database.url(), "--clean", "--if-exists", "-f", dump});
    stage.database.run(insert_rows(4));  // delivered, and lost by the restore
    REQUIRE(desk.seriatim({"run", "--drain"}).code == 0);
    REQUIRE(desk.receiver.request_count() == 7);

    std::string url = stage.database.url();
    const auto other = stage.database.name() + "_restored";
    SUBCASE("in its place") {}
    SUBCASE("as another database") {
      stage.database.run("CREATE DATABASE " + other);
      url = shared_server().url(other);
    }
    pg("psql", {"-d", url, "-q", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f", dump});
    SqlSession restored(url);
    restored.run(insert_rows(2));
    desk.configure(url);
    CHECK(desk.seriatim({"run", "--drain"}).code == 3);
    CHECK(restored.value("SELECT state || ' ' || reason FROM seriatim.cursor") ==
          "halted SOURCE_CHANGED");
    CHECK(desk.receiver.request_count() == 7);
    CHECK(desk.seriatim({"adopt", "p", "--reason", "restored on purpose"}).code == 0);
    CHECK(desk.seriatim({"run", "--drain"}).code == 0);
    CHECK(desk.receiver.request_count() == 9);  // rows 4 and 5 of the restored table
  }

  TEST_CASE("a process renamed in the configuration does not start from the first row again") {
    Stage stage;
    stage.append(3);
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    auto renamed = Stage::process("kind = \"log\"\nfile = \"" + stage.log.string() + "\"");
    renamed.replace(renamed.find("\"p\""), 3, "\"q\"");
    stage.configure(renamed);
    const auto refused = stage.seriatim({"run", "--drain"});
    CAPTURE(refused.err);
    CHECK(refused.code == 1);
    CHECK(contains(refused.err, "CONFIG_CHANGED"));
    CHECK(contains(refused.err, "seriatim adopt q --from p"));
    CHECK(stage.lines_in_log() == 3);
    CHECK(stage.seriatim({"adopt", "q", "--from", "q"}).code == 2);  // configured: no former name
    CHECK(stage.seriatim({"adopt", "q", "--from", "p", "--reason", "renamed"}).code == 0);
    stage.append(1);
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(stage.lines_in_log() == 4);
  }

  TEST_CASE("another table or order under the same name halts with CONFIG_CHANGED until adopted") {
    Stage stage;
    stage.database.run(table_t);
    stage.append(3);
    const auto log = "kind = \"log\"\nfile = \"" + stage.log.string() + "\"";
    stage.configure(Stage::process(log, "", "order_by = \"id\""));
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    stage.append(1);
    stage.database.run(insert_rows(5));
    std::string source = "order_by = \"created_at\"";
    bool same_rows = true;
    SUBCASE("another order") {}
    SUBCASE("another table") {
      same_rows = false;
      source = "order_by = \"id\"\ntable = \"public.t\"";
    }
    stage.configure(Stage::process(log, "", source));
    CHECK(stage.seriatim({"check"}).code == 1);
    CHECK(stage.seriatim({"run", "--drain"}).code == 3);
    CHECK(stage.lines_in_log() == 3);
    const auto status = stage.seriatim({"status"});
    CAPTURE(status.out);
    CHECK(contains(status.out, "halted CONFIG_CHANGED"));
    CHECK(stage.seriatim({"adopt", "p", "--reason", "meant"}).code == 0);
    // The rows of another table up to the cursor's position were never delivered, adopted or not.
    CHECK(stage.seriatim({"run", "--drain"}).code == (same_rows ? 0 : 3));
    CHECK(stage.lines_in_log() == (same_rows ? 4 : 3));
    const auto after = stage.seriatim({"status"});
    CAPTURE(after.out);
    CHECK(contains(after.out, "halted CURSOR_AHEAD") != same_rows);
  }

  TEST_CASE(
      "a handler taken out of the configuration or of the program is reported with file and line") {
    const Stage stage;
    stage.configure("[[process]]\nname = \"p\"\n");
    const auto none = stage.seriatim({"run"});
    CHECK(none.code == 2);
    CHECK(contains(none.err, "seriatim.toml"));
    CHECK(contains(none.err, "handler"));
    stage.configure(Stage::process("kind = \"fax\""));
    const auto unknown = stage.seriatim({"run"});
    CHECK(unknown.code == 2);
    CHECK(contains(unknown.err, "fax"));
  }
}
