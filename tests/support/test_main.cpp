// The main of every test program: doctest's, and an exit code of its own if a case was skipped.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <iostream>

#include "support/skip.hpp"

namespace seriatim::testing {

namespace {

std::string running_case;
std::vector<std::string> skipped;

struct CaseListener final : doctest::IReporter {
  explicit CaseListener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override { running_case = data.m_name; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

void note(const std::string& what, std::string why) {
  std::replace(why.begin(), why.end(), '\n', ' ');
  auto line = "SKIPPED: " + what + ": " + why;
  if (std::find(skipped.begin(), skipped.end(), line) == skipped.end()) skipped.push_back(line);
}

/// False if something is missing that every case needs.
bool has_needs() {
  for (const auto why_missing : Need::all()) {
    if (const auto why = why_missing(); !why.empty()) note("every case", why);
  }
  return skipped.empty();
}

int run(doctest::Context& context) {
  const int code = has_needs() ? context.run() : 0;
  for (const auto& line : skipped) std::cout << line << std::endl;
  return code == 0 && !skipped.empty() ? skipped_exit_code : code;
}

}  // namespace

void note_skipped(const std::string& why) {
  note(running_case, why);
}

REGISTER_LISTENER("running_case", 1, CaseListener);

}  // namespace seriatim::testing

int main(int count, char** arguments) {
  doctest::Context context(count, arguments);
  return seriatim::testing::run(context);
}
