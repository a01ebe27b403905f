// Programs that crash, hang, fork, flood and lie.
#include <sys/resource.h>

#include <csignal>

#include "exec/exec_stage.hpp"

using namespace std::chrono_literals;
using namespace seriatim;
using namespace seriatim::handlers;
using namespace seriatim::testing;
using Kind = Outcome::Kind;
using Clock = std::chrono::steady_clock;

namespace {

ExecHandlerConfig script(const std::string& text) {
  return ExecStage::script(text);
}
std::vector<Record> rows(std::size_t count, const std::string& payload = "{}") {
  return ExecStage::rows(count, payload);
}

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

/// Nobody of that number, or one that is dead and not yet waited for by whoever adopted it.
bool is_gone(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  return text.empty() || text.find(") Z ") != std::string::npos;
}

pid_t pid_in(const ExecStage& stage, const std::string& name) {
  wait_until("a process number is written", [&] { return stage.lines(name) > 0; });
  return std::stoi(stage.text(name));
}

struct Timed {
  BatchOutcome outcome;
  Clock::duration took;
};
Timed deliver(ExecStage& stage, const std::vector<Record>& batch, std::chrono::milliseconds limit) {
  const auto began = Clock::now();
  auto outcome = stage.deliver(batch, limit);
  return {std::move(outcome), Clock::now() - began};
}

}  // namespace

TEST_SUITE("a program that fails") {
  TEST_CASE("a crash before it read the record is retried, one after is in doubt") {
    ExecStage before(script("echo 'ImportError: no module named x' >&2; exit 3"));
    CHECK(ends(before.deliver(rows(1)), 0, Kind::retry_later,
               "/bin/sh exited with 3 without an answer; it said: ImportError: no module named x"));
    ExecStage after(script("read -r line; kill -SEGV $$"));
    CHECK(ends(after.deliver(rows(1)), 0, Kind::unknown, "was ended by SIGSEGV without an answer"));
  }

  TEST_CASE("one that exits with 0 without reading is a failure, nothing is lost") {
    ExecStage stage(script("exit 0"));
    CHECK(ends(stage.deliver(rows(2)), 0, Kind::retry_later, "exited with 0 without an answer"));
    CHECK(ends(stage.deliver(rows(2, std::string(300'000, 'x'))), 0, Kind::retry_later,
               "exited with 0 without an answer"));
  }

  TEST_CASE("its end is known as one where nobody can say how it ended: SIGCHLD is ignored") {
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    ExecStage stage(script("read -r line; exit 3"));
    const auto outcome = stage.deliver(rows(1));
    std::signal(SIGCHLD, before);
    CHECK(ends(outcome, 0, Kind::unknown, "/bin/sh ended without an answer"));
  }

  TEST_CASE("a crash in the middle of a batch leaves a confirmed prefix") {
    const auto dies_at_37 = script(
        "while read -r line; do case $line in *'\"row-37\"'*) [ -e out ] || { : >out; exit 9; } ;; "
        "esac; ok; done");
    ExecStage one(dies_at_37);
    CHECK(ends(one.deliver(rows(100)), 36, Kind::unknown, "exited with 9"));
    const auto all = rows(100);
    CHECK(one.deliver({all.begin() + 36, all.end()}).done == 64);
    ExecStage batch(ExecStage::batches(dies_at_37));
    CHECK(ends(batch.deliver(all), 36, Kind::unknown, "exited with 9"));
    CHECK(batch.deliver({all.begin() + 36, all.end()}).done == 64);
  }

  TEST_CASE("nothing behind a failed record is acted upon, also by a program that would go on") {
    ExecStage stage(ExecStage::batches(
        script("while read -r line; do case $line in"
               " *'\"row-37\"'*) answer '\"outcome\":\"poison\",\"reason\":\"no\"'; read -r never "
               "</dev/zero ;;"
               " *) echo \"$line\" >>out; ok ;; esac; done")));
    const auto all = rows(100);
    CHECK(ends(stage.deliver(all), 36, Kind::poison, "no"));
    CHECK(stage.lines() == 36);
    CHECK(stage.deliver({all.begin() + 37, all.end()}).done == 63);
    CHECK(stage.lines() == 99);
  }

  TEST_CASE("one that hangs is ended by the deadline, with all it started") {
    ExecStage stage(script("sleep 1000 & echo $! >grandchild; read -r line; sleep 1000"));
    const auto [outcome, took] = deliver(stage, rows(1), 600ms);
    CHECK(ends(outcome, 0, Kind::unknown, "did not answer in time and was ended"));
    CHECK(took < 3s);
    const auto grandchild = pid_in(stage, "grandchild");
    wait_until("what it started is gone", [&] { return is_gone(grandchild); });
  }

  TEST_CASE("one that ignores SIGTERM is killed") {
    ExecStage stage(script("trap '' TERM; echo $$ >self; read -r line; while :; do sleep 1; done"));
    const auto [outcome, took] = deliver(stage, rows(1), 600ms);
    CHECK(ends(outcome, 0, Kind::unknown, "did not answer in time"));
    CHECK(took < 3s);
    CHECK(is_gone(pid_in(stage, "self")));
    ExecStage at_end(script("trap '' TERM; echo $$ >self; while :; do read -r line && ok; done"));
    CHECK(at_end.deliver(rows(1)).done == 1);
    const auto began = Clock::now();
    at_end.end();
    CHECK(Clock::now() - began < 2s);
    CHECK(is_gone(pid_in(at_end, "self")));
  }

  TEST_CASE("one that is stopped by a signal is ended all the same") {
    ExecStage stage(script("echo $$ >self; kill -STOP $$; read -r line; ok"));
    const auto [outcome, took] = deliver(stage, rows(1), 600ms);
    CHECK(ends(outcome, 0, Kind::retry_later, "did not answer in time"));
    CHECK(took < 3s);
    CHECK(is_gone(pid_in(stage, "self")));
  }

  TEST_CASE("an answer between SIGTERM and the end still counts") {
    ExecStage stage(script("trap 'ok; exit' TERM; read -r line; sleep 1000 & wait"));
    const auto [outcome, took] = deliver(stage, rows(3), 600ms);
    CHECK_FALSE(outcome.next);
    CHECK(outcome.done == 1);
    CHECK(took < 3s);
  }

  TEST_CASE("one that forks and exits: what it left behind holds nobody up and is killed") {
    ExecStage stage(script("read -r line; sleep 1000 & echo $! >left; exit 0"));
    const auto [outcome, took] = deliver(stage, rows(1), 10s);
    CHECK(ends(outcome, 0, Kind::unknown, "exited with 0 without an answer"));
    CHECK(took < 3s);
    const auto left = pid_in(stage, "left");
    wait_until("it is killed", [&] { return is_gone(left); });
  }

  TEST_CASE("one that forks without end is a failure of its own, and all of them are killed") {
    ExecStage stage(
        script("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do"
               " sleep 1000 & echo $! >>left; done; read -r line; wait"));
    const auto [outcome, took] = deliver(stage, rows(1), 800ms);
    CHECK(ends(outcome, 0, Kind::unknown, "did not answer in time"));
    CHECK(took < 3s);
    std::istringstream left(stage.text("left"));
    for (pid_t pid = 0; left >> pid;) wait_until("it is killed", [&] { return is_gone(pid); });
  }

  TEST_CASE("one that never reads is ended by the deadline, and the record is retried") {
    ExecStage stage(script("sleep 1000"));
    CHECK(ends(stage.deliver(rows(1, std::string(300'000, 'x')), 400ms), 0, Kind::retry_later,
               "did not answer in time"));
  }

  TEST_CASE("one that closes its standard input or output is a failure at once") {
    ExecStage output(script("read -r line; exec >&-; sleep 1000"));
    const auto closed = deliver(output, rows(1), 10s);
    CHECK(ends(closed.outcome, 0, Kind::unknown, "closed its standard input or output"));
    CHECK(closed.took < 3s);
    ExecStage input(script("sleep 0.1; exec <&-; sleep 1000"));
    const auto deaf = deliver(input, rows(1, std::string(300'000, 'x')), 10s);
    CHECK(ends(deaf.outcome, 0, Kind::retry_later, "closed its standard input or output"));
    CHECK(deaf.took < 3s);
  }

  TEST_CASE("floods on standard output are a failure at once, in bounded memory") {
    rusage before{};
    ::getrusage(RUSAGE_SELF, &before);
    ExecStage endless(script("read -r line; exec tr '\\0' x </dev/zero"));
    const auto one_line = deliver(endless, rows(1), 10s);
    CHECK(ends(one_line.outcome, 0, Kind::unknown, "wrote an answer longer than 64 KiB"));
    CHECK(one_line.took < 5s);
    ExecStage lines(script("read -r line; exec yes"));
    const auto many = deliver(lines, rows(1), 10s);
    CHECK(ends(many.outcome, 0, Kind::unknown, "what is no answer (no JSON)"));
    CHECK(many.took < 5s);
    rusage after{};
    ::getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 32 * 1024);  // KiB
  }

  TEST_CASE("a flood on standard error holds nothing up, and the log gets a part of it") {
    ExecStage stage(
        script("while read -r line; do i=0; while [ $i -lt 20000 ]; do echo $i >&2; i=$((i+1));"
               " done; ok; done"));
    CHECK(stage.deliver(rows(1)).done == 1);
    stage.end();
    CHECK(stage.notes().find("lines left out") != std::string::npos);
    CHECK(stage.notes().find("bookings/2 99\n") != std::string::npos);
  }

  TEST_CASE("what is no answer, or another record's, is a failure and the program is replaced") {
    ExecStage chatty(
        script("[ -e out ] || { : >out; echo starting; exec sleep 1000; }; "
               "while read -r line; do ok; done"));
    CHECK(ends(chatty.deliver(rows(1)), 0, Kind::retry_later, "no answer (no JSON)"));
    CHECK(chatty.deliver(rows(1)).done == 1);
    ExecStage wrong(script("read -r line; line='\"id\":\"row-9\"'; ok; sleep 1000"));
    CHECK(ends(wrong.deliver(rows(1)), 0, Kind::unknown,
               "answered for id row-9 when it was the turn of row-1"));
  }

  TEST_CASE("answers are taken in order only") {
    ExecStage stage(
        ExecStage::batches(script("read -r a; read -r b; line=$b; ok; line=$a; ok; sleep 1000")));
    CHECK(ends(stage.deliver(rows(2)), 0, Kind::unknown,
               "answered for id row-2 when it was the turn of row-1"));
  }

  TEST_CASE("one that talks unasked between calls is replaced before the next record") {
    ExecStage stage(
        script("echo began >>starts; read -r line; ok; sleep 0.2; ok; echo >>spoken;"
               " while read -r line; do ok; done"));
    CHECK(stage.deliver(rows(1)).done == 1);
    wait_until("it has spoken", [&] { return stage.lines("spoken") > 0; });
    CHECK(stage.deliver(rows(1)).done == 1);
    CHECK(stage.lines("starts") == 2);
  }

  TEST_CASE("one killed between two calls is replaced, and the log says so") {
    ExecStage stage(script("echo $$ >self; while read -r line; do ok; done"));
    CHECK(stage.deliver(rows(1)).done == 1);
    const auto pid = pid_in(stage, "self");
    ::kill(pid, SIGKILL);
    wait_until("it is dead", [&] { return is_gone(pid); });
    CHECK(stage.deliver(rows(1)).done == 1);
    CHECK(stage.notes() == "bookings/2 was ended by SIGKILL between calls\n");
  }
}
