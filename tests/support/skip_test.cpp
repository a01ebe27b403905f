// What a test program says and how it ends if it could not run all of its cases.
#include "support/skip.hpp"

#include <doctest/doctest.h>

#include "support/process.hpp"

using namespace seriatim::testing;

namespace {

Ended sample(const std::string& cases, const std::string& missing = "") {
  Process::Options options;
  if (!missing.empty()) options.environment["SKIP_SAMPLE_MISSING"] = missing;
  return run({SKIP_SAMPLE, "--test-case=" + cases}, options);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("skipped tests") {
  TEST_CASE("a case that cannot run makes the program skipped, and says why on one line") {
    for (const auto* cases : {"one that is skipped", "one that is skipped,one that passes"}) {
      const auto ended = sample(cases);
      CHECK(ended.code == skipped_exit_code);
      CHECK(contains(ended.out,
                     "\nSKIPPED: one that is skipped: no such server here: none at all\n"));
    }
    const auto ended = sample("one that passes");
    CHECK(ended.code == 0);
    CHECK_FALSE(contains(ended.out, "SKIPPED"));
  }

  TEST_CASE("a case that fails fails the program, whatever was skipped") {
    for (const auto* cases : {"one that fails", "one that is skipped,one that fails",
                              "one that fails and is skipped"}) {
      CHECK(sample(cases).code == 1);
    }
    CHECK(contains(sample("one that is skipped,one that fails").out, "SKIPPED: one that is"));
  }

  TEST_CASE("without what every case needs none is run") {
    const auto ended = sample("one that fails", "no network");
    CHECK(ended.code == skipped_exit_code);
    CHECK(ended.out == "SKIPPED: every case: no network\n");
  }

  TEST_CASE("a program that is not installed is named, with its package") {
    CHECK(why_missing("/bin/sh", "dash") == "");
    CHECK(why_missing("/no/such/server", "server") ==
          "there is no /no/such/server here (Debian: server)");
  }

  TEST_CASE("ctest takes that exit code for skipped") {
    const auto ended = run({SERIATIM_CTEST, "--test-dir", SERIATIM_BINARY_DIR, "-R",
                            "^support_skip_test$", "--show-only=json-v1"});
    CAPTURE(ended.err);
    REQUIRE(contains(ended.out, "support_skip_test"));
    CHECK(contains(ended.out, "\"SKIP_RETURN_CODE\""));
    CHECK(contains(ended.out, std::to_string(skipped_exit_code)));
  }
}
