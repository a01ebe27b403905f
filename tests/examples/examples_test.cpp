// The README's example is this program's; installed, it is built by a project that knows nothing
// but find_package(seriatim).
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "support/postgres_fixture.hpp"
#include "support/process.hpp"

using namespace seriatim::testing;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string greetings(TestDatabase& database, const std::string& program) {
  database.run(
      "CREATE TABLE greetings (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
      " payload text, created_at timestamptz NOT NULL DEFAULT clock_timestamp());"
      "INSERT INTO greetings (payload) VALUES ('hello'), ('world')");
  Process::Options options;
  options.environment["DATABASE_URL"] = database.url();
  const auto ended = run({program}, options);
  CHECK_MESSAGE(ended.code == 0, ended.err);
  return ended.out;
}

}  // namespace

TEST_SUITE("examples") {
  TEST_CASE("the README quotes the example word for word, in at most 25 lines") {
    const auto example = text_of(fs::path(SERIATIM_SOURCE_DIR) / "examples/greeter.cpp");
    const auto readme = text_of(fs::path(SERIATIM_SOURCE_DIR) / "README.md");
    CHECK(readme.find("```cpp\n" + example + "```") != std::string::npos);
    CHECK(std::count(example.begin(), example.end(), '\n') <= 25);
  }

  TEST_CASE("the README's example delivers") {
    TestDatabase database;
    CHECK(greetings(database, GREETER_EXAMPLE) == "1 hello\n2 world\n");
  }

  TEST_CASE("installed, a project of its own finds and links it") {
    const TemporaryFolder folder;
    const auto prefix = (folder.path() / "prefix").string();
    const auto project = folder.path() / "project";
    fs::create_directory(project);
    fs::copy_file(fs::path(SERIATIM_SOURCE_DIR) / "examples/greeter.cpp", project / "main.cpp");
    std::ofstream(project / "CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)\n"
           "set(CMAKE_CXX_STANDARD 20)\nfind_package(seriatim REQUIRED)\n"
           "add_executable(user main.cpp)\ntarget_link_libraries(user PRIVATE "
           "seriatim::seriatim)\n";
    const auto succeed = [](const std::vector<std::string>& command) {
      const auto ended = run(command);
      REQUIRE_MESSAGE(ended.code == 0, command[1], ": ", ended.out, ended.err);
    };
    const auto build = (folder.path() / "build").string();
    succeed({"cmake", "--install", SERIATIM_BINARY_DIR, "--prefix", prefix});
    succeed({"cmake", "-G", "Ninja", "-S", project.string(), "-B", build,
             "-DCMAKE_PREFIX_PATH=" + prefix,
             std::string("-DCMAKE_CXX_FLAGS=") + SERIATIM_CXX_FLAGS});
    succeed({"cmake", "--build", build});
    TestDatabase database;
    CHECK(greetings(database, build + "/user") == "1 hello\n2 world\n");
    CHECK(fs::exists(prefix + "/bin/seriatim"));
  }
}
