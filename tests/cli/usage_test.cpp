// What needs no server: help, usage errors, configuration errors.
#include <doctest/doctest.h>

#include <fstream>

#include "support/process.hpp"

using namespace seriatim::testing;

namespace {

/// In a folder without a configuration, with no variable of ours set.
Ended command(std::vector<std::string> arguments, const std::string& config = {}) {
  const TemporaryFolder folder;
  if (!config.empty()) std::ofstream(folder.path() / "seriatim.toml") << config;
  arguments.insert(arguments.begin(), SERIATIM_PROGRAM);
  Process::Options options;
  options.folder = folder.path();
  options.without_environment = {"DATABASE_URL", "SERIATIM_CONFIG"};
  return run(arguments, options);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("help names every verb, examples and exit codes, on stdout") {
  const auto all = command({"--help"});
  CHECK(all.code == 0);
  CHECK(all.err.empty());
  for (const std::string verb :
       {"init",  "check",  "run",    "status",  "peek",  "preview", "why",   "audit",
        "retry", "skip",   "parked", "rewind",  "lanes", "prune",   "pause", "resume",
        "adopt", "append", "demo",   "torture", "bench", "version"}) {
    CAPTURE(verb);
    CHECK(contains(all.out, "\n  " + verb + ' '));
    const auto one = command({verb, "--help"});
    CHECK(one.code == 0);
    CHECK(contains(one.out, "Exit codes: 0 done, 1 failure, 2 usage"));
    CHECK((verb == "version" || verb == "parked" || contains(one.out, "Examples:")));
  }
}

TEST_CASE("wrong usage ends with 2, on stderr, and names what is wrong") {
  struct Case {
    std::vector<std::string> arguments;
    std::string problem;
  };
  const std::vector<Case> cases{
      {{}, "Usage: seriatim"},
      {{"statsu"}, "no verb \"statsu\"; did you mean \"status\"?"},
      {{"frobnicate"}, "no verb \"frobnicate\"; see: seriatim --help"},
      {{"\x1b[2J"}, "no verb \"\\x1b[2J\""},
      {{"status", "--frob"}, "--frob"},
      {{"init", "extra"}, "extra"},
      {{"skip", "p"}, "ID is required"},
      {{"skip", "p", "1"}, "--reason is required"},
      {{"peek"}, "PROCESS is required"},
      {{"peek", "p", "--rows", "0"}, "--rows"},
      {{"preview"}, "PROCESS is required"},
      {{"preview", "p", "--rows", "0"}, "--rows"},
      {{"append"}, "--type is required"},
      {{"run", "--log-level", "loud"}, "--log-level: must be one of debug | info | warn | error"},
      {{"run", "--log-format", "xml"}, "--log-format: must be one of text | json"},
      {{"run", "--grace", "5"}, "--grace: needs its unit"},
      {{"torture", "--minutes", "0"}, "--minutes"},
      {{"torture", "--minutes", "soon"}, "--minutes"},
      {{"torture", "--relays", "0"}, "--relays"},
      {{"torture", "--producers", "65"}, "--producers"},
      {{"torture", "--order", "random"}, "--order: must be one of both | created_at | id"},
      {{"torture", "--seed", "-1"}, "--seed"},
      {{"torture", "--database", "postgresql://127.0.0.1:1/x", "--restart-server"},
       "--restart-server needs --restart-command"},
      {{"torture", "--database", "postgresql://127.0.0.1:1/x", "--promote"},
       "--promote needs --database embedded"},
  };
  for (const auto& [arguments, problem] : cases) {
    const auto& shown = problem;
    CAPTURE(shown);
    const auto ended = command(arguments);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CAPTURE(ended.err);
    CHECK(contains(ended.err, problem));
  }
}

TEST_CASE("a verb that needs a configuration says where it searched and how to name one") {
  const auto status = command({"status"});
  CHECK(status.code == 2);
  CHECK(contains(status.err, "seriatim.toml: cannot be read"));
  CHECK(contains(status.err, "--config FILE"));
  const auto init = command({"init"});
  CHECK(init.code == 2);
  CHECK(contains(init.err, "DATABASE_URL"));
}

TEST_CASE("all problems of a configuration are reported, one a line, and nothing is started") {
  const auto ended = command({"run"},
                             "[database]\nurl = \"postgresql://127.0.0.1:1/x\"\n"
                             "[[process]]\nname = \"a\"\nlanez = 2\n"
                             "[process.handler]\nkind = \"htpp\"\n");
  CHECK(ended.code == 2);
  CHECK(contains(ended.err,
                 "seriatim.toml:5: process.lanez: unknown key; did you mean \"lanes\"?\n"
                 "seriatim.toml:7: process.handler.kind: no handler \"htpp\"; "
                 "did you mean \"http\"?\n"));
}

TEST_CASE("a target nobody means is refused before anything starts") {  // FAULTS 51
  for (const auto* url :
       {"http://169.254.169.254/latest/meta-data", "http://2130706433/", "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/", "http://[fd00:ec2::254]/", "http://localhost./",
        "http://10.0.0.1/", "http://user@host.example/", "file:///etc/passwd",
        "gopher://host.example/", "http://{{payload.host}}/"}) {
    CAPTURE(url);
    const auto ended = command({"run"},
                               "[database]\nurl = \"postgresql://127.0.0.1:1/x\"\n"
                               "[[process]]\nname = \"p\"\n[process.handler]\n"
                               "kind = \"http\"\nurl = \"" +
                                   std::string(url) + "\"\n");
    CHECK(ended.code == 2);
    CHECK(contains(ended.err, "seriatim.toml:7: process.handler.url: "));
  }
}

TEST_CASE("an unknown process is answered with the nearest name") {
  const std::string config =
      "[database]\nurl = \"postgresql://127.0.0.1:1/x\"\n"
      "[[process]]\nname = \"booking_sms\"\n[process.handler]\nkind = \"log\"\n";
  const auto ended = command({"pause", "boking_sms"}, config);
  CHECK(ended.code == 2);
  CHECK(contains(ended.err,
                 "no process \"boking_sms\" in seriatim.toml; did you mean "
                 "\"booking_sms\"?"));
}

TEST_CASE("a database that cannot be reached ends with 1 and says where it was searched for") {
  const auto ended = command({"init"}, "[database]\nurl = \"postgresql://127.0.0.1:1/x\"\n");
  CHECK(ended.code == 1);
  CHECK(contains(ended.err, "cannot use the database"));
  CHECK(contains(ended.err, "127.0.0.1"));
}

TEST_CASE("the version is given in words and in JSON") {
  CHECK(contains(command({"version"}).out, "seriatim 0."));
  CHECK(contains(command({"version", "--json"}).out, "{\"version\":\"0."));
}

TEST_CASE("init --print needs no database") {
  const auto ended = command({"init", "--print"});
  CHECK(ended.code == 0);
  CHECK(contains(ended.out, "CREATE TABLE seriatim.cursor"));
}

TEST_CASE("torture and bench say which package has them if their program is missing") {
  const TemporaryFolder folder;
  const auto alone = folder.path() / "seriatim";
  std::filesystem::copy_file(SERIATIM_PROGRAM, alone);
  Process::Options options;
  options.environment["PATH"] = folder.path().string();
  for (const char* verb : {"torture", "bench"}) {
    CAPTURE(verb);
    const auto ended = run({alone.string(), verb, "--help"}, options);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, std::string("seriatim ") + verb + ": the program seriatim-lab"));
    CHECK(contains(ended.err, "Install the package seriatim-lab"));
    options.environment["PATH"] =
        std::filesystem::path(SERIATIM_PROGRAM).parent_path().string() + ":/usr/bin:/bin";
    CHECK(contains(run({alone.string(), verb, "--help"}, options).out,
                   std::string("Usage: seriatim ") + verb));
    options.environment["PATH"] = folder.path().string();
  }
}

TEST_CASE("output that cannot be written is a failure, not silence") {
  Process::Options options;
  options.out_file = "/dev/full";
  const auto ended = run({SERIATIM_PROGRAM, "version"}, options);
  CHECK(ended.code == 1);
  CHECK(contains(ended.err, "cannot write to stdout: No space left on device"));
}
