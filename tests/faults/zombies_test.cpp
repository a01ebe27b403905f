// FAULTS.md 37: a holder is frozen for longer than the server tolerates, another takes over, and
// the first thaws. It starts no call, moves no cursor, says that it was fenced, and stands by.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "faults/crash_stage.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

constexpr int rows = 5;
/// The receiver has the third row and has not answered: no point of the program's.
constexpr const char* in_the_call = "in the call of row 3";

/// All of its threads: one may run on for a while after the first has stopped.
bool is_frozen(pid_t pid) {
  namespace fs = std::filesystem;
  const fs::directory_iterator threads("/proc/" + std::to_string(pid) + "/task");
  return std::all_of(begin(threads), end(threads), [](const fs::directory_entry& thread) {
    std::ifstream in(thread.path() / "stat");
    const std::string stat{std::istreambuf_iterator<char>(in), {}};
    return stat.find(") T ") != std::string::npos;
  });
}

bool comes_true(const std::function<bool()>& fact) {
  try {
    wait_until("", fact);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// A holder frozen on the way of its rows, and the one that follows it.
struct Zombie {
  Zombie(const std::string& where, int called_before, int committed_before,
         const std::string& mutant = {}, const std::string& more = {})
      : at(where),
        called(called_before),
        committed(committed_before),
        stage(at == in_the_call ? 0 : rows, more) {
    frozen = stage.start("frozen", {{"SERIATIM_STOP_AT", at}, {"SERIATIM_MUTANT", mutant}});
    if (at == in_the_call) freeze_in_the_call();
  }
  void freeze_in_the_call() {
    stage.receiver.reply_with([this, first = true](const ReceivedRequest& request) mutable {
      const bool third = request.header("Seriatim-Sequence") == "3";
      if (third && std::exchange(first, false)) {
        frozen->signal(SIGSTOP);
        wait_until_frozen();  // before it can read the answer
      }
      return Reply::with_status(200);
    });
    stage.append(rows);
  }
  void wait_until_frozen() const {
    wait_until("the holder is frozen", [&] { return is_frozen(frozen->pid()); });
  }
  [[nodiscard]] bool is_fenced(int after = rows) const {
    const auto log = frozen->log();
    return log.find("standby after " + std::to_string(after) + ": fenced: ") != std::string::npos &&
           log.find(":" + std::to_string(successor->pid()) + ":") != std::string::npos &&
           log.find("took over (epoch 1 → 2)") != std::string::npos;
  }

  std::string at;
  int called;
  int committed;
  CrashStage stage;
  std::unique_ptr<RelayProgram> frozen;
  std::unique_ptr<RelayProgram> successor;
};

void follow_thaw_and_judge(Zombie& zombie) {
  CAPTURE(zombie.at);
  auto& stage = zombie.stage;
  REQUIRE(stage.cursor_reaches(rows));
  zombie.frozen->signal(SIGCONT);
  const bool fenced = comes_true([&] { return zombie.is_fenced(); });
  REQUIRE_MESSAGE(fenced, "it does not say that it was fenced:\n", zombie.frozen->log());
  stage.append();
  REQUIRE(stage.cursor_reaches(rows + 1));
  CHECK(zombie.frozen->stop().code == 0);
  CHECK(zombie.successor->stop().code == 0);
  CHECK_MESSAGE(stage.calls() == CrashStage::calls_of(zombie.called, zombie.committed, rows + 1),
                "frozen:\n", zombie.frozen->log(), "successor:\n", zombie.successor->log());
  CHECK(stage.receiver.last_request().header("Seriatim-Epoch") == "2");
}

/// All at once: most of the time goes by waiting for the server to lose patience.
void check_zombies(const std::vector<std::unique_ptr<Zombie>>& zombies) {
  for (const auto& zombie : zombies) zombie->wait_until_frozen();
  for (const auto& zombie : zombies) zombie->successor = zombie->stage.start("successor");
  for (const auto& zombie : zombies) follow_thaw_and_judge(*zombie);
}

std::vector<std::unique_ptr<Zombie>> frozen_at(
    std::initializer_list<std::tuple<const char*, int, int>> points) {
  std::vector<std::unique_ptr<Zombie>> zombies;
  for (const auto& [at, called, committed] : points) {
    zombies.push_back(std::make_unique<Zombie>(at, called, committed));
  }
  return zombies;
}

/// A holder frozen before it starts row 3, which is the first of a batch; its successor
/// is at that row, which the receiver refuses for long.
struct StandingRow {
  explicit StandingRow(const std::string& mutant)
      : zombie("before start:2", 2, 2, mutant, "batch_rows = 2\n") {
    zombie.stage.receiver.reply_with([](const ReceivedRequest& request) {
      if (request.header("Seriatim-Sequence") != "3") return Reply::with_status(200);
      auto busy = Reply::with_status(503);
      busy.headers.emplace_back("Retry-After", "60");
      return busy;
    });
    zombie.wait_until_frozen();
    zombie.successor = zombie.stage.start("successor");
  }
  void thaw() {
    REQUIRE(zombie.stage.state_becomes("retrying"));
    zombie.frozen->signal(SIGCONT);
  }
  [[nodiscard]] long calls_of_epoch(int epoch) const {
    const auto requests = zombie.stage.receiver.requests();
    return std::count_if(requests.begin(), requests.end(), [&](const ReceivedRequest& request) {
      return request.header("Seriatim-Epoch") == std::to_string(epoch);
    });
  }

  Zombie zombie;
};

}  // namespace

TEST_SUITE("zombies") {
  TEST_CASE("frozen without a call until its lease is over: it thaws into a standby") {
    check_zombies(frozen_at({{"after claim", 0, 0}, {"after poll", 0, 0}}));
  }

  TEST_CASE("frozen in a call until the lease that covers it is over: it thaws into a standby") {
    check_zombies(frozen_at({{"after start", 0, 0},
                             {"before call:3", 2, 2},
                             {"after call:3", 3, 2},
                             {"before settle:3", 3, 2},
                             {"after settle:3", 3, 3},  // the next call is announced
                             {in_the_call, 3, 2}}));
  }

  TEST_CASE("frozen before a call that its successor makes in vain: it does not make it too") {
    StandingRow stage("");
    stage.thaw();
    wait_until("it says that it was fenced", [&] { return stage.zombie.is_fenced(2); });
    CHECK(stage.calls_of_epoch(1) == 2);
  }

  TEST_CASE("a holder broken so that it ignores the epoch calls the row its successor is at") {
    StandingRow stage("no_epoch");
    stage.thaw();
    wait_until("it calls", [&] { return stage.calls_of_epoch(1) == 3; });
  }

  TEST_CASE("a frozen operator's program holds the lane up, and its act is done when it thaws") {
    CrashStage stage(2);
    const auto relay = stage.start("relay");
    REQUIRE(stage.cursor_reaches(2));
    Process::Options options;
    options.environment = {{"SERIATIM_STOP_AT", "during act"}};
    Process pause({SERIATIM_HOOKED_PROGRAM, "pause", "p", "--config",
                   (stage.folder.path() / "relay.toml").string()},
                  options);
    wait_until("the operator is frozen", [&] { return is_frozen(pause.pid()); });
    stage.append();
    pause.signal(SIGCONT);
    CHECK(pause.wait().code == 0);
    CHECK(stage.state_becomes("paused"));
    CHECK(stage.calls() == "1 2");
    CHECK(stage.verb({"resume", "p"}, "relay").code == 0);
    REQUIRE(stage.cursor_reaches(3));
    CHECK(stage.calls() == "1 2 3");
  }
}
