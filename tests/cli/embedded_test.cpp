// `url = "embedded"`: one private server, shared by the commands that run, gone with the last.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/stage.hpp"

using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

class EmbeddedStage {
 public:
  EmbeddedStage() {
    std::ofstream(folder.path() / "seriatim.toml")
        << "[database]\nurl = \"embedded\"\n"
        << Stage::process("kind = \"log\"\nfile = \"" + log.string() + "\"");
  }
  ~EmbeddedStage() {
    wait_until("the server is gone", [&] { return !server_runs(); });
  }

  [[nodiscard]] Process::Options options() const {
    Process::Options result;
    result.folder = folder.path();
    return result;
  }
  [[nodiscard]] Ended seriatim(std::vector<std::string> arguments) const {
    return run(Stage::command(std::move(arguments)), options());
  }
  [[nodiscard]] Ended append() const {
    return seriatim({"append", "--type", "t", "--aggregate-type", "a", "--aggregate-id", "1",
                     "--payload", "{}"});
  }
  /// Its keeper holds keeper.lock as long as it lives.
  [[nodiscard]] bool server_runs() const {
    const int fd = ::open((folder.path() / ".seriatim/keeper.lock").c_str(), O_RDWR);
    const bool runs = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (fd >= 0) ::close(fd);
    return runs;
  }

  TemporaryFolder folder;
  std::filesystem::path log = folder.path() / "delivered.jsonl";
};

}  // namespace

TEST_SUITE("embedded") {
  TEST_CASE("each command starts the server it needs, and what it wrote is there for the next") {
    const EmbeddedStage stage;
    CHECK(stage.seriatim({"init"}).code == 0);
    CHECK(stage.append().out == "1\n");
    CHECK(stage.seriatim({"run", "--drain"}).code == 0);
    CHECK(std::filesystem::file_size(stage.log) > 0);
  }

  TEST_CASE("commands at the same time share one server") {
    const EmbeddedStage stage;
    REQUIRE(stage.seriatim({"init"}).code == 0);
    std::vector<std::unique_ptr<Process>> several;
    for (int i = 0; i < 5; ++i) {
      several.push_back(std::make_unique<Process>(Stage::command({"init"}), stage.options()));
    }
    for (auto& one : several) CHECK(one->wait().code == 0);
  }

  TEST_CASE("a short command next to a long one neither takes the server away nor waits for it") {
    const EmbeddedStage stage;
    REQUIRE(stage.seriatim({"init"}).code == 0);
    Process relay(Stage::command({"run"}), stage.options());
    relay.wait_for_errors("p/0 idle");
    CHECK(stage.append().code == 0);
    CHECK(stage.append().code == 0);
    wait_until("both rows are delivered", [&] {
      std::ifstream in(stage.log);
      std::string one;
      std::string two;
      return std::getline(in, one) && std::getline(in, two);
    });
    CHECK(stage.server_runs());
    relay.signal(15);
    const auto ended = relay.wait();
    CHECK(ended.code == 0);
    CAPTURE(ended.err);
    CHECK_FALSE(contains(ended.err, "warn"));  // its connection was never lost
  }

  TEST_CASE("the server is gone after kill -9 of the last command") {
    const EmbeddedStage stage;
    REQUIRE(stage.seriatim({"init"}).code == 0);
    Process relay(Stage::command({"run"}), stage.options());
    relay.wait_for_errors("p/0 idle");
    relay.signal(9);
    CHECK(relay.wait().code == 128 + 9);
    wait_until("the server is gone", [&] { return !stage.server_runs(); });
  }
}
