#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exec/error_lines.hpp"
#include "exec/fd.hpp"

namespace seriatim::handlers {

/// A running program in a process group of its own. Its standard input and output are pipes to us,
/// its standard error is read by a thread. If we are killed it is killed (not what it started).
///
/// Threads: one user; lines of its standard error are reported on another.
/// Errors: the constructor throws where the program cannot be started.
class Child {
 public:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  struct Program {
    std::vector<std::string> command;
    std::vector<std::string> environment;  ///< "NAME=value"
    std::string working_directory;         ///< empty: ours
  };
  Child(Program program, ErrorLines::Writer error_lines);
  ~Child();  ///< kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  struct Ready {
    bool input = false;   ///< takes bytes, or never will again
    bool output = false;  ///< has bytes, or has ended
    bool dead = false;
  };
  /// Waits until something of this is so. Whether it takes input wakes nobody who does not ask.
  [[nodiscard]] Ready wait(bool to_write, Clock::time_point until) const;
  /// At once, where no time is named.
  [[nodiscard]] bool has_ended(milliseconds within = milliseconds{0}) const;

  /// As much as fits; answers how much. 0 also where it has closed its input.
  std::size_t write(std::string_view bytes);
  [[nodiscard]] bool takes_input() const { return takes_input_; }
  /// Bytes written that it has not read; until `close_input`.
  [[nodiscard]] std::size_t unread() const;
  void close_input();

  /// Appends what is there. False at the end of its output.
  bool read(std::string& into) const;

  /// To the whole group.
  void signal(int number) const;

  struct End {
    std::string text;    ///< "exited with 3"
    bool clean = false;  ///< exited with 0
  };
  /// Kills the whole group and waits for the program. Absent where even that did not end it in
  /// time (a file system that hangs): ask again.
  [[nodiscard]] std::optional<End> reap();
  /// Of its standard error; whole once it was reaped.
  [[nodiscard]] std::string last_error_line() const;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  struct Keeper;

  std::unique_ptr<Keeper> keeper_;
  pid_t pid_ = -1;
  Fd input_;
  Fd output_;
  Fd death_;  ///< pidfd
  bool takes_input_ = true;
  std::optional<End> end_;
};

}  // namespace seriatim::handlers
