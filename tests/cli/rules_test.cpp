// The rules for Prometheus: each is made to fire and to end by what it is for, between real relays,
// a real Prometheus, a real Alertmanager and a receiver of what that sends.
#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>
#include <set>

#include "cli/prometheus.hpp"
#include "cli/stage.hpp"
#include "lab/process/free_port.hpp"
#include "lab/proxy/fault_proxy.hpp"
#include "support/relay_program.hpp"
#include "support/skip.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// The rules wait for minutes, so this test shortens their times, and nothing else of them. With
/// this variable it takes the file as it is, for about an hour.
bool as_shipped() {
  return std::getenv("SERIATIM_RULES_AS_SHIPPED") != nullptr;
}

std::string with_shorter_times(std::string rules) {
  const auto replace = [&](const char* what, const char* by) {
    REQUIRE(std::regex_search(rules, std::regex(what)));
    rules = std::regex_replace(rules, std::regex(what), by);
  };
  replace("for: [0-9]+m", "for: 2s");
  replace("\\[5m:30s\\]", "[5s:1s]");
  replace("\\[10m:30s\\]", "[30s:1s]");
  replace("fence_wait_seconds\\) > 60", "fence_wait_seconds) > 2");
  return rules;
}

/// What Alertmanager sends, by "ALERT PROCESS".
class Pager {
 public:
  [[nodiscard]] std::string url() const { return service_.url(); }

  /// "firing", "resolved", or "" if it never fired.
  [[nodiscard]] std::string state(const std::string& alert, const std::string& process) const {
    std::string state;
    for (const auto& request : service_.requests()) {
      const auto message = boost::json::parse(request.body);
      for (const auto& one : message.at("alerts").as_array()) {
        const auto& labels = one.at("labels").as_object();
        const auto* of = labels.if_contains("process");
        if (labels.at("alertname").as_string() != alert) continue;
        if ((of ? of->as_string() : "") != process) continue;
        state = one.at("status").as_string();
      }
    }
    return state;
  }

 private:
  HttpService service_;
};

/// Answers by the path, which is the name of a process.
class Receiver {
 public:
  Receiver() {
    service_.reply_with([this](const ReceivedRequest& request) {
      const std::lock_guard lock(mutex_);
      const auto found = status_.find(request.target.substr(1));
      return Reply::with_status(found == status_.end() ? 200 : found->second);
    });
  }
  void answer(const std::string& process, int status) {
    const std::lock_guard lock(mutex_);
    status_[process] = status;
  }
  [[nodiscard]] std::string url(const std::string& process) const {
    return service_.url("/" + process);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> status_;
  HttpService service_;
};

/// Processes with a table each, relays "one" and "two" that run all but `alone`, and one behind a
/// proxy that runs `alone`.
class Watch {
 public:
  Watch() {
    for (const auto* name :
         {"halts", "retries", "fenced", "parks", "holds", "audited", "flaps", "alone"}) {
      const std::string table = name;
      stage.database.run("CREATE TABLE " + table +
                         " (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key int DEFAULT 1,"
                         " created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
                         "CREATE INDEX ON " +
                         table + " (created_at, id);");
    }
  }

  /// Relays of all, `alone` included or not. They share the text of their files.
  void write_files(bool with_alone) {
    common_ =
        "[database]\nurl = \"${URL}\"\n[console]\nlisten = \"127.0.0.1:${LISTEN}\"\n" +
        process("halts") + process("retries") + process("fenced") +
        process("parks", "on_poison = \"park_key\"\n", "key = \"key\"\n") +
        process("holds", "on_poison = \"park_key\"\non_retry = \"hold_key\"\n", "key = \"key\"\n") +
        process("audited") + process("flaps");
    if (with_alone) common_ += process("alone");
    std::ofstream(stage.folder.path() / "seriatim.toml") << common_;
  }
  void start(const std::string& relay) {
    relays_[relay].reset();
    relays_[relay] = std::make_unique<RelayProgram>(
        stage.folder, relay, common_, environment(stage.database.url(), ports.at(relay)));
  }
  void start_behind_the_proxy() {
    const auto through = stage.database.url() +
                         "?host=127.0.0.1&sslmode=disable&port=" + std::to_string(proxy.port()) +
                         "&connect_timeout=2";
    relays_["three"] = std::make_unique<RelayProgram>(
        stage.folder, "three",
        "[database]\nurl = \"${URL}\"\n[console]\nlisten = \"127.0.0.1:${LISTEN}\"\n" +
            process("alone"),
        environment(through, ports.at("three")));
  }
  void stop(const std::string& relay) { CHECK(relays_.at(relay)->stop().code == 0); }
  void verb(const std::vector<std::string>& arguments, int code = 0) const {
    auto options = stage.options();
    options.environment = environment(stage.database.url(), ports.at("one"));
    const auto ended = run(Stage::command(arguments), options);
    INFO(ended.out, ended.err);
    REQUIRE(ended.code == code);
  }
  void insert(const std::string& table, const std::string& age = "0 s") {
    stage.database.run("INSERT INTO " + table +
                       " (created_at) VALUES (clock_timestamp() - interval '" + age + "')");
  }
  void end_backends_of(const std::string& process) {
    stage.database.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE 'seriatim/" +
        process + "/%'");
  }
  void wait_in_database(const std::string& condition) {
    wait_until(condition, [&] { return stage.database.value("SELECT " + condition) == "t"; });
  }

  void wait_for(const std::string& state, const std::string& alert, const std::string& process) {
    INFO("logs, prometheus.err and alertmanager.err are in ", stage.folder.path().string());
    wait_until(
        alert + " of \"" + process + "\" is " + state,
        [&] { return pager.state(alert, process) == state; }, as_shipped() ? 45min : 90s);
  }
  void fires(const std::string& alert, const std::string& process = {}) {
    fired.insert("Seriatim" + alert);
    wait_for("firing", "Seriatim" + alert, process);
  }
  void is_over(const std::string& alert, const std::string& process = {}) {
    over.insert("Seriatim" + alert);
    wait_for("resolved", "Seriatim" + alert, process);
  }

  Stage stage;
  Receiver receiver;
  Pager pager;
  seriatim::torture::FaultProxy proxy{"127.0.0.1",
                                      static_cast<unsigned short>(shared_server().port())};
  const std::map<std::string, std::string> ports{{"one", std::to_string(free_port())},
                                                 {"two", std::to_string(free_port())},
                                                 {"three", std::to_string(free_port())}};
  std::set<std::string> fired;
  std::set<std::string> over;

 private:
  static RelayProgram::Hooks environment(const std::string& url, const std::string& port) {
    return {{"URL", url}, {"LISTEN", port}};
  }
  [[nodiscard]] std::string process(const std::string& name, const std::string& more = {},
                                    const std::string& source = {}) const {
    return http_process(name, "public." + name, "created_at", receiver.url(name),
                        "lease = \"2s\"\nstandby_interval = \"50ms\"\n"
                        "poll_interval_max = \"100ms\"\n"
                        "backoff = { first = \"50ms\", max = \"500ms\" }\n" +
                            more,
                        source);
  }

  std::string common_;
  std::map<std::string, std::unique_ptr<RelayProgram>> relays_;
};

const std::vector<std::pair<std::string, std::string>> troubles_of_rows{
    {"LaneHalted", "halts"},    {"LagHigh", "retries"}, {"Retrying", "retries"},
    {"FenceBlocked", "fenced"}, {"Stuck", "fenced"},    {"Parked", "parks"},
    {"ParkedOld", "parks"},     {"HeldOld", "holds"},   {"AuditBroken", "audited"},
    {"AuditLate", "flaps"}};

/// One row each that goes wrong; of `fenced` one row behind a transaction that stays open.
void cause_trouble_of_rows(Watch& watch, SqlSession& writer) {
  for (const auto& [process, status] :
       {std::pair{"halts", 422}, {"parks", 422}, {"holds", 503}, {"retries", 503}}) {
    watch.receiver.answer(process, status);
    watch.insert(process, "10 minutes");
  }
  watch.insert("audited");
  watch.insert("flaps");
  watch.start("one");
  watch.start("two");
  watch.wait_in_database("count(*) = 7 FROM seriatim.cursor WHERE epoch > 0");
  watch.wait_in_database("sequence = 1 FROM seriatim.cursor WHERE process_name = 'audited'");
  writer.run("BEGIN; INSERT INTO fenced DEFAULT VALUES");
  watch.insert("fenced");
  watch.insert("audited", "1 hour");  // behind the cursor, as a restore may put it there
  watch.verb({"audit", "audited"}, 1);
  watch.verb({"audit", "flaps"});
  watch.stage.database.run(
      "UPDATE seriatim.audit_report SET at = at - interval '3 days' WHERE process_name = 'flaps'");
  watch.wait_in_database("count(*) = 2 FROM seriatim.aside WHERE parked_at IS NOT NULL");
  watch.stage.database.run("UPDATE seriatim.aside SET parked_at = parked_at - interval '2 days'");
}

void end_trouble_of_rows(Watch& watch, SqlSession& writer) {
  for (const auto* process : {"halts", "parks", "holds", "retries"})
    watch.receiver.answer(process, 200);
  watch.verb({"retry", "halts"});
  watch.verb({"parked", "discard", "parks", "--all", "--reason", "void"});
  writer.run("COMMIT");
  watch.wait_in_database("failed_id = '2' FROM seriatim.cursor WHERE process_name = 'audited'");
  watch.verb({"skip", "audited", "2", "--reason", "a row from a restore"});
  watch.verb({"audit", "audited"});
  watch.verb({"audit", "flaps"});
}

/// Ends the backend of a lane again and again, each time after Prometheus saw the last change.
void flap(Watch& watch, const Prometheus& prometheus) {
  while (watch.pager.state("SeriatimFlapping", "flaps") != "firing") {
    const auto epoch = watch.stage.database.value(
        "SELECT epoch FROM seriatim.cursor WHERE process_name = 'flaps'");
    REQUIRE(std::stoi(epoch) < 5000);
    watch.end_backends_of("flaps");
    watch.wait_in_database("epoch > " + epoch +
                           " FROM seriatim.cursor WHERE process_name = 'flaps'");
    prometheus.wait_for_series("max(seriatim_lane_epoch{process=\"flaps\"}) > " + epoch);
  }
}

}  // namespace

TEST_SUITE("rules") {
  TEST_CASE("every rule fires in one case and is silent in another") {
    if (const auto why = why_missing("/usr/bin/promtool", "prometheus"); !why.empty()) {
      SKIP_TEST(why);
    }
    const auto tested = run({"promtool", "test", "rules",
                             (rules_file.parent_path() / "seriatim.rules.test.yml").string()},
                            {});
    INFO(tested.out, tested.err);
    CHECK(tested.code == 0);
    const auto cases = text_of(rules_file.parent_path() / "seriatim.rules.test.yml");
    for (const auto& name : alerts_of(text_of(rules_file))) {
      CAPTURE(name);
      CHECK(contains(cases, "name: " + name + " fires\n"));
      CHECK(contains(cases, "name: " + name + " is silent\n"));
    }
  }

  TEST_CASE("a real Prometheus makes every rule fire by its cause, and end with it") {
    for (const auto& [program, package] :
         {std::pair{"/usr/bin/prometheus", "prometheus"},
          {"/usr/bin/prometheus-alertmanager", "prometheus-alertmanager"}}) {
      if (const auto why = why_missing(program, package); !why.empty()) SKIP_TEST(why);
    }
    Watch watch;
    const auto rules = watch.stage.folder.path() / "rules.yml";
    const auto shipped = text_of(rules_file);
    std::ofstream(rules) << (as_shipped() ? shipped : with_shorter_times(shipped));
    const Alertmanager alertmanager(watch.stage.folder, watch.pager.url());
    const Prometheus prometheus(
        watch.stage.folder, rules,
        {watch.ports.at("one"), watch.ports.at("two"), watch.ports.at("three")},
        alertmanager.address());
    auto writer = watch.stage.database.connect();

    watch.write_files(false);
    cause_trouble_of_rows(watch, writer);
    for (const auto& [alert, process] : troubles_of_rows) watch.fires(alert, process);
    end_trouble_of_rows(watch, writer);
    for (const auto& [alert, process] : troubles_of_rows) watch.is_over(alert, process);

    flap(watch, prometheus);
    watch.fires("Flapping", "flaps");
    watch.is_over("Flapping", "flaps");

    watch.start_behind_the_proxy();
    watch.fires("NoStandby", "alone");
    watch.fires("ConfigDiffers");
    watch.proxy.refuse(true);
    watch.proxy.reset_connections();
    watch.fires("LookFailing", "alone");
    watch.proxy.refuse(false);
    watch.is_over("LookFailing", "alone");
    writer.run("BEGIN; SELECT 1 FROM seriatim.cursor WHERE process_name = 'alone' FOR UPDATE");
    watch.end_backends_of("alone");  // it cannot be claimed again
    watch.fires("LaneUnheld", "alone");
    writer.run("ROLLBACK");
    watch.is_over("LaneUnheld", "alone");

    watch.write_files(true);  // of all three from now on
    for (const auto* relay : {"one", "two", "three"}) {
      watch.stop(relay);
      watch.start(relay);
    }
    prometheus.wait_for_series("count(seriatim_lanes_held{process=\"alone\"}) == 3");
    watch.is_over("NoStandby", "alone");
    watch.is_over("ConfigDiffers");

    for (const auto* relay : {"one", "two", "three"}) watch.stop(relay);
    watch.fires("Absent");
    watch.start("one");
    watch.is_over("Absent");

    CHECK(watch.fired == alerts_of(shipped));
    CHECK(watch.over == alerts_of(shipped));
  }
}
