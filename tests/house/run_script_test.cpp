// `./run`: what it leaves when a signal ends it during a build, what it says under the tests, and
// which tests it runs. The build and the tests are played.
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/process.hpp"

using namespace seriatim::testing;
namespace fs = std::filesystem;

namespace {

const fs::path source = SERIATIM_SOURCE_DIR;

void write_program(const fs::path& file, const std::string& text) {
  std::ofstream(file) << "#!/bin/sh\n" << text;
  ::chmod(file.c_str(), 0755);
}

/// The script in a folder of its own, with a cmake that takes its time in one step.
class ScriptStage {
 public:
  explicit ScriptStage(const std::string& slow_step) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (const auto& entry : fs::directory_iterator(source)) {
      const auto name = entry.path().filename();
      if (name == "run" || name.string().starts_with("packages")) {
        fs::copy(entry.path(), folder_.path() / name, fs::copy_options::recursive);
      }
    }
    for (const auto* name : {"bin", "tmp"}) fs::create_directory(folder_.path() / name);
    write_program(folder_.path() / "bin/dpkg-query", "echo install ok installed\n");
    write_program(folder_.path() / "bin/cmake", "[ \"$1\" = " + slow_step +
                                                    " ] || exit 0\nsleep 600 &\ntouch " +
                                                    started().string() + "\nwait\n");
  }

  /// What the tests write to ctest's log ("": ctest writes none), and how ctest ends.
  void play_tests(const std::string& log, int code) const {
    const auto folder = folder_.path() / "build/dev/Testing/Temporary";
    fs::create_directories(folder);
    std::ofstream(folder / "played") << log;
    const auto write_log =
        log.empty() ? "" : "cd " + folder.string() + " && cp played LastTest.log\n";
    write_program(folder_.path() / "bin/ctest", "echo ctest says what it says\n" + write_log +
                                                    "exit " + std::to_string(code) + "\n");
  }
  /// A test program that prints its arguments, and its files as cmake lists them.
  void play_program(const std::string& program, const std::vector<std::string>& files,
                    int code = 0) const {
    const auto build = folder_.path() / "build/dev";
    fs::create_directories((build / program).parent_path());
    write_program(build / program, "echo ${0##*/} \"$@\"\nexit " + std::to_string(code) + "\n");
    std::ofstream list(build / "compile_commands.json", std::ios::app);
    const auto slash = program.rfind('/') + 1;
    for (const auto& file : files) {
      list << R"(  "command": "/usr/bin/c++ -O1 -o )" << program.substr(0, slash) << "CMakeFiles/"
           << program.substr(slash) << ".dir/" << fs::path(file).filename().string() << ".o -c "
           << (folder_.path() / file).string() << "\",\n";
    }
  }
  template <typename... Words>
  [[nodiscard]] Process run(const Words&... words) const {
    Process::Options options;
    options.environment = {{"PATH", (folder_.path() / "bin").string() + ":" + std::getenv("PATH")},
                           {"TMPDIR", temporary().string()}};
    return Process({(folder_.path() / "run").string(), words...}, options);
  }
  [[nodiscard]] fs::path started() const { return folder_.path() / "started"; }
  [[nodiscard]] fs::path temporary() const { return folder_.path() / "tmp"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_SUITE("./run") {
  TEST_CASE("a signal during the build ends the build too, and leaves no file") {
    for (const auto* step : {"--preset", "--build"}) {
      for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
        CAPTURE(std::string(step));
        CAPTURE(number);
        const ScriptStage stage(step);
        auto script = stage.run("demo");
        wait_until("the build goes on", [&] { return fs::exists(stage.started()); });
        script.signal(number);
        CHECK(script.wait().code == 128 + number);
        wait_until("nothing of the build runs", [] { return ::waitpid(-1, nullptr, WNOHANG) < 0; });
        CHECK(fs::is_empty(stage.temporary()));
        CHECK_FALSE(fs::exists("/tmp/seriatim-configure." + std::to_string(script.pid())));
      }
    }
  }

  TEST_CASE("what was skipped is said last, with the reason, however the tests ended") {
    const ScriptStage stage("none");
    for (const int code : {0, 8}) {
      stage.play_tests(
          "1/2 Test: one_test\nfine\n2/2 Test: two_test\n"
          "SKIPPED: a case: no server here\nSKIPPED: another: not root\n",
          code);
      const auto ended = stage.run("test").wait();
      CHECK(ended.code == code);
      CHECK(ended.out ==
            "ctest says what it says\n"
            "Skipped, neither passed nor failed, as what they need is not here:\n"
            "  two_test: a case: no server here\n  two_test: another: not root\n");
    }
    for (const auto* log : {"", "1/1 Test: one_test\nfine\n"}) {  // "": an old log is there
      stage.play_tests(log, 0);
      CHECK(stage.run("test").wait().out == "ctest says what it says\n");
    }
  }

  TEST_CASE("the ten slowest tests of this run are named, the slowest first") {
    const ScriptStage stage("none");
    std::string log;
    for (int i = 1; i <= 12; ++i) {
      const auto number = std::to_string(i);
      log += number + "/12 Test: test_" + number + "\nfine\nTest time =  " + number + ".25 sec\n";
    }
    stage.play_tests(log, 0);
    const auto out = stage.run("test").wait().out;
    CHECK(
        out.starts_with("ctest says what it says\nThe slowest tests:\n"
                        "   12.25 s  test_12\n   11.25 s  test_11\n"));
    CHECK(out.ends_with("    3.25 s  test_3\n"));
  }

  TEST_CASE("a name runs the program of that name, or that file's tests alone") {
    const ScriptStage stage("none");
    stage.play_program("tests/postgres/postgres_test",
                       {"tests/postgres/claim_test.cpp", "tests/postgres/fence_test.cpp"});
    stage.play_program("tests/core/core_test",
                       {"tests/core/fence_test.cpp", "tests/core/sharing_test.cpp"});
    stage.play_program("tests/faults/sharing_test", {"tests/faults/sharing_test.cpp"});
    const auto said = [&](const auto&... words) { return stage.run("test", words...).wait().out; };
    CHECK(said("postgres_test") == "postgres_test --source-file=*\n");
    CHECK(said("claim_test") == "postgres_test --source-file=*/claim_test.cpp\n");
    CHECK(said("dev", "claim_test.cpp", "-s") ==
          "postgres_test --source-file=*/claim_test.cpp -s\n");
    CHECK(said("fence_test") ==
          "core_test --source-file=*/fence_test.cpp\n"
          "postgres_test --source-file=*/fence_test.cpp\n");
    CHECK(said("core/fence_test") == "core_test --source-file=*/core/fence_test.cpp\n");
    CHECK(said("sharing_test") ==
          "core_test --source-file=*/sharing_test.cpp\nsharing_test --source-file=*\n");
  }

  TEST_CASE("one file's tests end as their program does, and a skipped one is no failure") {
    const ScriptStage stage("none");
    stage.play_program("tests/core/failing_test", {"tests/core/failing_test.cpp"}, 1);
    stage.play_program("tests/core/skipped_test", {"tests/core/skipped_test.cpp"}, 77);
    CHECK(stage.run("test", "failing_test").wait().code == 1);
    CHECK(stage.run("test", "skipped_test").wait().code == 0);
  }

  TEST_CASE("a name that no test has is refused, and close ones are named") {
    const ScriptStage stage("none");
    stage.play_program("tests/core/core_test",
                       {"tests/core/fence_test.cpp", "tests/core/lane_test.cpp"});
    for (const auto* name : {"fence", "fenc_tset"}) {
      const auto ended = stage.run("test", name).wait();
      CHECK(ended.code == 2);
      CHECK(ended.out.empty());
      CHECK(ended.err.starts_with("./run: there is no test program or file '" + std::string(name) +
                                  "'; close to it: fence_test"));
    }
    CHECK(stage.run("test", "q").wait().err == "./run: there is no test program or file 'q'\n");
  }
}
