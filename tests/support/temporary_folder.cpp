#include "support/temporary_folder.hpp"

#include <cstdlib>
#include <stdexcept>

namespace seriatim::testing {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  auto name = (fs::temp_directory_path() / "seriatim-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
  path_ = name;
  // Servers of other accounts have folders of their own below.
  fs::permissions(path_, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace seriatim::testing
