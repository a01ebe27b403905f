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

  [[nodiscard]] Process run_demo() const {
    Process::Options options;
    options.environment = {{"PATH", (folder_.path() / "bin").string() + ":" + std::getenv("PATH")},
                           {"TMPDIR", temporary().string()}};
    return Process({(folder_.path() / "run").string(), "demo"}, options);
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
        auto script = stage.run_demo();
        wait_until("the build goes on", [&] { return fs::exists(stage.started()); });
        script.signal(number);
        CHECK(script.wait().code == 128 + number);
        wait_until("nothing of the build runs", [] { return ::waitpid(-1, nullptr, WNOHANG) < 0; });
        CHECK(fs::is_empty(stage.temporary()));
        CHECK_FALSE(fs::exists("/tmp/seriatim-configure." + std::to_string(script.pid())));
      }
    }
  }
}
