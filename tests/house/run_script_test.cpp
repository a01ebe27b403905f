// `./run`: what it leaves when a signal ends it in the midst of a build. The build itself is
// played.
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

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

  /// What the tests write to ctest's log, and how ctest ends.
  void play_tests(const std::string& log, int code) const {
    const auto folder = folder_.path() / "build/dev/Testing/Temporary";
    fs::create_directories(folder);
    std::ofstream(folder / "LastTest.log") << log;
    write_program(folder_.path() / "bin/ctest",
                  "echo ctest says what it says\nexit " + std::to_string(code) + "\n");
  }
  [[nodiscard]] Process run(const std::string& verb) const {
    Process::Options options;
    options.environment = {{"PATH", (folder_.path() / "bin").string() + ":" + std::getenv("PATH")},
                           {"TMPDIR", temporary().string()}};
    return Process({(folder_.path() / "run").string(), verb}, options);
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
    stage.play_tests("1/1 Test: one_test\nfine\n", 0);
    CHECK(stage.run("test").wait().out == "ctest says what it says\n");
  }
}
