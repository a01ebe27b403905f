// FAULTS.md 26: names that lead nowhere, late, elsewhere or to IPv6 alone. Each is a retry.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "faults/crash_stage.hpp"
#include "support/dns_server.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

const DnsAnswer here{.addresses = {"127.0.0.1"}};

/// So that each call resolves the name.
Reply closing_reply() {
  Reply reply;
  reply.close_after = true;
  return reply;
}
const Reply closing = closing_reply();

/// A relay that knows its receiver, and where wanted its database, by name only.
struct Stage : CrashStage {
  static constexpr const char* settings =
      "handler_deadline = \"2s\"\npoll_interval_max = \"20ms\"\n"
      "backoff = { first = \"10ms\", max = \"50ms\" }\n";

  Stage() : CrashStage(1) { receiver.reply_with(closing); }
  void start_relay(const std::string& database_host = "127.0.0.1") {
    const auto config = (folder.path() / "relay.toml").string();
    std::ofstream(config) << database_section(database.url() + "?host=" + database_host)
                          << http_process("p", "public.t", "created_at",
                                          "http://receiver.seriatim.test:" +
                                              std::to_string(receiver.port()) + "/",
                                          settings);
    auto command = dns.prefix((folder.path() / "resolv.conf").string());
    command.insert(command.end(), {SERIATIM_PROGRAM, "run", "--config", config});
    Process::Options options;
    options.err_file = log_file;
    relay = std::make_unique<Process>(command, options);
  }
  /// The row waiting has failed `more` times more, for a reason that contains `words`.
  bool fails(int more, const std::string& words) {
    const auto attempts = database.value("SELECT coalesce(max(attempts), 0) FROM seriatim.cursor");
    return database.becomes_true("SELECT attempts >= " + attempts + " + " + std::to_string(more) +
                                     " AND state = 'retrying' AND detail LIKE '%" + words +
                                     "%' FROM seriatim.cursor",
                                 40);
  }
  [[nodiscard]] std::ptrdiff_t threads() const {
    using Entries = std::filesystem::directory_iterator;
    return std::distance(Entries("/proc/" + std::to_string(relay->pid()) + "/task"), Entries());
  }
  [[nodiscard]] std::string log() const {
    std::ifstream in(log_file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  DnsServer dns;
  std::string log_file = (folder.path() / "relay.log").string();
  std::unique_ptr<Process> relay;
};

}  // namespace

TEST_SUITE("faults of names") {
  TEST_CASE("a receiver whose name has no answer, none in time, or a wrong one, is tried again") {
    Stage stage;
    stage.dns.answer({.addresses = {}, .code = 3});
    stage.start_relay();
    REQUIRE_MESSAGE(stage.fails(2, "not known"), stage.log());
    stage.dns.answer({.addresses = {}, .code = 2});
    CHECK(stage.fails(2, "name resolution"));
    stage.dns.answer({.addresses = {"127.0.0.2"}});  // nobody listens there
    CHECK(stage.fails(2, "refused"));
    const auto threads = stage.threads();
    stage.dns.answer({.addresses = {}, .code = 0, .silent = true});
    CHECK(stage.fails(3, "in time"));
    CHECK(stage.threads() <= threads + 1);  // one lookup is left behind, not three
    stage.dns.answer(here);
    REQUIRE(stage.cursor_reaches(1));
    CHECK(stage.calls() == "1");
    CHECK(stage.dns.questions() < 500);
    stage.relay->signal(15);
    CHECK(stage.relay->wait().code == 0);
  }

  TEST_CASE("a name that moves, and one with an IPv6 address alone, are followed") {
    Stage stage;
    stage.dns.answer(here);
    stage.start_relay();
    REQUIRE(stage.cursor_reaches(1));
    HttpServiceConfig config;
    config.port = stage.receiver.port();
    config.ipv6 = true;
    auto elsewhere = std::make_unique<HttpService>(config);
    elsewhere->reply_with(closing);
    stage.dns.answer({.addresses = {"::1"}});
    stage.append();
    REQUIRE(stage.cursor_reaches(2));
    CHECK(elsewhere->request_count() == 1);
    elsewhere.reset();
    stage.dns.answer({.addresses = {"::1", "127.0.0.1"}});  // nobody listens at the first any more
    stage.append();
    REQUIRE(stage.cursor_reaches(3));
    CHECK(stage.receiver.request_count() == 2);
  }

  TEST_CASE("a database whose name has no answer is asked for again until it has") {
    Stage stage;
    stage.dns.answer({.addresses = {}, .code = 3});
    stage.start_relay("database.seriatim.test");
    wait_until("it says so", [&] {
      return stage.log().find("could not translate host name") != std::string::npos;
    });
    stage.dns.answer({.addresses = {}, .code = 2});
    wait_until("it says that too", [&] {
      return stage.log().find("Temporary failure in name resolution") != std::string::npos;
    });
    stage.dns.answer(here);
    REQUIRE(stage.cursor_reaches(1));
    CHECK(stage.calls() == "1");
  }
}
