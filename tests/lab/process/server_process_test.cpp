#include "lab/process/server_process.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "lab/process/free_port.hpp"

using namespace seriatim::lab;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

namespace {

/// A shell that says `ready` when it is.
class Sample final : public ServerProcess {
 public:
  explicit Sample(std::string script, const fs::path& folder = {})
      : ServerProcess({.name = "the sample", .folder = folder}), script_(std::move(script)) {
    make_folder(file("data"));
  }
  /// From now on; a first start takes what a busy machine makes it take.
  void be_impatient() { options_.patience = milliseconds{100}; }
  using ServerProcess::end;
  using ServerProcess::pid;
  int ends = 0;

 private:
  [[nodiscard]] std::vector<std::string> command() const override {
    return {"sh", "-c", "cd " + file("data").string() + "; " + script_};
  }
  bool answers() override { return says("ready"); }
  void ended() override { ++ends; }

  std::string script_;
};

const std::string serves = "echo start >> starts; echo ready; exec sleep 60";

int starts_of(const Sample& server) {
  std::ifstream in(server.file("data") / "starts");
  int starts = 0;
  for (std::string line; std::getline(in, line);) ++starts;
  return starts;
}

char state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.empty() ? 'X' : text.at(text.rfind(')') + 2);
}

}  // namespace

TEST_CASE("a server is stopped and killed and started again, where it was and with what it had") {
  Sample server(serves);
  CHECK_FALSE(server.runs());
  server.start();
  const int port = server.port();
  server.start();  // runs already
  CHECK(starts_of(server) == 1);
  server.stop();
  CHECK_FALSE(server.runs());
  server.start();
  server.kill();
  server.kill();  // ended already
  CHECK(server.ends == 2);
  server.start();
  CHECK(server.runs());
  CHECK(server.port() == port);
  CHECK(starts_of(server) == 3);
  CHECK(server.log() == "ready\nready\nready\n");
}

TEST_CASE("a start returns once the server answers, not because it did before") {
  Sample server("echo start >> starts; test -e silent || echo ready; exec sleep 60");
  server.start();
  server.stop();
  server.be_impatient();
  std::ofstream(server.file("data") / "silent") << "x";
  CHECK_THROWS_WITH_AS(server.start(), doctest::Contains("does not answer"), std::runtime_error);
}

TEST_CASE("a server that ends at once shows the end of its log") {
  Sample server("i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i; done; exit 1");
  try {
    server.start();
    FAIL("it started");
  } catch (const std::runtime_error& failed) {
    const std::string what = failed.what();
    CHECK(what.find("the sample ended at once") == 0);
    CHECK(what.find("\nline 16\n") != std::string::npos);
    CHECK(what.find("\nline 30") != std::string::npos);
    CHECK(what.find("\nline 15\n") == std::string::npos);
  }
}

TEST_CASE("a server that ended by itself can be started again") {
  Sample server(
      "echo start >> starts; echo ready; test $(wc -l < starts) -gt 1 && exec sleep 60;"
      " until test -e again; do sleep 0.01; done");
  server.start();
  std::ofstream(server.file("data") / "again") << "x";
  wait_until("it has ended", [&] { return state_of(server.pid()) == 'Z'; });
  server.start();
  CHECK(starts_of(server) == 2);
  CHECK(state_of(server.pid()) != 'Z');
}

TEST_CASE("a frozen server is stopped, can be thawed and can be stopped") {
  Sample server(serves);
  server.start();
  server.freeze();
  CHECK(state_of(server.pid()) == 'T');
  server.thaw();
  wait_until("it goes on", [&] { return state_of(server.pid()) != 'T'; });
  server.freeze();
  CHECK(server.end(SIGTERM));
  CHECK_THROWS_AS(server.freeze(), std::runtime_error);
}

TEST_CASE("a server deaf to a stop is killed with all its processes") {
  Sample server("trap '' TERM; sleep 60 & echo $!; echo ready; while :; do wait; done");
  server.start();
  server.be_impatient();
  const auto helper = static_cast<pid_t>(std::stol(server.log()));
  wait_until("its helper sleeps", [&] { return state_of(helper) == 'S'; });
  CHECK_FALSE(server.end(SIGTERM));
  wait_until("its helper has ended", [&] {
    const char state = state_of(helper);
    return state == 'X' || state == 'Z';
  });
}

TEST_CASE("a server's own folder goes with it, one that was given stays") {
  const TemporaryFolder given;
  std::optional<Sample> server(std::in_place, serves);
  server->start();
  const auto own = server->file("");
  CHECK(fs::exists(own));
  server.reset();
  CHECK_FALSE(fs::exists(own));
  server.emplace(serves, given.path() / "server");
  server->start();
  server.reset();
  CHECK(fs::exists(given.path() / "server" / "data" / "starts"));
}

TEST_CASE("a folder is kept if that was asked and something is in it") {
  std::optional<TemporaryFolder> folder(std::in_place, "kept");
  const auto path = folder->path();
  CHECK(path.filename().string().rfind("seriatim-kept-", 0) == 0);
  folder->keep(true);
  folder.reset();
  CHECK_FALSE(fs::exists(path));
  folder.emplace();
  const auto full = folder->path();
  std::ofstream(full / "file") << "x";
  folder->keep(true);
  folder.reset();
  CHECK(fs::remove_all(full) == 2);
}

TEST_CASE("a port is given once") {
  std::set<int> ports;
  for (int i = 0; i < 20; ++i) ports.insert(free_port());
  CHECK(ports.size() == 20);
}
