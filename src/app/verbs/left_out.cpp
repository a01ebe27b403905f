// What torture and bench do in a program that was built without them (SERIATIM_BUILD_LAB=OFF).
#include "app/verbs/verbs.hpp"

namespace seriatim::app {

namespace {

Exit left_out(const std::string& verb) {
  complain("seriatim " + verb +
           ": left out of this program. `./run build release` makes build/release/seriatim, "
           "which has it.\n");
  return Exit::usage;
}

}  // namespace

Exit perform(const TortureVerb&, Context&) {
  return left_out("torture");
}

Exit perform(const BenchVerb&, Context&) {
  return left_out("bench");
}

Exit perform(const BenchRelayVerb&, Context&) {
  return left_out("bench-relay");
}

}  // namespace seriatim::app
