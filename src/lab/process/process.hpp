#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace seriatim::lab {

/// How a program ended: `code` as a shell would say it (128 + signal when a signal ended it).
struct Ended {
  int code = 0;
  std::string out;
  std::string err;
};

/// The account a program runs as.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
};

/// A program of its own: started, watched, signalled by its own pid, never by name. Killed by the
/// destructor if it still runs.
///
/// Threads: none of its own, so output is read and input handed on while one of the waits runs; a
/// program that writes more than a mebibyte unwatched blocks, unless its output goes to a file.
/// Errors: std::runtime_error.
class Process {
 public:
  /// Whom a Ctrl-C at the terminal reaches, and what `kill(-pid)` means.
  enum class Group { same, own, own_session };

  struct Options {
    std::map<std::string, std::string> environment;  ///< added to this program's own
    std::vector<std::string> without_environment;    ///< names unset
    std::string folder;                              ///< working directory; empty: this program's
    std::string input;                    ///< bytes on stdin, which then ends; empty: /dev/null
    bool input_open = false;              ///< stdin stays open for write(), until end_input()
    std::string out_file;                 ///< stdout goes to its end ("/dev/full"); empty: read
    std::string err_file;                 ///< stderr likewise
    bool out_closed = false;              ///< the program starts without a stdout
    bool err_closed = false;              ///< … without a stderr
    bool err_with_out = false;            ///< stderr goes where stdout goes
    bool err_inherited = false;           ///< … where this program's goes
    unsigned files_max = 0;               ///< RLIMIT_NOFILE; 0: this program's
    std::optional<Account> account = {};  ///< absent: this program's
    Group group = Group::same;
    int death_signal = 0;  ///< sent when the thread that started it ends, even by kill -9; 0: none
  };
  using milliseconds = std::chrono::milliseconds;

  static constexpr milliseconds patience{30'000};

  /// `command[0]` is a path or is searched in PATH.
  explicit Process(std::vector<std::string> command);
  Process(std::vector<std::string> command, const Options& options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number);
  /// SIGSTOP; returns once all its threads are stopped. SIGCONT lets it go on.
  void freeze();
  /// SIGKILL and its end.
  void kill();
  /// SIGTERM and its end, SIGKILL if that takes longer than `limit`. A frozen one goes on first.
  Ended stop(milliseconds limit = patience);

  /// Its end, or a thrown std::runtime_error with what it had written when `limit` is over.
  Ended wait(milliseconds limit = patience);
  /// Empty when it still runs after `limit`.
  std::optional<Ended> wait_at_most(milliseconds limit);
  [[nodiscard]] bool runs() { return !wait_at_most(milliseconds{0}); }
  /// Waits until what it wrote so far on stdout (or stderr) contains `text`; throws as `wait` does.
  void wait_for_output(const std::string& text, milliseconds limit = patience);
  void wait_for_errors(const std::string& text, milliseconds limit = patience);
  /// Takes the next whole line off stdout, without its end; empty if none came within `limit`.
  std::optional<std::string> next_line(milliseconds limit = patience);

  /// With `input_open`. A program that has ended reads nothing, which is no error.
  void write(const std::string& bytes);
  void end_input();

  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }

 private:
  bool pump_until(const std::function<bool()>& fact, milliseconds limit);
  void pump_once(int timeout_ms);
  void drain(int& fd, std::string& into);
  void feed();
  void note_end(int status);
  [[nodiscard]] std::string story() const;

  std::string name_;
  std::string input_;
  bool input_open_;
  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int in_fd_ = -1;
  int out_fd_ = -1;
  int err_fd_ = -1;
  std::string out_;
  std::string err_;
  std::optional<int> code_;
  bool frozen_ = false;
};

/// Runs a program to its end.
Ended run(std::vector<std::string> command);
Ended run(std::vector<std::string> command, const Process::Options& options);

/// Waits until `fact` holds, checking every few milliseconds; throws with `what` after `limit`.
void wait_until(const std::string& what, const std::function<bool()>& fact,
                std::chrono::milliseconds limit = Process::patience);

}  // namespace seriatim::lab
