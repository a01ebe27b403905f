#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace seriatim::testing {

/// How a program ended: `code` as a shell would say it (128 + signal when a signal ended it).
struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

/// A program under test: spawned, watched, signalled by its own pid, never by name. Killed by the
/// destructor if it still runs.
///
/// Threads: none of its own, so output is read while one of the waits runs; a program that writes
/// more than a mebibyte unwatched blocks, unless its output goes to a file.
class Process {
 public:
  struct Options {
    std::map<std::string, std::string> environment;  ///< set beside the test's own
    std::vector<std::string> without_environment;    ///< names unset
    std::string folder;                              ///< working directory; empty: the test's
    std::string input;                               ///< bytes on stdin, which then ends
    std::string out_file;     ///< stdout goes there ("/dev/full"); empty: read
    std::string err_file;     ///< stderr likewise
    bool out_closed = false;  ///< the program starts without a stdout
    bool err_closed = false;  ///< … without a stderr
    unsigned files_max = 0;   ///< RLIMIT_NOFILE; 0: the test's
  };
  using milliseconds = std::chrono::milliseconds;

  static constexpr milliseconds patience{30'000};

  /// `command[0]` is a path or is looked up in PATH.
  explicit Process(std::vector<std::string> command);
  Process(std::vector<std::string> command, Options options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;

  /// Its end, or a thrown std::runtime_error with what it had written when `limit` is over.
  Ended wait(milliseconds limit = patience);
  /// Empty when it still runs after `limit`.
  std::optional<Ended> wait_at_most(milliseconds limit);
  /// Waits until what it wrote so far on stdout (or stderr) contains `text`; throws as `wait` does.
  void wait_for_output(const std::string& text, milliseconds limit = patience);
  void wait_for_errors(const std::string& text, milliseconds limit = patience);

  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }

 private:
  bool pump_until(const std::function<bool()>& fact, milliseconds limit);
  void pump_once(int timeout_ms);
  void drain(int& fd, std::string& into);
  void feed();
  void reap_if_ended();
  [[nodiscard]] std::string story() const;

  std::string name_;
  std::string input_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int in_fd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  std::optional<int> code_;
};

/// Runs a program to its end.
Ended run(std::vector<std::string> command);
Ended run(std::vector<std::string> command, Process::Options options);

/// SIGSTOP to a child of ours; returns once all its threads stand still.
void freeze(pid_t child);

/// Waits until `fact` holds, looking every few milliseconds; throws with `what` after `limit`.
void wait_until(const std::string& what, const std::function<bool()>& fact,
                std::chrono::milliseconds limit = Process::patience);

}  // namespace seriatim::testing
