#pragma once

#include <unistd.h>

#include <string>
#include <vector>

namespace seriatim::testing {

/// How a test program ends that failed no case and could not run one: ctest reports it as
/// "Skipped".
inline constexpr int skipped_exit_code = 77;

/// What every case of a program needs: a server, a right. A static object of the file that uses it;
/// asked before the first case.
class Need {
 public:
  using WhyMissing = std::string (*)();

  /// The answer is "" if all is there.
  explicit Need(WhyMissing why_missing) { all().push_back(why_missing); }

  static std::vector<WhyMissing>& all() {
    static std::vector<WhyMissing> needs;
    return needs;
  }
};

/// For a Need of a program that is executed by its path.
inline std::string why_missing(const std::string& path, const std::string& package) {
  return ::access(path.c_str(), X_OK) == 0
             ? ""
             : "there is no " + path + " here (Debian: " + package + ")";
}

/// Notes that the running case cannot be run here; SKIP_TEST also leaves it. A check that failed
/// before still fails the program.
void note_skipped(const std::string& why);

}  // namespace seriatim::testing

/// In a test case itself, not in a function it calls.
#define SKIP_TEST(why)                      \
  do {                                      \
    ::seriatim::testing::note_skipped(why); \
    return;                                 \
  } while (false)
