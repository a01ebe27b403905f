// `seriatim top` on a real terminal: tmux holds it, types the keys and shows the screen.
#include <doctest/doctest.h>

#include "cli/stage.hpp"
#include "support/skip.hpp"

using namespace seriatim::lab;
using namespace seriatim::testing;

namespace {

/// A window in a tmux server of its own, which ends with it.
class Window {
 public:
  Window(const Stage& stage, const std::string& arguments) : socket_(stage.folder.path() / "tmux") {
    std::string command = "cd '" + stage.folder.path().string() + "' && LC_ALL=C.UTF-8 NO_COLOR=1 ";
    for (const auto& word : Stage::command({})) command += "'" + word + "' ";
    tmux({"-u", "new-session", "-d", "-x", "150", "-y", "30", command + "top " + arguments});
  }
  ~Window() { tmux({"kill-server"}); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::string screen() { return tmux({"capture-pane", "-p"}).out; }
  void press(const std::string& key) { tmux({"send-keys", key}); }
  void type(const std::string& text) { tmux({"send-keys", "-l", text}); }
  void wait_for(const std::string& text) {
    INFO("the screen was\n", screen());
    wait_until("the screen shows \"" + text + "\"", [&] { return contains(screen(), text); });
  }
  void wait_for_end() {
    wait_until("the program has ended", [&] { return tmux({"has-session"}).code != 0; });
  }

 private:
  Ended tmux(std::vector<std::string> words) {
    std::vector<std::string> command{"tmux", "-S", socket_.string()};
    command.insert(command.end(), words.begin(), words.end());
    return run(command, {});
  }

  std::filesystem::path socket_;
};

}  // namespace

TEST_SUITE("top") {
  TEST_CASE("it shows the lanes, their rows and the journal, acts if asked to, and ends at q") {
    if (const auto why = why_missing("/usr/bin/tmux", "tmux"); !why.empty()) SKIP_TEST(why);
    Stage stage;
    stage.append();
    REQUIRE(stage.seriatim({"run", "--drain"}).code == 0);
    stage.append();
    Window window(stage, "--act --who alice");
    window.wait_for("1 of 1 lane is stopped; 1 row waits");  // every relay is dead
    window.wait_for("nobody holds it");
    window.press("Enter");
    window.wait_for("rows that wait of p");
    window.press("J");
    window.wait_for("journal of p");
    window.wait_for("claim lane 0");
    window.press("Escape");
    window.press("z");
    window.wait_for("pause process p? y/n");
    window.press("y");
    window.wait_for("paused");
    CHECK(stage.database.value(
              "SELECT who FROM seriatim.journal WHERE act = 'pause' ORDER BY id DESC LIMIT 1") ==
          "alice");
    window.press("f");
    window.type("nothing");
    window.wait_for("filter: nothing_");
    window.press("Escape");
    window.wait_for("q quit");
    window.press("q");
    window.wait_for_end();
  }

  TEST_CASE("without a terminal it says what to use instead") {
    Stage stage;
    const auto ended = stage.seriatim({"top"});
    CHECK(ended.code == 1);
    CHECK(contains(ended.err, "seriatim status --watch"));
    CHECK(stage.seriatim({"top", "--json"}).code == 2);
  }
}
