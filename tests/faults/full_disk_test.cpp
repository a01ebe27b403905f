// Promise P8: a server whose disk is full holds up the lane; within seconds it is named, and the
// lane goes on by itself once there is room.
#include <doctest/doctest.h>
#include <sys/mount.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fstream>

#include "cli/stage.hpp"
#include "embedded/embedded_server.hpp"
#include "seriatim/postgres.hpp"
#include "support/relay_program.hpp"
#include "support/skip.hpp"

using namespace seriatim;
using namespace seriatim::testing;
using namespace std::chrono_literals;

namespace {

/// A small file system of its own, in memory.
class SmallVolume {
 public:
  explicit SmallVolume(std::filesystem::path place) : place_(std::move(place)) {
    std::filesystem::create_directories(place_);
    mounted = ::mount("tmpfs", place_.c_str(), "tmpfs", 0, "size=200m,mode=755") == 0;
  }
  ~SmallVolume() {
    if (mounted) ::umount2(place_.c_str(), MNT_DETACH);
  }
  SmallVolume(const SmallVolume&) = delete;
  SmallVolume& operator=(const SmallVolume&) = delete;

  void fill() const {
    std::ofstream ballast(place_ / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (ballast.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  void make_room() const { std::filesystem::remove(place_ / "ballast"); }

  bool mounted = false;

 private:
  std::filesystem::path place_;
};

}  // namespace

TEST_SUITE("full disk") {
  TEST_CASE(
      "a full disk of the server is named within five seconds, and the lane goes on after it") {
    TemporaryFolder folder{"full"};
    const SmallVolume volume(folder.path() / "volume");
    if (!volume.mounted) SKIP_TEST("this account may mount nothing");
    embedded::EmbeddedServer server({folder.path() / "volume" / "postgres", {"fsync=off"}, {}, {}});
    install_schema(server.url());
    SqlSession(server.url())
        .run("SELECT seriatim.append('booking', 'b', 'booked', '{}') FROM generate_series(1, 3)");
    const auto log = folder.path() / "delivered.jsonl";
    const auto toml = database_section(server.url()) +
                      Stage::process("kind = \"log\"\nfile = \"" + log.string() + "\"");
    std::ofstream(folder.path() / "seriatim.toml") << toml;
    Process::Options options;
    options.folder = folder.path();
    options.without_environment = {"DATABASE_URL", "SERIATIM_CONFIG"};
    const auto lane = [&] {
      const auto ended = run(Stage::command({"status", "--json"}), options);
      CAPTURE(ended.err);
      return boost::json::parse(ended.out).at("lanes").at(0);
    };
    const auto waits_for = [&](const char* cause) {
      const auto now = lane();
      return now.at("wait").is_object() && now.at("wait").at("cause").as_string() == cause;
    };

    CHECK_FALSE(waits_for("disk_full"));  // nobody holds the lane, and there is room
    volume.fill();
    RelayProgram relay(folder, "relay", toml);
    wait_until(
        "status names the full disk", [&] { return waits_for("disk_full"); }, 5s);
    CHECK(contains(run(Stage::command({"status"}), options).out, "No space left on device"));
    CAPTURE(relay.log());
    volume.make_room();
    wait_until("all rows are delivered", [&] {
      std::ifstream in(log);
      return std::count(std::istreambuf_iterator<char>(in), {}, '\n') == 3;
    });
    wait_until("the full disk is forgotten", [&] { return !waits_for("disk_full"); });
    CHECK(relay.stop().code == 0);
  }
}
