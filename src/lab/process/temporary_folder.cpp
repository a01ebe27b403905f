#include "lab/process/temporary_folder.hpp"

#include <cstdlib>
#include <stdexcept>

namespace seriatim::lab {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& name) {
  auto path = (fs::temp_directory_path() / ("seriatim-" + name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("no folder can be made in " + path);
  }
  path_ = path;
  fs::permissions(path_, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
  fs::remove(path_, ignored);
}

}  // namespace seriatim::lab
