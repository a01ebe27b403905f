#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace seriatim::app {

/// `seriatim run …` as a program of its own, its log in a file. Ended by the destructor, and by
/// the kernel should this program die first.
class RelayChild {
 public:
  RelayChild(const std::vector<std::string>& arguments, const std::filesystem::path& log);
  ~RelayChild();
  RelayChild(const RelayChild&) = delete;
  RelayChild& operator=(const RelayChild&) = delete;

  [[nodiscard]] bool running();
  /// SIGTERM, then waits; answers the exit status.
  int stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs `seriatim` with these arguments and answers what it printed, stderr included.
std::string seriatim_says(const std::vector<std::string>& arguments);

}  // namespace seriatim::app
