#include "support/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>

using namespace seriatim::testing;
using std::chrono::milliseconds;

TEST_CASE("a program's code, stdout and stderr are kept apart") {
  const auto ended = run({"sh", "-c", "echo one; echo two >&2; exit 3"});
  CHECK(ended.code == 3);
  CHECK(ended.out == "one\n");
  CHECK(ended.err == "two\n");
}

TEST_CASE("a program reads its input to the end") {
  const std::string input(3 << 20, 'x');
  CHECK(run({"wc", "-c"}, {.input = input}).out == std::to_string(input.size()) + "\n");
}

TEST_CASE("a program that ends without reading its input does no harm") {
  CHECK(run({"true"}, {.input = std::string(3 << 20, 'x')}).code == 0);
}

TEST_CASE("a signal's end is told as a shell tells it") {
  Process process({"sh", "-c", "echo ready; exec sleep 60"});
  process.wait_for_output("ready");
  CHECK_FALSE(process.wait_at_most(milliseconds{20}));
  process.signal(SIGTERM);
  CHECK(process.wait().code == 128 + SIGTERM);
}

TEST_CASE("waiting in vain says what the program had written") {
  Process process({"sh", "-c", "echo something else; exec sleep 60"});
  process.wait_for_output("something");
  CHECK_THROWS_WITH_AS(process.wait_for_output("ready", milliseconds{20}),
                       doctest::Contains("something else"), std::runtime_error);
}

TEST_CASE("environment, folder and file limit reach the program") {
  Process::Options options;
  options.environment = {{"GREETING", "hi"}};
  options.without_environment = {"HOME"};
  options.folder = "/";
  options.files_max = 16;
  CHECK(run({"sh", "-c", "echo $GREETING ${HOME-unset} $(pwd) $(ulimit -n)"}, options).out ==
        "hi unset / 16\n");
}

TEST_CASE("a full disk and a closed stdout are as the program would find them") {
  CHECK(run({"sh", "-c", "echo lost"}, {.out_file = "/dev/full"}).code != 0);
  CHECK(run({"sh", "-c", "echo lost"}, {.out_closed = true}).code != 0);
}
