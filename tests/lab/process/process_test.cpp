#include "lab/process/process.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "lab/process/temporary_folder.hpp"
#include "support/skip.hpp"

using namespace seriatim::lab;
using std::chrono::milliseconds;

namespace {

constexpr Account nobody{65534, 65534};

/// The letter of /proc/PID/stat: T when stopped.
char state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.at(text.rfind(')') + 2);
}

/// Sleeps, and was started by a thread that is no more.
std::unique_ptr<Process> orphan(const Process::Options& options) {
  std::unique_ptr<Process> process;
  std::thread([&] {
    process = std::make_unique<Process>(
        std::vector<std::string>{"sh", "-c", "echo ready; exec sleep 60"}, options);
    process->wait_for_output("ready");
  }).join();
  return process;
}

}  // namespace

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

TEST_CASE("a signal's end is reported as a shell reports it") {
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

TEST_CASE("stdout and stderr go to the end of one file, which others cannot read") {
  const TemporaryFolder folder;
  Process::Options options;
  options.out_file = folder.path() / "log";
  options.err_with_out = true;
  for (int i = 0; i < 2; ++i) run({"sh", "-c", "echo one; echo two >&2"}, options);
  std::ifstream log(options.out_file);
  CHECK(std::string(std::istreambuf_iterator<char>(log), {}) == "one\ntwo\none\ntwo\n");
  CHECK((std::filesystem::status(options.out_file).permissions() &
         std::filesystem::perms::others_all) == std::filesystem::perms::none);
  options.out_file = folder.path() / "none/log";
  CHECK_THROWS_WITH_AS(run({"true"}, options), doctest::Contains("none/log"), std::runtime_error);
}

TEST_CASE("one who talks with a program writes and takes whole lines") {
  Process process({"cat"}, {.input_open = true});
  process.write("one\ntwo\nthr");
  CHECK(process.next_line() == "one");
  CHECK(process.next_line() == "two");
  CHECK_FALSE(process.next_line(milliseconds{20}));
  process.write("ee\n" + std::string(3 << 20, 'x') + "\nrest");
  CHECK(process.next_line() == "three");
  CHECK(process.next_line()->size() == 3 << 20);
  CHECK(process.runs());
  process.end_input();
  CHECK_FALSE(process.next_line());
  CHECK(process.wait().out == "rest");
  process.write("nobody reads this\n");
}

TEST_CASE("a program's streams are in place if this one was started without some") {
  const int in = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  const auto ended = run({"sh", "-c", "cat && echo read"});
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  CHECK(ended.out == "read\n");
  CHECK(ended.code == 0);
}

TEST_CASE("a program is in this one's group, or leads a group or a session") {
  const auto started = [](Process::Group group) {
    Process::Options options;
    options.input_open = true;
    options.group = group;
    auto process =
        std::make_unique<Process>(std::vector<std::string>{"sh", "-c", "echo up; read x"}, options);
    process->wait_for_output("up");
    return process;
  };
  const auto same = started(Process::Group::same);
  CHECK(::getpgid(same->pid()) == ::getpgid(0));
  const auto own = started(Process::Group::own);
  CHECK(::getpgid(own->pid()) == own->pid());
  CHECK(::getsid(own->pid()) == ::getsid(0));
  const auto session = started(Process::Group::own_session);
  CHECK(::getsid(session->pid()) == session->pid());
}

TEST_CASE("a program runs as another account, with none of our groups") {
  if (::geteuid() != 0) SKIP_TEST("only root can start a program as another account");
  CHECK(run({"sh", "-c", "id -u; id -g; id -G"}, {.account = nobody}).out ==
        "65534\n65534\n65534\n");
}

TEST_CASE("a program ends with the thread that started it, if that was asked") {
  CHECK(orphan({.death_signal = SIGTERM})->wait().code == 128 + SIGTERM);
  CHECK(orphan({})->runs());
}

TEST_CASE("a program of another account ends with the thread that started it") {
  if (::geteuid() != 0) SKIP_TEST("only root can start a program as another account");
  CHECK(orphan({.account = nobody, .death_signal = SIGTERM})->wait().code == 128 + SIGTERM);
}

TEST_CASE("a frozen program is stopped until it goes on") {
  Process process({"sh", "-c", "echo ready; read x; echo gone on"}, {.input_open = true});
  process.wait_for_output("ready");
  process.freeze();
  process.freeze();  // the kernel reports one stop, and this one must not wait for another
  CHECK(state_of(process.pid()) == 'T');
  CHECK(process.runs());
  process.write("x\n");
  process.signal(SIGCONT);
  CHECK(process.wait().out == "ready\ngone on\n");
  CHECK_THROWS_AS(process.freeze(), std::runtime_error);
}

TEST_CASE("a program that ends while it is to freeze has its end noted") {
  Process process({"sh", "-c", "exit 3"});
  while (state_of(process.pid()) != 'Z') std::this_thread::yield();
  CHECK_THROWS_WITH_AS(process.freeze(), doctest::Contains("ended with 3"), std::runtime_error);
  CHECK(process.wait().code == 3);
}

TEST_CASE("a program is asked to stop, also a frozen one, and killed if it does not") {
  const std::string sleep = "echo ready; while :; do sleep 0.01; done";
  Process polite({"sh", "-c", "trap 'echo bye; exit 4' TERM; " + sleep});
  polite.wait_for_output("ready");
  polite.freeze();
  const auto ended = polite.stop();
  CHECK(ended.code == 4);
  CHECK(ended.out == "ready\nbye\n");
  Process deaf({"sh", "-c", "trap '' TERM; " + sleep});
  deaf.wait_for_output("ready");
  CHECK(deaf.stop(milliseconds{20}).code == 128 + SIGKILL);
}

TEST_CASE("a program that is not there says so") {
  const auto ended = run({"/no/such/program"});
  CHECK(ended.code == 127);
  CHECK(ended.err == "cannot execute the program\n");
}
