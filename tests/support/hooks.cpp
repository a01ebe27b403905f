// What makes `seriatim_hooked` of the program: faults of its own, asked for by the environment.
//   SERIATIM_MUTANT    no_fence, no_inheritance, …: the program is broken so
//   SERIATIM_CRASH_AT  "after start", "before call:3", …: SIGKILL at the n-th passing (first: 1)
//   SERIATIM_STOP_AT   the same with SIGSTOP
//   SERIATIM_HANG_AT   the same, but only the thread that passes hangs, for good
#include <signal.h>
#include <unistd.h>

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

/// What happens at one passing of one point.
class Ambush {
 public:
  Ambush(const char* name, void (*fault)()) : point_(variable(name)), fault_(fault) {
    const auto colon = point_.find(':');
    if (colon == std::string::npos) return;
    passings_left_ = std::atoi(point_.c_str() + colon + 1);
    point_.resize(colon);
  }
  void pass(const std::string& point) {
    if (point == point_ && --passings_left_ == 0) fault_();
  }

 private:
  std::string point_;
  void (*fault_)();
  std::atomic<int> passings_left_{1};
};

Mutant mutant_from_environment() {
  constexpr std::array<std::pair<const char*, Mutant>, 11> known{
      {{"", Mutant::none},
       {"no_fence", Mutant::no_fence},
       {"no_inheritance", Mutant::no_inheritance},
       {"no_late_inheritance", Mutant::no_late_inheritance},
       {"no_epoch", Mutant::no_epoch},
       {"no_durability", Mutant::no_durability},
       {"parked_key_goes_on", Mutant::parked_key_goes_on},
       {"done_ahead_forgotten", Mutant::done_ahead_forgotten},
       {"key_overlaps", Mutant::key_overlaps},
       {"numbers_forgotten", Mutant::numbers_forgotten},
       {"numbers_used_again", Mutant::numbers_used_again}}};
  const auto asked = variable("SERIATIM_MUTANT");
  for (const auto& [name, mutant] : known) {
    if (asked == name) return mutant;
  }
  std::fprintf(stderr, "SERIATIM_MUTANT=%s: no such mutant\n", asked.c_str());
  std::exit(2);
}

/// To this thread: sent to the process, SIGSTOP would let it run on until another has taken it.
void stop_here() {
  ::raise(SIGSTOP);
}

void hang_here() {
  for (;;) ::pause();
}

Ambush crash{"SERIATIM_CRASH_AT", [] { ::raise(SIGKILL); }};
Ambush stop{"SERIATIM_STOP_AT", stop_here};
Ambush hang{"SERIATIM_HANG_AT", hang_here};
[[maybe_unused]] const Mutant alive = mutant_of_all_threads = mutant_from_environment();

}  // namespace

void crash_point(std::string_view place, std::string_view action) {
  auto point = std::string(place);
  if (!action.empty()) point.append(" ").append(action);
  crash.pass(point);
  stop.pass(point);
  hang.pass(point);
}

}  // namespace seriatim::core
