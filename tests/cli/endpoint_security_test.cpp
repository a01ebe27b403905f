// OPERATIONS §5, tests 28 and 31, with a real relay: what it serves has no secret, and no series
// for what rows contain.
#include <set>
#include <sstream>

#include "cli/canary_stage.hpp"
#include "console/console_stage.hpp"
#include "console/probe_client.hpp"
#include "lab/process/free_port.hpp"
#include "support/relay_program.hpp"

using namespace seriatim;
using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const std::string console_token = "canary-console-token";

TcpClient client_at(unsigned short port) {
  return TcpClient({boost::asio::ip::make_address("127.0.0.1"), port});
}

testing::Reply ask(unsigned short port, const Ask& request,
                   const std::string& token = console_token) {
  auto client = client_at(port);
  client.send(request.with("Authorization", "Bearer " + token).text());
  return reply_of(client.rest());
}

void check_silent(const testing::Reply& reply) {
  testing::check_silent(reply.head);
  testing::check_silent(reply.body);
}

/// The names and labels of all series.
std::set<std::string> series_of(const std::string& metrics) {
  std::set<std::string> series;
  std::istringstream in(metrics);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) series.insert(line.substr(0, line.rfind(' ')));
  }
  return series;
}

}  // namespace

TEST_SUITE("endpoint security") {
  TEST_CASE("28: no page, answer of the API, event, metric or log of a relay shows a secret") {
    CanaryStage stage;
    stage.database.run("SELECT seriatim.append('card', 'c', 'paid', '{\"card\":\"canary\"}')");
    const auto port = static_cast<unsigned short>(free_port());
    stage.configure(stage.role.url(),
                    stage.handler("token = \"canary-bearer\"") +
                        "\n[console]\nlisten = \"127.0.0.1:" + std::to_string(port) +
                        "\"\ntoken = \"" + console_token + "\"\n");
    Process relay(Stage::command({"run", "--log-level", "debug"}), stage.options());
    relay.wait_for_errors("echo: ");
    const auto of = [](const std::string& path) { return "/api/v1/processes/p/" + path; };
    wait_until("the page knows the answer",
               [&] { return contains(ask(port, Ask::get("/api/v1/status")).body, "echo: "); });
    for (const auto& path :
         {std::string("/"), std::string("/p/p"), std::string("/api/v1/me"),
          std::string("/api/v1/status"), of("rows"), of("row?id=1"), of("row?id=3"), of("parked"),
          of("history"), of("audit"), std::string("/api/v1/journal"), std::string("/api/v1/checks"),
          std::string("/api/v1/alerts"), std::string("/api/v1/relays"), std::string("/metrics"),
          std::string("/statusz"), std::string("/livez")}) {
      CAPTURE(path);
      const auto reply = ask(port, Ask::get(path));
      CHECK((reply.status == 200 || path == "/statusz"));
      check_silent(reply);
    }
    const auto refused = ask(port, Ask::get("/api/v1/status"), "canary-wrong-console-token");
    CHECK(refused.status == 401);
    check_silent(refused);
    CHECK(contains(ask(port, Ask::get(of("row?id=1"))).body, "echo: "));
    auto listener = client_at(port);
    const auto events = Ask::get("/api/v1/events");
    listener.send(events.with("Authorization", "Bearer " + console_token).text());
    const auto status = listener.until("event: status\n") + listener.until("\n\n");
    CHECK(contains(status, "echo: "));
    testing::check_silent(status);
    const auto done = ask(port, Ask::post(of("acts"), R"({"act":"retry"})"));
    CHECK(done.status == 200);
    check_silent(done);
    const auto shown = ask(port, Ask::post(of("reveal"), R"({"row":"3"})"));
    CHECK(shown.status == 200);
    CHECK(contains(shown.body, "canary"));  // who asks for it, sees it
    testing::check_silent(listener.until("event: journal\n") + listener.until("\n\n"));
    testing::check_silent(stage.database_text());
    relay.signal(SIGTERM);
    const auto ended = relay.wait();
    testing::check_silent(ended.out);
    testing::check_silent(ended.err);
  }

  TEST_CASE("31: a million event types make no series") {
    constexpr int types = 1'000'000;
    Stage stage;
    stage.append(1);
    const auto port = static_cast<unsigned short>(free_port());
    const auto toml =
        database_section(stage.database.url()) +
        "[console]\nlisten = \"127.0.0.1:" + std::to_string(port) + "\"\n" +
        Stage::process("kind = \"log\"\nfile = \"/dev/null\"",
                       "commit_every = 1000\nbatch_rows = 1000\n", "order_by = \"id\"");
    RelayProgram relay(stage.folder, "relay", toml);
    const auto metrics = [&] {
      try {
        return console::ask("127.0.0.1", port, "/metrics", 10s).body;
      } catch (const Error&) {
        return std::string();  // it has not begun to listen
      }
    };
    const auto wait_for_rows = [&](int rows) {
      const std::string line = "\nseriatim_lane_sequence{process=\"p\",lane=\"0\"} ";
      wait_until(
          std::to_string(rows) + " rows are delivered",
          [&] {
            const auto text = metrics();
            const auto at = text.find(line);
            return at != std::string::npos && std::stod(text.substr(at + line.size())) >= rows;
          },
          120s);
    };
    wait_for_rows(1);
    wait_until("the audit has passed",
               [&] { return contains(metrics(), "seriatim_audit_complete_timestamp_seconds{"); });
    const auto before = series_of(metrics());
    CHECK(before.size() > 60);
    stage.database.run(
        "INSERT INTO seriatim.outbox (aggregate_type, aggregate_id, event_type, payload)"
        " SELECT 'kind-' || n, 'id-' || n, 'type-' || n, '{}'"
        " FROM generate_series(1, " +
        std::to_string(types) + ") AS n");
    stage.append(1);
    wait_for_rows(types + 2);
    wait_until("the series are those of before", [&] { return series_of(metrics()) == before; });
  }
}
