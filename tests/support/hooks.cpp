// What makes `seriatim_hooked` of the program: faults of its own, asked for by the environment.
//   SERIATIM_MUTANT    no_fence, no_inheritance, …: the program is broken so
//   SERIATIM_CRASH_AT  "after start", "before call:3", …: SIGKILL at the n-th passing (first: 1)
//   SERIATIM_STOP_AT   the same with SIGSTOP
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/crash_point.hpp"
#include "core/mutant.hpp"

namespace seriatim::core {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// A signal to ourselves at one passing of one point.
class Ambush {
 public:
  Ambush(const char* name, int signal) : point_(variable(name)), signal_(signal) {
    const auto colon = point_.find(':');
    if (colon == std::string::npos) return;
    passings_left_ = std::atoi(point_.c_str() + colon + 1);
    point_.resize(colon);
  }
  /// To this thread: sent to the process, SIGSTOP would let it run on until another has taken it.
  void pass(const std::string& point) {
    if (point == point_ && --passings_left_ == 0) ::raise(signal_);
  }

 private:
  std::string point_;
  int signal_;
  std::atomic<int> passings_left_{1};
};

Mutant mutant_from_environment() {
  constexpr std::array<std::pair<const char*, Mutant>, 9> known{
      {{"", Mutant::none},
       {"no_fence", Mutant::no_fence},
       {"no_inheritance", Mutant::no_inheritance},
       {"no_late_inheritance", Mutant::no_late_inheritance},
       {"no_epoch", Mutant::no_epoch},
       {"no_durability", Mutant::no_durability},
       {"unread_passed", Mutant::unread_passed},
       {"unlisted_passed", Mutant::unlisted_passed},
       {"counts_alone", Mutant::counts_alone}}};
  const auto asked = variable("SERIATIM_MUTANT");
  for (const auto& [name, mutant] : known) {
    if (asked == name) return mutant;
  }
  std::fprintf(stderr, "SERIATIM_MUTANT=%s: no such mutant\n", asked.c_str());
  std::exit(2);
}

Ambush crash{"SERIATIM_CRASH_AT", SIGKILL};
Ambush stop{"SERIATIM_STOP_AT", SIGSTOP};
[[maybe_unused]] const Mutant alive = mutant_of_all_threads = mutant_from_environment();

}  // namespace

void crash_point(std::string_view place, std::string_view action) {
  auto point = std::string(place);
  if (!action.empty()) point.append(" ").append(action);
  crash.pass(point);
  stop.pass(point);
}

}  // namespace seriatim::core
