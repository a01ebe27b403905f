// The exec handler and programs that do as they should, or nearly.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "exec/exec_stage.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* obedient = "while IFS= read -r line; do echo \"$line\" >>out; ok; done";

ExecHandlerConfig script(const std::string& text) {
  return ExecStage::script(text);
}
std::vector<Record> rows(std::size_t count, const std::string& payload = "{}") {
  return ExecStage::rows(count, payload);
}

bool all_done(const BatchOutcome& outcome, std::size_t count) {
  if (outcome.next) MESSAGE(outcome.next->reason);
  return outcome.done == count && !outcome.next;
}

/// After `done` rows, and its reason holds `text`.
bool ends(const BatchOutcome& outcome, std::size_t done, Kind kind, const std::string& text) {
  if (!outcome.next) return false;
  CAPTURE(outcome.done);
  CAPTURE(to_string(outcome.next->kind));
  CAPTURE(outcome.next->reason);
  CHECK(outcome.done == done);
  CHECK(to_string(outcome.next->kind) == std::string(to_string(kind)));
  CHECK(outcome.next->reason.find(text) != std::string::npos);
  return outcome.done == done && outcome.next->kind == kind &&
         outcome.next->reason.find(text) != std::string::npos;
}

std::size_t open_descriptors() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Takes a standard stream away, its number too, and puts it back at the end.
class Closed {
 public:
  explicit Closed(int fd) : fd_(fd), saved_(::fcntl(fd, F_DUPFD, 10)) { ::close(fd); }
  ~Closed() {
    ::dup2(saved_, fd_);
    ::close(saved_);
  }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  int fd_;
  int saved_;
};

}  // namespace

TEST_SUITE("a program that does as it should") {
  TEST_CASE("the rendering of a row is the program, its variables and its line; it starts none") {
    auto config = script("env | sort >variables; " + std::string(obedient));
    config.environment = {{"API_KEY", "canary"}};
    ExecStage stage(config);
    const auto row = rows(1).front();
    const auto shown = stage.render(row);
    CHECK(stage.text("variables").empty());
    REQUIRE(all_done(stage.deliver({row}), 1));
    CHECK(*shown.body + '\n' == stage.text());
    CHECK(shown.envelope.front().second.starts_with("[\"/bin/sh\", \"-c\", \"answer() "));
    CHECK(std::find(shown.headers.begin(), shown.headers.end(), Header{"API_KEY", masked}) !=
          shown.headers.end());
    for (const auto& [name, value] : shown.headers) {
      if (name != "API_KEY")
        CHECK(stage.text("variables").find(name + '=' + value) != std::string::npos);
    }
  }

  TEST_CASE("a record is a line, and done when it is answered") {
    ExecStage stage(script(obedient));
    REQUIRE(all_done(stage.deliver(rows(2)), 2));
    CHECK(stage.text() ==
          R"({"process":"bookings","lane":2,"sequence":1,"id":"row-1","previous_id":"4710",)"
          R"("epoch":3,"attempt":1,"created_at":"2023-11-14T22:13:20.123456Z",)"
          R"("key":"customer-7","event_type":"booking.created","payload":{}})"
          "\n"
          R"({"process":"bookings","lane":2,"sequence":2,"id":"row-2","previous_id":"4710",)"
          R"("epoch":3,"attempt":1,"created_at":"2023-11-14T22:13:20.123456Z",)"
          R"("key":"customer-7","event_type":"booking.created","payload":{}})"
          "\n");
  }

  TEST_CASE("one program serves all calls") {
    ExecStage stage(script("echo began >>starts; " + std::string(obedient)));
    for (int call = 0; call < 5; ++call) REQUIRE(all_done(stage.deliver(rows(3)), 3));
    CHECK(stage.lines() == 15);
    CHECK(stage.lines("starts") == 1);
  }

  TEST_CASE("the next line is not written before the answer, unless in batches") {
    const char* gathers =
        "read -r line; first=$line; read -r line && echo more >>out; "
        "line=$first; ok; while :; do read -r line || exit; done";
    ExecStage one(script(gathers));
    CHECK(ends(one.deliver(rows(2), 400ms), 0, Kind::unknown, "did not answer in time"));
    CHECK(one.text() == "");
    ExecStage ahead(ExecStage::batches(script(gathers)));
    CHECK(ahead.deliver(rows(2), 400ms).done == 1);
    CHECK(ahead.text() == "more\n");
  }

  TEST_CASE("answers other than done go on to the lane") {
    ExecStage stage(
        script("while read -r line; do case $line in"
               " *row-1*) answer '\"outcome\":\"retry\",\"reason\":\"busy\",\"after\":5' ;;"
               " *row-2*) answer '\"outcome\":\"poison\",\"reason\":\"no such number\"' ;;"
               " *row-3*) answer '\"outcome\":\"unknown\"' ;;"
               " *) ok ;; esac; done"));
    auto all = rows(4);
    const auto busy = stage.deliver({all[0]});
    CHECK(ends(busy, 0, Kind::retry_later, "busy"));
    CHECK(busy.next->retry_after == 5s);
    CHECK(ends(stage.deliver({all[3], all[1]}), 1, Kind::poison, "no such number"));
    CHECK(ends(stage.deliver({all[2]}), 0, Kind::unknown, "gave no reason"));
  }

  TEST_CASE("a large record goes through a small pipe, and so does its echo on standard error") {
    ExecStage stage(script("while IFS= read -r line; do echo \"$line\" >&2; ok; done"));
    CHECK(all_done(stage.deliver(rows(1, '"' + std::string(500'000, 'x') + '"')), 1));
  }

  TEST_CASE("in batches `rest` counts down to the last line of a group") {
    auto config = ExecStage::batches(
        script("while IFS= read -r line; do echo \"${line##*,}\" >>out; ok; done"), 3);
    ExecStage stage(std::move(config));
    CHECK(all_done(stage.deliver(rows(8)), 8));
    std::string counts;
    for (const int rest : {2, 1, 0, 2, 1, 0, 1, 0}) {
      counts += "\"rest\":" + std::to_string(rest) + "}\n";
    }
    CHECK(stage.text() == counts);
  }

  TEST_CASE("a group is answered when it is whole, also where a stop is asked meanwhile") {
    ExecStage stage(ExecStage::batches(
        script("all=; while IFS= read -r line; do all=\"$all $line\";"
               " case $line in *'\"rest\":0}') for line in $all; do ok; done; all= ;; esac; done"),
        10));
    std::stop_source stop;
    stop.request_stop();
    auto context = call_within(10s);
    context.stop = stop.get_token();
    CHECK(all_done(stage.deliver(rows(25), context), 10));
  }

  TEST_CASE("one that ends with 0 after each record is started anew, without a failure") {
    ExecStage stage(script("read -r line && echo once >>out && ok"));
    const auto all = rows(5);
    for (std::size_t at = 0; at < all.size();) {
      const auto outcome =
          stage.deliver({all.begin() + static_cast<std::ptrdiff_t>(at), all.end()});
      REQUIRE(!outcome.next);
      REQUIRE(outcome.done > 0);
      at += outcome.done;
    }
    CHECK(stage.lines() == 5);
  }

  TEST_CASE("at the end its input is closed, and it is waited for") {
    auto config = script(std::string(obedient) + "; echo farewell >>out");
    config.stop_grace = 10s;
    ExecStage stage(std::move(config));
    CHECK(all_done(stage.deliver(rows(1)), 1));
    stage.end();
    CHECK(stage.text().ends_with("farewell\n"));
  }

  TEST_CASE("it has no descriptors, variables, ignored or blocked signals of ours") {
    ::setenv("EXEC_TEST_SECRET", "canary", 1);
    const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);
    const int leaked = ::fcntl(STDERR_FILENO, F_DUPFD, 77);  // as a library may that forgot it
    ExecStage stage(script(
        "read -r line; ls /proc/$$/fd >fds 2>&1; tr '\\0' '\\n' </proc/$$/environ >variables;"
        " grep -E 'SigBlk|SigIgn' /proc/self/status >signals; ok"));
    CHECK(all_done(stage.deliver(rows(1)), 1));
    ::close(leaked);
    std::signal(SIGPIPE, pipe_before);
    ::unsetenv("EXEC_TEST_SECRET");
    CHECK(stage.text("fds").find(std::to_string(leaked) + '\n') == std::string::npos);
    CHECK(stage.text("variables").find("canary") == std::string::npos);
    CHECK(stage.text("variables").find("PATH=") != std::string::npos);
    CHECK(stage.text("signals") == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  }

  TEST_CASE("it is started by a program without standard streams, too") {
    ExecStage stage(script("echo hello >&2; " + std::string(obedient)));
    BatchOutcome outcome;
    {
      const Closed input(STDIN_FILENO);
      const Closed output(STDOUT_FILENO);
      outcome = stage.deliver(rows(1));
      stage.end();
    }
    CHECK(all_done(outcome, 1));
    CHECK(stage.notes() == "bookings/2 hello\n");
  }

  TEST_CASE("standard error goes to the log line by line, without its secrets") {
    auto config =
        script("while read -r line; do echo \"key $API_KEY\" >&2; echo two >&2; ok; done");
    config.environment["API_KEY"] = "canary-key";
    ExecStage stage(std::move(config));
    CHECK(all_done(stage.deliver(rows(1)), 1));
    wait_until("the lines are reported",
               [&] { return stage.notes().find("two") != std::string::npos; });
    CHECK(stage.notes() == "bookings/2 key [redacted]\nbookings/2 two\n");
  }
}

TEST_SUITE("a program that is not there") {
  TEST_CASE("no such program, no such directory, not executable: retried, and said") {
    ExecHandlerConfig config;
    config.command = {"no-such-program"};
    ExecStage missing(config);
    CHECK(ends(missing.deliver(rows(1)), 0, Kind::retry_later,
               "cannot start no-such-program: No such file or directory"));
    config.command = {"/etc/passwd"};
    ExecStage forbidden(config);
    CHECK(ends(forbidden.deliver(rows(1)), 0, Kind::retry_later, "Permission denied"));
    config.command = {"/bin/sh"};
    config.working_directory = "/no/such/place";
    ExecHandler lost(config);
    const auto all = rows(1);
    CHECK(ends(lost.handle(all, call_within(5s)), 0, Kind::retry_later,
               "working_directory: No such file"));
  }

  TEST_CASE("starting and failing a hundred times leaves nothing behind") {
    ExecStage stage(script("read -r line; exit 3"));
    (void)stage.deliver(rows(1));
    const auto before = open_descriptors();
    for (int i = 0; i < 100; ++i) (void)stage.deliver(rows(1));
    CHECK(open_descriptors() <= before);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child, dead or alive
  }
}
