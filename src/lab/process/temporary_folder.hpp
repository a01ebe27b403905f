#pragma once

#include <filesystem>
#include <string>

namespace seriatim::lab {

/// A folder of its own in $TMPDIR, removed by the destructor unless it is to be kept. Other
/// accounts may enter it: servers have folders below.
class TemporaryFolder {
 public:
  /// `seriatim-NAME-` and six letters.
  explicit TemporaryFolder(const std::string& name = "test");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// An empty one is removed all the same.
  void keep(bool kept) { kept_ = kept; }

 private:
  std::filesystem::path path_;
  bool kept_ = false;
};

}  // namespace seriatim::lab
