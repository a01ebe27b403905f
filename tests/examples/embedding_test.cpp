// Each kind of handler in a program of its own: examples/, built by a project that knows nothing
// but the installed tree, run against a real receiver or broker.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "lab/http/http_service.hpp"
#include "support/postgres_fixture.hpp"
#include "support/process.hpp"
#ifdef EMBEDS_kafka
#include "support/kafka_mock.hpp"
#include "support/kafka_reader.hpp"
#endif
#ifdef EMBEDS_nats
#include "support/nats_server.hpp"
#endif
#ifdef EMBEDS_rabbitmq
#include "support/rabbitmq_client.hpp"
#include "support/rabbitmq_server.hpp"
#endif
#ifdef EMBEDS_redis
#include "support/redis_server.hpp"
#endif

using namespace seriatim::testing;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

const Texts payloads{R"({"cents": 1, "phone": "+4560000001"})",
                     R"({"cents": 2, "phone": "+4560000002"})",
                     R"({"cents": 3, "phone": "+4560000003"})"};

Ended built(const Texts& command, const std::map<std::string, std::string>& environment = {}) {
  Process::Options options;
  options.environment = environment;
  constexpr std::chrono::minutes patience{5};  // a compiler on a loaded machine
  return Process(command, options).wait(patience);
}

/// What `cmake --install` makes, and the examples built against it.
class Installed {
 public:
  Installed() {
    succeed({"cmake", "--install", SERIATIM_BINARY_DIR, "--prefix", prefix()});
    std::string kinds = SERIATIM_KINDS;
    std::replace(kinds.begin(), kinds.end(), ',', ';');
    succeed(configure(folder_.path() / "build", kinds));
  }
  /// Built when it is first asked for: all at once would take longer than a test may.
  [[nodiscard]] std::string program(const std::string& kind) const {
    const auto build = folder_.path() / "build";
    succeed({"cmake", "--build", build.string(), "--target", kind});
    return (build / kind).string();
  }
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  [[nodiscard]] Texts configure(const fs::path& build, const std::string& kinds) const {
    return {"cmake",
            "-G",
            "Ninja",
            "-S",
            SERIATIM_SOURCE_DIR "/examples",
            "-B",
            build.string(),
            "-DCMAKE_PREFIX_PATH=" + prefix(),
            "-DKINDS=" + kinds,
            std::string("-DCMAKE_CXX_FLAGS=") + SERIATIM_CXX_FLAGS};
  }

 private:
  [[nodiscard]] std::string prefix() const { return (folder_.path() / "prefix").string(); }
  static void succeed(const Texts& command) {
    const auto ended = built(command);
    REQUIRE_MESSAGE(ended.code == 0, command[1], ": ", ended.out, ended.err);
  }

  TemporaryFolder folder_;
};

const Installed& installed() {
  static const Installed one;
  return one;
}

void write_three_charges(TestDatabase& database) {
  database.run(
      "CREATE TABLE charges (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json,"
      " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
      "CREATE INDEX ON charges (created_at, id)");
  for (const auto& payload : payloads) {
    database.run("INSERT INTO charges (payload) VALUES ('" + payload + "')");
  }
}

/// Three charges, delivered by the example of a kind.
void deliver(const std::string& kind, const std::string& target, TestDatabase& database) {
  write_three_charges(database);
  const auto ended =
      built({installed().program(kind)}, {{"DATABASE_URL", database.url()}, {"TARGET", target}});
  CHECK_MESSAGE(ended.code == 0, ended.err);
}
void deliver(const std::string& kind, const std::string& target) {
  TestDatabase database;
  deliver(kind, target, database);
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

Texts lines_of(const fs::path& file) {
  std::ifstream in(file);
  Texts lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Answers "done" to each line, and keeps them.
std::string program_that_keeps(const fs::path& lines) {
  const auto file = installed().folder() / "keep";
  std::ofstream(file)
      << "#!/usr/bin/env python3\nimport json, sys\n"
         "for line in sys.stdin:\n"
         "    print(line, end='', file=open('"
      << lines.string()
      << "', 'a'))\n"
         "    print(json.dumps({'id': json.loads(line)['id'], 'outcome': 'done'}), flush=True)\n";
  fs::permissions(file, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  return file.string();
}

bool each_holds_its_payload(const Texts& lines) {
  if (lines.size() != payloads.size()) return false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("+456000000" + std::to_string(i + 1)) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

TEST_SUITE("embedding") {
  TEST_CASE("http: three rows, three webhooks, in order") {
    seriatim::lab::HttpService service;
    deliver("http", service.url());
    Texts bodies;
    for (const auto& request : service.requests()) bodies.push_back(request.body);
    CHECK(bodies == payloads);
  }

  TEST_CASE("http: a receiver that refuses halts the lane, and the program says why") {
    seriatim::lab::HttpService service;
    service.reply_with(seriatim::lab::Reply::with_status(422, "no such customer"));
    TestDatabase database;
    database.run(
        "CREATE TABLE charges (id bigint PRIMARY KEY, payload json,"
        " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
        "CREATE INDEX ON charges (created_at, id); INSERT INTO charges VALUES (7, '{}')");
    const auto ended = built({installed().program("http")},
                             {{"DATABASE_URL", database.url()}, {"TARGET", service.url()}});
    CHECK(ended.code == 1);
    CHECK(ended.err.find("halted at row 7: HTTP 422") != std::string::npos);
  }

  TEST_CASE("a service delivers, reports its lanes, and SIGTERM ends it") {
    seriatim::lab::HttpService service;
    TestDatabase database;
    write_three_charges(database);
    Process::Options options;
    options.environment = {{"DATABASE_URL", database.url()}, {"TARGET", service.url()}};
    Process program({installed().program("service")}, options);
    CHECK(service.wait_for_requests(3, std::chrono::seconds{60}));
    program.wait_for_errors("charges: idle");
    const auto ended = program.stop();
    CHECK_MESSAGE(ended.code == 0, ended.err);
    CHECK(ended.err.find("charges: stopped") != std::string::npos);
  }

  TEST_CASE("a service whose settings are wrong says each problem and ends") {
    TestDatabase database;
    const auto ended = built({installed().program("service")},
                             {{"DATABASE_URL", database.url()}, {"TARGET", "ftp://x"}});
    CHECK(ended.code == 2);
    CHECK_MESSAGE(ended.err.find("url: ") != std::string::npos, ended.err);
  }

  TEST_CASE("a kind of the program's own: three rows, three lines of a file") {
    const auto file = installed().folder() / "own_kind.txt";
    TestDatabase database;
    deliver("own_kind", file.string(), database);
    const auto lines = lines_of(file);
    CHECK(each_holds_its_payload(lines));
    CHECK(lines.front() == "charges:1 " + payloads.front());
    database.run("INSERT INTO charges (payload) VALUES (NULL)");
    const auto ended = built({installed().program("own_kind")},
                             {{"DATABASE_URL", database.url()}, {"TARGET", file.string()}});
    CHECK(ended.code == 1);
    CHECK_MESSAGE(ended.err == "halted at row 4: the payload is NULL\n", ended.err);
  }

  TEST_CASE("an asynchronous handler: three rows, three lines of a file, and a row it refuses") {
    const auto file = installed().folder() / "async.txt";
    TestDatabase database;
    deliver("async", file.string(), database);
    auto lines = lines_of(file);
    std::sort(lines.begin(), lines.end());  // rows of different keys have no order
    CHECK(each_holds_its_payload(lines));
    database.run("INSERT INTO charges (payload) VALUES (NULL)");
    const auto ended = built({installed().program("async")},
                             {{"DATABASE_URL", database.url()}, {"TARGET", file.string()}});
    CHECK(ended.code == 1);
    CHECK_MESSAGE(ended.err == "halted at row 4: the payload is NULL\n", ended.err);
  }

  TEST_CASE("docs/embedding.md shows whole examples word for word") {
    const fs::path root = SERIATIM_SOURCE_DIR;
    const auto page = text_of(root / "docs/embedding.md");
    for (const auto* program : {"service.cpp", "own_kind.cpp", "async.cpp"}) {
      CAPTURE(program);
      CHECK(page.find("```cpp\n" + text_of(root / "examples" / program) + "```\n") != page.npos);
    }
  }

  TEST_CASE("sms: three rows, three messages") {
    seriatim::lab::HttpService service;
    deliver("sms", service.url());
    Texts bodies;
    for (const auto& request : service.requests()) bodies.push_back(request.body);
    REQUIRE(bodies.size() == 3);
    CHECK(bodies[2].find("4560000003") != std::string::npos);
  }

  TEST_CASE("exec: three rows, three lines to a program") {
    const auto lines = installed().folder() / "exec.jsonl";
    deliver("exec", program_that_keeps(lines));
    CHECK(each_holds_its_payload(lines_of(lines)));
  }

  TEST_CASE("log: three rows, three lines of a file") {
    const auto file = installed().folder() / "log.jsonl";
    deliver("log", file.string());
    CHECK(each_holds_its_payload(lines_of(file)));
  }

  TEST_CASE("sql: three rows, three rows of the read model") {
    TestDatabase database;
    database.run("CREATE TABLE charged (id text, payload json)");
    deliver("sql", "", database);
    CHECK(database.value(
              "SELECT string_agg(id || (payload ->> 'cents'), ' ' ORDER BY id) FROM charged") ==
          "11 22 33");
  }

#ifdef EMBEDS_kafka
  TEST_CASE("kafka: three rows, three messages") {
    KafkaMock cluster;
    cluster.make_topic("charges", 1);
    deliver("kafka", cluster.brokers());
    Texts found;
    for (const auto& message : KafkaReader(cluster.brokers()).messages("charges")) {
      found.push_back(message.payload.value_or(""));
    }
    CHECK(found == payloads);
  }
#endif

#ifdef EMBEDS_nats
  TEST_CASE("nats: three rows, three messages") {
    const NatsServer server;
    NatsClient client(server);
    client.add_stream("CHARGES", "charges");
    deliver("nats", server.url());
    Texts found;
    for (const auto& message : client.messages("CHARGES")) found.push_back(message.body);
    CHECK(found == payloads);
  }
#endif

#ifdef EMBEDS_rabbitmq
  TEST_CASE("rabbitmq: three rows, three messages") {
    const RabbitmqServer server;
    RabbitmqClient client(server);
    client.declare_queue("charges");
    deliver("rabbitmq", server.url());
    Texts found;
    for (const auto& message : client.messages("charges")) found.push_back(message.body);
    CHECK(found == payloads);
  }
#endif

#ifdef EMBEDS_redis
  TEST_CASE("redis: three rows, three entries of a stream") {
    const RedisServer server;
    deliver("redis", server.url());
    Texts found;
    for (const auto& entry : entries_of(server, "charges")) {
      found.push_back(entry.field("payload").value_or("none"));
    }
    CHECK(found == payloads);
  }
#endif

  TEST_CASE("a component searches for no client library but its own, and names what it misses") {
    const auto& tree = installed();
    const auto pkg_config = tree.folder() / "pkg-config";
    std::ofstream(pkg_config)
        << "#!/bin/sh\ncase \"$*\" in *rdkafka*|*hiredis*|*libnats*|*librabbitmq*) exit 1 ;; esac\n"
           "exec /usr/bin/pkg-config \"$@\"\n";
    fs::permissions(pkg_config, fs::perms::owner_all);
    const std::map<std::string, std::string> environment{{"PKG_CONFIG", pkg_config.string()}};
    const auto http = built(tree.configure(tree.folder() / "http_alone", "http"), environment);
    CHECK_MESSAGE(http.code == 0, http.err);
    const auto missing = built(tree.configure(tree.folder() / "missing", "http;fax"), environment);
    CHECK(missing.code != 0);
    CHECK(missing.err.find("no component \"fax\"") != std::string::npos);
#ifdef EMBEDS_kafka
    const auto kafka = built(tree.configure(tree.folder() / "kafka_alone", "kafka"), environment);
    CHECK(kafka.code != 0);
    CHECK(kafka.err.find("\"kafka\" needs rdkafka") != std::string::npos);
#endif
  }
}
