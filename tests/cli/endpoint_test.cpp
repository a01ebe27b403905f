// `[console]` as probes, Prometheus and the service manager see it.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/prometheus.hpp"
#include "cli/stage.hpp"
#include "console/probe_client.hpp"
#include "lab/process/free_port.hpp"
#include "seriatim/error.hpp"
#include "support/relay_program.hpp"
#include "support/skip.hpp"

using namespace seriatim;
using namespace seriatim::lab;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A relay with a console, and the program's verbs for the same configuration.
class Served {
 public:
  explicit Served(Stage& stage, const std::string& handler, const std::string& more = {},
                  const std::string& process = {}, const std::string& source = {})
      : stage_(stage) {
    toml_ = database_section(stage.database.url()) +
            "[console]\nlisten = \"127.0.0.1:" + std::to_string(port) + "\"\n" + more +
            Stage::process(handler, process, source);
    std::ofstream(stage.folder.path() / "seriatim.toml") << toml_;
  }
  void start(const RelayProgram::Hooks& hooks = {}) {
    relay_.emplace(stage_.folder, "relay" + std::to_string(port), toml_, hooks);
    wait_until("the relay answers probes", [&] { return status("/livez") == 200; });
  }
  RelayProgram& relay() { return *relay_; }

  [[nodiscard]] unsigned status(const std::string& path) const {
    try {
      return console::ask("127.0.0.1", port, path, 10s).status;
    } catch (const Error&) {
      return 0;
    }
  }
  [[nodiscard]] std::string get(const std::string& path) const {
    return console::ask("127.0.0.1", port, path, 10s).body;
  }
  void wait_for(const std::string& line) const {
    wait_until("/metrics has the line " + line,
               [&] { return contains(get("/metrics"), '\n' + line + '\n'); });
  }

  unsigned short port = static_cast<unsigned short>(free_port());

 private:
  Stage& stage_;
  std::string toml_;
  std::optional<RelayProgram> relay_;
};

/// All queries of the dashboard, for one job and all processes.
std::vector<std::string> panel_queries() {
  std::vector<std::string> queries;
  const auto dashboard = boost::json::parse(
      text_of(std::filesystem::path(SERIATIM_SOURCE_DIR) / "contrib/grafana/seriatim.json"));
  for (const auto& panel : dashboard.at("panels").as_array()) {
    const auto* targets = panel.as_object().if_contains("targets");
    if (!targets) continue;
    for (const auto& target : targets->as_array()) {
      std::string query(target.at("expr").as_string());
      for (const auto& [variable, value] : {std::pair{"$job", "seriatim"},
                                            {"$process", ".*"},
                                            {"$__rate_interval", "10s"},
                                            {"$__range", "1m"}}) {
        for (std::size_t at = 0; (at = query.find(variable, at)) != std::string::npos;) {
          query.replace(at, std::strlen(variable), value);
        }
      }
      queries.push_back(std::move(query));
    }
  }
  return queries;
}

/// There is no series unless a row is parked or was delivered just now, a lane is not halted,
/// several lanes share a process, or it is configured.
bool is_conditional(const std::string& query) {
  const std::regex names(
      "seriatim_(parked_oldest_timestamp_seconds|instances|alerts_sent_total|spans_total|"
      "audit_complete_timestamp_seconds)|"
      "seriatim_delivered_total.* > 0");
  return std::regex_search(query, names);
}

}  // namespace

TEST_SUITE("endpoint") {
  TEST_CASE("probes and metrics of a relay that delivers") {
    Stage stage;
    stage.append(3);
    Served served(stage, "kind = \"log\"\nfile = \"" + stage.log.string() + "\"");
    CHECK(stage.seriatim({"health"}).code == 1);
    served.start();
    served.wait_for("seriatim_delivered_total{process=\"p\",lane=\"0\"} 3");
    wait_until("it is ready", [&] { return served.status("/readyz") == 200; });
    CHECK(served.status("/healthz") == 200);
    wait_until("all is well", [&] { return served.status("/statusz") == 200; });
    served.wait_for("seriatim_lane_sequence{process=\"p\",lane=\"0\"} 3");
    CHECK(served.status("/nothing") == 404);
    CHECK(stage.seriatim({"health"}).code == 0);
    CHECK(contains(stage.seriatim({"health", "--ready"}).out, "every lane is held"));
    const auto metrics = served.get("/metrics");
    CHECK(contains(metrics, "seriatim_look_up{process=\"p\"} 1\n"));
    CHECK(contains(metrics, "seriatim_end_to_end_seconds_count{process=\"p\"} 3\n"));
    CHECK(contains(metrics, "seriatim_lanes_held{process=\"p\"} 1\n"));
    wait_until("its audit is complete", [&] {
      return contains(served.get("/metrics"),
                      "seriatim_audit_complete_timestamp_seconds{process=\"p\",lane=\"0\"} ");
    });
    CHECK_FALSE(contains(metrics, "booked"));  // a row's type: no contents of rows
    if (why_missing("/usr/bin/promtool", "prometheus").empty()) {
      auto options = stage.options();
      options.input = metrics;
      const auto checked = run({"promtool", "check", "metrics"}, options);
      CHECK(checked.code == 0);
      CHECK(checked.out + checked.err == "");
    }
    CHECK(served.relay().stop().code == 0);
  }

  TEST_CASE("a halted lane fails /statusz, and neither liveness nor readiness") {
    Stage stage;
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422, "no"));
    stage.append();
    Served served(stage, "kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\"");
    served.start();
    served.wait_for("seriatim_lane_halted{process=\"p\",lane=\"0\",reason=\"POISON\"} 1");
    CHECK(served.status("/statusz") == 503);
    CHECK(contains(served.get("/statusz"), "\"state\":\"halted\""));
    CHECK(served.status("/livez") == 200);
    CHECK(served.status("/readyz") == 200);
    served.wait_for(
        "seriatim_delivery_failures_total{process=\"p\",lane=\"0\",class=\"poison\"} 1");
  }

  TEST_CASE(
      "a frozen lane fails liveness a minute after its deadline, and does not stop the other") {
    Stage stage;
    Served served(stage, "kind = \"log\"\nfile = \"" + stage.log.string() + "\"", {},
                  "lanes = 2\nhandler_deadline = \"1s\"", "key = \"aggregate_id\"");
    served.start({{"SERIATIM_HANG_AT", "before call"}});
    stage.append();
    wait_until("the lane of the row hangs",
               [&] { return contains(served.get("/statusz"), "\"called_for_ms\":"); });
    CHECK(served.status("/livez") == 200);  // 61 s are its own
    wait_until(
        "a thread that hangs fails liveness", [&] { return served.status("/livez") == 503; }, 120s);
    CHECK(contains(served.get("/livez"), " hangs: a call of its handler was to end 6"));
    CHECK(stage.seriatim({"health"}).code == 1);
    stage.database.run(
        "SELECT seriatim.append('booking', 'key ' || n, 'booked', '{}') FROM generate_series(1, "
        "20) n");
    wait_until("the other lane delivers", [&] { return stage.lines_in_log() > 0; });
  }

  TEST_CASE("with the table dropped nothing stale is reported, and the relay lives") {
    Stage stage;
    Served served(stage, "kind = \"log\"\nfile = \"" + stage.log.string() + "\"");
    served.start();
    served.wait_for("seriatim_lanes_held{process=\"p\"} 1");
    stage.database.run("ALTER SCHEMA seriatim RENAME TO away");
    served.wait_for("seriatim_look_up{process=\"p\"} 0");
    const auto metrics = served.get("/metrics");
    CHECK_FALSE(contains(metrics, "seriatim_lag_seconds"));
    CHECK_FALSE(contains(metrics, "seriatim_look_timestamp_seconds"));
    CHECK(contains(metrics, "seriatim_delivered_total"));
    CHECK(served.status("/livez") == 200);
    stage.database.run("ALTER SCHEMA away RENAME TO seriatim");
    served.wait_for("seriatim_look_up{process=\"p\"} 1");
  }

  TEST_CASE("two relays that share the lanes of a process are both ready") {
    Stage stage;
    const auto handler = "kind = \"log\"\nfile = \"" + stage.log.string() + "\"";
    const std::string lanes = "lanes = 4\n";
    const std::string key = "key = \"aggregate_id\"\n";
    Served one(stage, handler, {}, lanes, key);
    one.start();
    one.wait_for("seriatim_lanes_held{process=\"p\"} 4");
    CHECK(one.status("/readyz") == 200);
    Served other(stage, handler, {}, lanes, key);
    other.start();
    one.wait_for("seriatim_lanes_held{process=\"p\"} 2");
    other.wait_for("seriatim_lanes_held{process=\"p\"} 2");
    CHECK(one.status("/readyz") == 200);
    CHECK(other.status("/readyz") == 200);
    one.wait_for("seriatim_instances{process=\"p\"} 2");
    one.relay().kill();
    other.wait_for("seriatim_lanes_held{process=\"p\"} 4");
    CHECK(other.status("/readyz") == 200);
  }

  TEST_CASE("a token is asked for rows and metrics, not for probes") {
    Stage stage;
    Served served(stage, "kind = \"log\"\nfile = \"" + stage.log.string() + "\"",
                  "token = \"0123456789abcdef0123\"\n");
    served.start();
    CHECK(served.status("/metrics") == 401);
    CHECK(served.status("/statusz") == 401);
    CHECK(served.status("/livez") == 200);
  }

  TEST_CASE("the service manager hears of start, watchdog and stop") {
    Stage stage;
    const auto path = stage.folder.path() / "notify";
    const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    REQUIRE(path.string().size() < sizeof place.sun_path);
    std::strcpy(place.sun_path, path.c_str());
    REQUIRE(::bind(manager, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
    auto options = stage.options();
    options.environment["NOTIFY_SOCKET"] = path.string();
    options.environment["WATCHDOG_USEC"] = "300000";
    Process relay(Stage::command({"run"}), options);
    std::set<std::string> heard;
    const auto wait_for = [&](const std::string& start) {
      wait_until("the manager hears " + start, [&] {
        char text[512];
        const auto bytes = ::recv(manager, text, sizeof text, MSG_DONTWAIT);
        if (bytes > 0) heard.emplace(text, static_cast<std::size_t>(bytes));
        const auto found = heard.lower_bound(start);
        return found != heard.end() && found->starts_with(start);
      });
    };
    wait_for("WATCHDOG=1");
    wait_for("READY=1");
    wait_for("STATUS=1 lane: ");
    relay.signal(SIGTERM);
    wait_for("STOPPING=1");
    wait_for("EXTEND_TIMEOUT_USEC=");
    CHECK(relay.wait().code == 0);
    ::close(manager);
  }

  TEST_CASE("a real Prometheus scrapes two relays and finds every metric that a rule names") {
    if (const auto why = why_missing("/usr/bin/prometheus", "prometheus"); !why.empty()) {
      SKIP_TEST(why);
    }
    Stage stage;
    HttpService receiver;
    receiver.reply_with(Reply::with_status(422, "no"));
    receiver.push(Reply::with_status(200));
    stage.append(2);
    const auto handler = "kind = \"http\"\nallow_private = true\nurl = \"" + receiver.url() + "\"";
    Served one(stage, handler);
    one.start();
    Served other(stage, handler);
    other.start();
    const Prometheus prometheus(stage.folder, rules_file,
                                {std::to_string(one.port), std::to_string(other.port)});
    prometheus.wait_for_series("count(up==1)==2");
    const auto text = text_of(rules_file);
    const std::regex metric("seriatim_[a-z_]+");
    std::set<std::string> names;
    for (std::sregex_iterator found(text.begin(), text.end(), metric), end; found != end; ++found) {
      names.insert(found->str());
    }
    CHECK(names.size() > 10);
    names.erase("seriatim_parked_oldest_timestamp_seconds");  // only while a row is parked
    names.erase("seriatim_held_oldest_timestamp_seconds");    // … or held; rules_test has both
    REQUIRE(stage.seriatim({"audit", "p"}).code == 0);
    for (const auto& name : names) prometheus.wait_for_series(name);
    const auto queries = panel_queries();
    CHECK(queries.size() > 40);
    std::string empty;
    const auto find_empty = [&] {
      empty.clear();
      for (const auto& asked : queries) {
        const auto answer = prometheus.query(asked);
        const bool found = contains(answer, "\"metric\"") || is_conditional(asked);
        if (!contains(answer, "\"success\"") || !found) empty += asked + '\n';
      }
      return empty.empty();
    };
    try {
      wait_until("every panel shows something", find_empty);
    } catch (const std::exception&) {
      CHECK(empty == "");
    }
    CHECK(contains(prometheus.query("sum(seriatim_delivered_total)"), "\"1\""));
  }
}
