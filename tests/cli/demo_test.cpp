// `seriatim demo` as users run it: it ends with a verdict, or at a signal, and leaves nothing
// behind.
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/process.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr auto server_is_up = "A private PostgreSQL is running";
constexpr auto it_delivers = " sent  last ";

/// The program, with a temporary folder of its own. Processes that outlive it become children of
/// this test.
class ProgramStage {
 public:
  explicit ProgramStage(std::vector<std::string> command, Process::Options options = {}) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    options.environment["TMPDIR"] = folder_.path().string();
    command.insert(command.begin(), SERIATIM_PROGRAM);
    program_.emplace(command, options);
  }
  ~ProgramStage() {
    program_.reset();
    try {
      wait_until("nothing of the program runs", [] { return ::waitpid(-1, nullptr, WNOHANG) < 0; });
    } catch (const std::exception&) {  // the case has failed before
    }
  }
  ProgramStage(const ProgramStage&) = delete;
  ProgramStage& operator=(const ProgramStage&) = delete;

  Process& program() { return *program_; }

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  /// What the program leaves, in words; "" when it has ended and left nothing.
  [[nodiscard]] std::string left() const {
    std::string text;
    for (const auto& name : files()) text += "file " + name + '\n';
    if (const auto child = ::waitpid(-1, nullptr, WNOHANG); child >= 0) {
      text += child == 0 ? "a process that runs\n" : "a process that ended later\n";
    }
    return text + shared_memory_left();
  }
  /// Notes the shared memory of the server, which is up.
  void note_shared_memory() {
    std::ifstream file(data() / "postmaster.pid");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    REQUIRE(lines.size() >= 7);
    std::istringstream(lines[6]) >> segment_ >> segment_;  // key, id
    std::ifstream maps("/proc/" + lines[0] + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (const auto at = line.find("/dev/shm/"); at != std::string::npos) {
        shared_files_.push_back(line.substr(at));
      }
    }
    REQUIRE(has_segment());
    REQUIRE_FALSE(shared_files_.empty());
  }
  [[nodiscard]] fs::path data() const {
    return folder_.path() / files().at(0) / "postgres" / "data";
  }

 private:
  [[nodiscard]] bool has_segment() const {
    std::ifstream table("/proc/sysvipc/shm");
    for (std::string line; std::getline(table, line);) {
      std::istringstream columns(line);
      std::string key;
      std::string id;
      columns >> key >> id;
      if (id == segment_) return true;
    }
    return false;
  }
  [[nodiscard]] std::string shared_memory_left() const {
    std::string text = has_segment() ? "shared memory " + segment_ + '\n' : "";
    for (const auto& file : shared_files_) {
      if (fs::exists(file)) text += "shared memory " + file + '\n';
    }
    return text;
  }

  TemporaryFolder folder_;
  std::optional<Process> program_;
  std::string segment_ = "none";
  std::vector<std::string> shared_files_;
};

const std::vector<int> stop_signals{SIGHUP, SIGINT, SIGTERM};

}  // namespace

TEST_SUITE("demo") {
  TEST_CASE("it ends with a verdict and leaves nothing") {
    ProgramStage stage({"demo", "--seconds", "5"});
    stage.program().wait_for_output(server_is_up);
    stage.note_shared_memory();
    const auto ended = stage.program().wait(120s);
    CAPTURE(ended.out);
    CHECK(ended.code == 0);
    CHECK(ended.out.find("VERDICT: delivered seriatim.") != std::string::npos);
    CHECK(stage.left() == "");
  }

  TEST_CASE("a signal before the server is up ends it, and nothing is left") {
    for (const int number : stop_signals) {
      CAPTURE(number);
      ProgramStage stage({"demo"});
      wait_until("its folder is there", [&] { return !stage.files().empty(); });
      stage.program().signal(number);
      const auto ended = stage.program().wait(60s);
      CHECK(ended.code == 1);
      CHECK(ended.out.find(server_is_up) == std::string::npos);
      CHECK(stage.left() == "");
    }
  }

  TEST_CASE("torture and bench, stopped before their server is up, leave nothing") {
    const std::vector<std::vector<std::string>> commands{{"torture", "--database", "embedded"},
                                                         {"bench", "null"}};
    for (const auto& command : commands) {
      CAPTURE(command[0]);
      ProgramStage stage(command);
      wait_until("its folder is there", [&] { return !stage.files().empty(); });
      stage.program().signal(SIGHUP);
      const auto ended = stage.program().wait(60s);
      CHECK(ended.code == 1);
      CHECK(ended.err.find("before PostgreSQL was up") != std::string::npos);
      CHECK(stage.left() == "");
    }
  }

  TEST_CASE("a signal while it prepares or delivers ends it, and nothing is left") {
    for (const auto* moment : {server_is_up, it_delivers}) {
      for (const int number : stop_signals) {
        CAPTURE(moment);
        CAPTURE(number);
        ProgramStage stage({"demo"});
        stage.program().wait_for_output(moment);
        stage.note_shared_memory();
        stage.program().signal(number);
        const auto ended = stage.program().wait(60s);
        CHECK(ended.code == 1);
        CHECK(ended.err.find("stopped by a signal") != std::string::npos);
        CHECK(stage.left() == "");
      }
    }
  }

  TEST_CASE("further signals neither hurry it nor leave anything") {
    ProgramStage stage({"demo"});
    stage.program().wait_for_output(it_delivers);
    stage.note_shared_memory();
    for (const int number : {SIGTERM, SIGTERM, SIGHUP, SIGINT}) stage.program().signal(number);
    CHECK(stage.program().wait(60s).code == 1);
    CHECK(stage.left() == "");
  }

  TEST_CASE("an output that cannot be written ends it, and nothing is left") {
    Process::Options options;
    options.out_file = "/dev/full";
    ProgramStage stage({"demo", "--seconds", "600"}, options);
    const auto ended = stage.program().wait(60s);
    CHECK(ended.code == 1);
    CHECK(ended.err.find("cannot write to stdout") != std::string::npos);
    CHECK(stage.left() == "");
  }

  TEST_CASE("--keep: a signal stops the server and says which folder is kept") {
    ProgramStage stage({"demo", "--keep"});
    stage.program().wait_for_output(it_delivers);
    stage.program().signal(SIGTERM);
    const auto ended = stage.program().wait(60s);
    CHECK(ended.code == 1);
    CHECK(ended.err.find(stage.files().at(0)) != std::string::npos);
    CHECK_FALSE(fs::exists(stage.data() / "postmaster.pid"));
    CHECK(stage.left() == "file " + stage.files().at(0) + '\n');
  }
}
