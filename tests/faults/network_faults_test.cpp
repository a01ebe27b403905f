// FAULTS.md 19, 25, 27: bad networks between the relay and its database, and between the relay and
// its receiver. No row is skipped, overtaken or repeated beyond the bound; nothing loops or grows.
#include <doctest/doctest.h>

#include "faults/network_stage.hpp"
#include "support/skip.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;
using seriatim::torture::FaultProxy;
using seriatim::torture::Flow;
using seriatim::torture::Side;
using seriatim::torture::Weather;

namespace {

constexpr int rows_before = 2;
constexpr int rows = 3;

Weather both(const Flow& flow) {
  return {flow, flow};
}

/// Something bad that begins between two rows, and that may have to end before others pass.
struct Trouble {
  std::string name;
  std::function<void(FaultProxy&)> begin;
  /// What must have come true before it ends; none: rows pass all the same.
  std::function<bool(NetworkStage&)> until;
  std::function<void(FaultProxy&)> end;
  int repeats_max = 0;
  /// What a call has; no call that passes may need it, however busy the machine is.
  std::string deadline = "8s";
};

struct Scene {
  explicit Scene(const Trouble& trouble, FaultProxy NetworkStage::*way_of_it)
      : what(trouble), way(way_of_it), stage(rows_before) {
    stage.start_through(what.deadline);
  }
  void begin() {
    REQUIRE(stage.cursor_reaches(rows_before));
    accepted_before = (stage.*way).counts().accepted;
    memory_before = stage.memory_kib();
    what.begin(stage.*way);
    stage.append(rows - rows_before);
  }
  void end() {
    if (!what.until) return;
    wait_until(what.name, [&] { return what.until(stage); });
    what.end(stage.*way);
  }
  void judge() {
    CAPTURE(what.name);
    REQUIRE_MESSAGE(stage.cursor_reaches(rows), stage.relay->log());
    CHECK(stage.memory_kib() < memory_before + (20 << 10));
    CHECK(stage.cpu_seconds() < 3);
    CHECK(stage.to_database.counts().bytes_to_server < 4 << 20);
    CHECK((stage.*way).counts().accepted - accepted_before <= 25);
    CHECK(stage.repeats() >= 0);
    CHECK_MESSAGE(stage.repeats() <= what.repeats_max, stage.calls());
    (stage.*way).set({});  // so that it ends soon
    CHECK(stage.relay->stop().code == 0);
  }

  const Trouble& what;
  FaultProxy NetworkStage::*way;
  NetworkStage stage;
  std::size_t accepted_before = 0;
  long memory_before = 0;
};

/// All at once: most of the time goes by waiting.
void play(const std::vector<Trouble>& troubles, FaultProxy NetworkStage::*way) {
  std::vector<std::unique_ptr<Scene>> scenes;
  for (const auto& trouble : troubles) scenes.push_back(std::make_unique<Scene>(trouble, way));
  for (const auto& scene : scenes) scene->begin();
  for (const auto& scene : scenes) scene->end();
  for (const auto& scene : scenes) scene->judge();
}

const auto fair = [](FaultProxy& proxy) { proxy.set({}); };

std::function<void(FaultProxy&)> weather(const Weather& weather) {
  return [weather](FaultProxy& proxy) { proxy.set(weather); };
}

/// The relay has given its connection up and come back.
template <FaultProxy NetworkStage::*way>
bool has_called_again(NetworkStage& stage) {
  return (stage.*way).counts().accepted > 1;
}

const std::vector<Trouble> slow{
    {"a round trip of 2 s", weather({{.latency = 2s}, {}}), {}, {}},
    {"1 kB/s", weather(both({.bytes_per_second = 1'000})), {}, {}},
    {"slices of one byte", weather(both({.slice_bytes = 1})), {}, {}},
    // A pause may outlast the call's deadline after the receiver had the row.
    {"loss of 30 %", weather(both({.slice_bytes = 1'448, .loss = 0.3})), {}, {}, 2},
};

template <FaultProxy NetworkStage::*way>
const std::vector<Trouble> broken{
    // A call that goes dead is given up at its deadline.
    {"black hole", weather(both({.swallow = true})), has_called_again<way>, fair, 0, "2s"},
    {"half open", [](FaultProxy& proxy) { proxy.half_open(Side::server); }, has_called_again<way>,
     fair, 0, "2s"},
    {"closed", [](FaultProxy& proxy) { proxy.close_connections(); }, has_called_again<way>, fair},
    {"reset", [](FaultProxy& proxy) { proxy.reset_connections(); }, has_called_again<way>, fair},
};

}  // namespace

TEST_SUITE("faults of the network") {
  TEST_CASE("a slow network to the database: rows pass slowly, in order, each once") {
    play(slow, &NetworkStage::to_database);
  }

  TEST_CASE("a slow network to the receiver: rows pass slowly, in order, each once") {
    play(slow, &NetworkStage::to_receiver);
  }

  TEST_CASE("connections to the database that break or go dead are given up and opened again") {
    auto troubles = broken<&NetworkStage::to_database>;
    troubles.push_back({"refused",
                        [](FaultProxy& proxy) {
                          proxy.refuse(true);
                          proxy.reset_connections();
                        },
                        [](NetworkStage& stage) {
                          return stage.relay->log().find("refused") != std::string::npos;
                        },
                        [](FaultProxy& proxy) { proxy.refuse(false); }});
    play(troubles, &NetworkStage::to_database);
  }

  TEST_CASE("connections to the receiver that break or go dead are given up and opened again") {
    auto troubles = broken<&NetworkStage::to_receiver>;
    const auto third_attempt = [](NetworkStage& stage) {
      return stage.database.value("SELECT max(attempts) >= 3 FROM seriatim.cursor") == "t";
    };
    troubles.push_back({"refused",
                        [](FaultProxy& proxy) {
                          proxy.refuse(true);
                          proxy.close_connections();
                        },
                        third_attempt, [](FaultProxy& proxy) { proxy.refuse(false); }});
    // The reset ends the call, not its deadline: scenes end one after another, however long it
    // takes.
    troubles.push_back(
        {"the answer lost", weather({{}, {.held = true}}),
         [](NetworkStage& stage) { return stage.receiver.request_count() > rows_before; },
         [](FaultProxy& proxy) {
           proxy.reset_connections();
           proxy.set({});
         },
         1, "60s"});
    play(troubles, &NetworkStage::to_receiver);
  }
}

namespace {

constexpr const char* no_keepalives = "&keepalives=0&tcp_user_timeout=0&keepalives_idle=7200";

/// A holder that vanishes with its host, and the one that follows it.
struct Vanishing {
  explicit Vanishing(const std::string& deadline, const std::string& bounds) : stage(1) {
    stage.start_through(deadline, bounds);
    REQUIRE(stage.cursor_reaches(1));
    another = stage.start_another(deadline);
    REQUIRE(stage.database.becomes_true(
        "SELECT count(*) = 2 FROM pg_stat_activity WHERE application_name = 'seriatim/p/0'"
        " AND datname = current_database()"));
  }
  /// Locks the cursor's row: a call begins and is not answered.
  void begin_call() {
    stage.to_receiver.set({{}, {.held = true}});
    stage.append();
    REQUIRE(stage.receiver.wait_for_requests(2, 30s));
  }
  /// No FIN, no RST: the server learns nothing.
  bool vanish() {
    if (!stage.to_database.cut()) {
      note_skipped("this kernel has no SO_ATTACH_FILTER");
      return false;
    }
    stage.relay->kill();
    return true;
  }

  NetworkStage stage;
  std::unique_ptr<RelayProgram> another;
};

}  // namespace

TEST_SUITE("hosts that vanish") {
  TEST_CASE("an idle holder's host vanishes: the lane is taken over when its lease is past") {
    Vanishing scene("60s", no_keepalives);
    if (!scene.vanish()) return;
    scene.stage.append(2);
    CHECK(scene.stage.cursor_reaches(3));
    CHECK(scene.stage.calls() == "1 2 3");
    CHECK(scene.another->stop().code == 0);
  }

  TEST_CASE("a host vanishes under a call: the server frees the lock within the keepalive bound") {
    Vanishing scene("600s", NetworkStage::quick_bounds);  // its deadline is of no help
    scene.begin_call();
    if (!scene.vanish()) return;
    CHECK(scene.stage.cursor_reaches(2));
    CHECK(scene.stage.calls() == "1 2 2");
    CHECK(scene.another->stop().code == 0);
  }

  TEST_CASE("… or when the call's deadline is past, where keepalives are switched off") {
    Vanishing scene("1s", no_keepalives);
    scene.begin_call();
    if (!scene.vanish()) return;
    CHECK(scene.stage.cursor_reaches(2));
    CHECK(scene.stage.calls() == "1 2 2");
    CHECK(scene.another->stop().code == 0);
  }

  TEST_CASE("a holder cut off from the database alone starts no further call, then stands by") {
    Vanishing scene("60s", NetworkStage::quick_bounds);
    auto& stage = scene.stage;
    if (!stage.to_database.cut()) SKIP_TEST("this kernel has no SO_ATTACH_FILTER");
    stage.append(3);
    REQUIRE(stage.cursor_reaches(4));
    stage.to_database.fix();
    wait_until("the old holder stands by",
               [&] { return stage.relay->log().find("standby") != std::string::npos; });
    stage.append();
    REQUIRE(stage.cursor_reaches(5));
    CHECK(stage.calls() == "1 2 3 4 5");  // … and no epoch after a later one: see calls()
    CHECK(stage.receiver.last_request().header("Seriatim-Epoch") == "2");
    CHECK(stage.relay->stop().code == 0);
    CHECK(scene.another->stop().code == 0);
  }
}
