// Starts seriatim-lab in our place. It is a program of its own, so that what delivers is small and
// built without what tries and measures it.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/verbs/verbs.hpp"

namespace seriatim::app {

Exit perform(const LabVerb& verb, Context&) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  ::setenv("SERIATIM_TORTURE_PROGRAM", self.c_str(),
           1);  // an installed lab tries us, not its neighbour
  const auto sibling = std::filesystem::path(self).replace_filename("seriatim-lab");
  std::vector<char*> arguments{const_cast<char*>("seriatim-lab")};
  for (const auto& argument : verb.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execv(sibling.c_str(), arguments.data());
  ::execvp("seriatim-lab", arguments.data());
  const std::string why = errno == ENOENT ? "" : std::string(" (") + std::strerror(errno) + ')';
  complain("seriatim " + verb.arguments.front() +
           ": the program seriatim-lab, which does this, is neither " + sibling.string() +
           " nor in PATH" + why +
           ". Install the package seriatim-lab; from the sources, `./run build release` makes "
           "build/release/seriatim-lab.\n");
  return Exit::usage;
}

}  // namespace seriatim::app
