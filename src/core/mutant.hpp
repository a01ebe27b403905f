#pragma once

namespace seriatim::core {

/// Ways to break the ordering logic on purpose. The simulation turns them on one by one and must
/// catch each; other builds do not contain them (mutant() is then a constant false).
enum class Mutant {
  none,
  no_fence,
  settled_inclusive,
  no_inheritance,
  no_late_inheritance,
  ties_dropped
};

#ifdef SERIATIM_MUTANTS
inline thread_local Mutant active_mutant = Mutant::none;
inline bool mutant(Mutant m) {
  return active_mutant == m;
}
#else
constexpr bool mutant(Mutant) {
  return false;
}
#endif

}  // namespace seriatim::core
