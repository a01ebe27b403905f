#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace seriatim::torture {

/// `seriatim run` as a program of its own, its output at the end of a file. In a process group of
/// its own, so a Ctrl-C at the terminal is not for it; killed by the destructor, and by the kernel
/// when the thread that started it ends.
class RelayProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  /// `environment` is set beside this program's own.
  RelayProcess(const std::vector<std::string>& command, const Environment& environment,
               std::filesystem::path log);
  ~RelayProcess();
  RelayProcess(const RelayProcess&) = delete;
  RelayProcess& operator=(const RelayProcess&) = delete;

  void start();
  void signal(int number) const;
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// SIGKILL and its end.
  void kill();
  /// SIGTERM and its end, SIGKILL when that takes too long: its exit status, 128 + signal.
  int stop();
  /// Its exit status once it has ended by itself.
  [[nodiscard]] std::optional<int> ended();

 private:
  [[noreturn]] void become(int log) const;
  std::optional<int> reap(int options);

  std::vector<std::string> command_;
  std::vector<std::string> environment_;
  std::filesystem::path log_;
  pid_t pid_ = 0;  ///< 0: not running
};

}  // namespace seriatim::torture
