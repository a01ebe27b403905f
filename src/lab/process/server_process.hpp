#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lab/process/process.hpp"
#include "lab/process/temporary_folder.hpp"

namespace seriatim::lab {

/// Account `postgres` when we are root (no server runs as root), else nothing to change.
[[nodiscard]] std::optional<Account> server_account();

/// A server of our own: a folder, a port of 127.0.0.1 and a log, which stay while it is stopped,
/// killed and started again. It leads a session of its own, so a Ctrl-C at the terminal is for us.
/// Killed by the destructor; signalled by the kernel when the thread that started it ends.
///
/// Errors: std::runtime_error with the end of the log.
class ServerProcess {
 public:
  virtual ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// On the same port, with the data it had; returns once it answers. Nothing if it runs.
  void start();
  void stop() { end(SIGTERM); }
  void kill() { end(SIGKILL); }
  void freeze();  ///< SIGSTOP; returns once it is stopped
  void thaw();
  /// False from a stop or kill on, until it is started again.
  [[nodiscard]] bool runs() const { return process_ != nullptr; }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_ / name; }
  [[nodiscard]] std::filesystem::path log_file() const { return file(options_.log); }
  [[nodiscard]] std::string log() const;

 protected:
  struct Options {
    std::string name;                   ///< for messages
    std::filesystem::path folder = {};  ///< empty: a temporary one
    std::string log = "log";
    std::optional<Account> account = server_account();
    int death_signal = SIGKILL;
    std::chrono::milliseconds patience{60'000};  ///< for a start, for a stop
  };
  explicit ServerProcess(Options options);

  [[nodiscard]] virtual std::vector<std::string> command() const = 0;
  /// Asked every few milliseconds while it starts.
  [[nodiscard]] virtual bool answers() = 0;
  virtual void ended() {}  ///< after a stop or kill

  /// In the log, since this start.
  [[nodiscard]] bool says(const std::string& text) const;
  /// False if the server ended at once.
  bool try_start();
  /// False if it had to be killed.
  bool end(int signal);
  void choose_port();
  /// From the next start on.
  void use_port(int port) { port_ = port; }
  /// The server's own, if nothing is in it yet.
  void make_folder(const std::filesystem::path& folder) const;
  [[nodiscard]] pid_t pid() const { return process_ ? process_->pid() : 0; }
  /// For this server's other programs; their output goes to the end of this file, or is read.
  [[nodiscard]] Process::Options program(const std::string& log = {}) const;
  [[noreturn]] void fail(const std::string& what) const;

  Options options_;

 private:
  std::unique_ptr<TemporaryFolder> temporary_;
  std::filesystem::path folder_;
  int port_ = 0;
  std::size_t log_before_ = 0;  ///< its bytes before this start
  std::unique_ptr<Process> process_;
};

}  // namespace seriatim::lab
