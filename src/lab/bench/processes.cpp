#include "lab/bench/processes.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace seriatim::bench {

namespace {

std::filesystem::path folder_of(pid_t pid) {
  return std::filesystem::path("/proc") / std::to_string(pid);
}

}  // namespace

double cpu_seconds(pid_t pid) {
  double total = 0;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator(folder_of(pid) / "task", gone)) {
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    total += nanoseconds * 1e-9;
  }
  return total;
}

double resident_mb(pid_t pid) {
  std::ifstream status(folder_of(pid) / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1'024;
  }
  return 0;
}

}  // namespace seriatim::bench
