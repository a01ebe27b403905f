// A kind of handler is one folder: CMake finds it, or says why it is left out. Lists name it.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/process.hpp"

using namespace seriatim::testing;
namespace fs = std::filesystem;

namespace {

const fs::path root = SERIATIM_SOURCE_DIR;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

const fs::path courier = root / "tests/examples/courier";

/// This house with a handlers/ of its own, configured, nothing built.
struct Copy {
  Copy() {
    for (const auto& entry : fs::directory_iterator(root)) {
      const auto name = entry.path().filename();
      if (name == "handlers" || name == "build" || name == ".git") continue;
      fs::create_symlink(entry.path(), folder.path() / name);
    }
    fs::copy(root / "handlers", handlers, fs::copy_options::recursive);
  }
  /// Without the program and the tests, or as the preset `dev` does it.
  Ended configure(bool whole, const std::map<std::string, std::string>& environment = {}) const {
    Process::Options options;
    options.environment = environment;
    const std::string on = whole ? "ON" : "OFF";
    return Process({SERIATIM_CMAKE, "-S", folder.path().string(), "-B", build.string(), "-G",
                    "Ninja", "-DSERIATIM_BUILD_TESTS=" + on, "-DSERIATIM_BUILD_APP=" + on},
                   options)
        .wait(std::chrono::minutes{5});
  }
  [[nodiscard]] std::string registry() const {
    return text_of(build / "generated" / "all_handlers.cpp");
  }

  TemporaryFolder folder;
  fs::path handlers = folder.path() / "handlers";
  fs::path build = folder.path() / "build";
};

}  // namespace

TEST_CASE("the example, copied to handlers/, is a kind of its own; no other file is touched") {
  const Copy copy;
  fs::copy(courier, copy.handlers / "courier",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const auto ended = copy.configure(true);
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(copy.registry().find("register_courier(registry);") != std::string::npos);
  CHECK(copy.registry().find("register_log(registry);") != std::string::npos);
  const auto rules = text_of(copy.build / "build.ninja");
  CHECK(rules.find("build handlers/courier/handler_courier_test:") != std::string::npos);
  CHECK(rules.find("tests/examples/courier/") == std::string::npos);
}

TEST_CASE("handlers/README.md shows the example word for word; it has 300 lines with its test") {
  const auto readme = text_of(root / "handlers/README.md");
  for (const auto* file : {"CMakeLists.txt", "courier_handler.cpp"}) {
    CAPTURE(file);
    const auto* language = fs::path(file).extension() == ".cpp" ? "cpp" : "cmake";
    CHECK(readme.find(std::string("```") + language + '\n' + text_of(courier / file) + "```\n") !=
          std::string::npos);
  }
  std::ptrdiff_t lines = 0;
  for (const auto& entry : fs::directory_iterator(courier)) {
    const auto text = text_of(entry.path());
    lines += std::count(text.begin(), text.end(), '\n');
  }
  CHECK(lines <= 300);
}

TEST_CASE("handlers/README.md shows a registration word for word") {
  const auto source = text_of(root / "handlers/log/log_handler.cpp");
  const auto begin = source.find("void register_log(");
  const auto end = source.find("\n}\n", begin);
  REQUIRE(end != std::string::npos);
  const auto shown = "```cpp\n" + source.substr(begin, end + 3 - begin) + "```\n";
  CHECK(text_of(root / "handlers/README.md").find(shown) != std::string::npos);
}

TEST_CASE("the lists of kinds name every folder of handlers/") {
  for (const auto& folder : fs::directory_iterator(root / "handlers")) {
    const auto kind = folder.path().filename().string();
    if (!folder.is_directory() || kind == "support") continue;
    CAPTURE(kind);
    const auto page = kind + "/README.md)";
    for (const std::string list : {"README.md", "handlers/README.md", "docs/configuration.md"}) {
      CAPTURE(list);
      CHECK(text_of(root / list).find(page) != std::string::npos);
    }
  }
}

TEST_CASE("a kind whose library is missing is left out, and the package is named") {
  const Copy copy;
  // pkg-config as it is where libhiredis-dev was not installed.
  const auto pkg_config = copy.folder.path() / "pkg-config";
  std::ofstream(pkg_config) << "#!/bin/sh\ncase \"$*\" in *hiredis*) exit 1 ;; esac\n"
                               "exec /usr/bin/pkg-config \"$@\"\n";
  fs::permissions(pkg_config, fs::perms::owner_all);
  const auto ended = copy.configure(false, {{"PKG_CONFIG", pkg_config.string()}});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.out.find("Handler redis: left out, libhiredis-dev was not found") !=
        std::string::npos);
  CHECK(copy.registry().find("register_redis(") == std::string::npos);
  CHECK(copy.registry().find("leave_out(\"redis\", \"libhiredis-dev\")") != std::string::npos);
}
