#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace seriatim::postgres {

/// Ends a connection whose peer owes an answer and has stopped. The kernel gives up a host that
/// vanished; a pooler, a proxy or a stopped server still acknowledges every packet, and libpq then
/// waits for ever.
///
/// Threads: one user at a time; one thread for all watches of the program checks them, and one
/// more for each that asks. An answer that is coming in, however slowly, is no silence.
class Watchdog {
 public:
  using milliseconds = std::chrono::milliseconds;
  /// Asks in another way whether an answer is still to come. May block for a while.
  using Question = std::function<bool()>;

  explicit Watchdog(int socket);  ///< open for as long as the watch lives
  ~Watchdog();                    ///< waits for a question that is being asked
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Asked after each silence from now on; without one a silence ends the connection.
  void ask(Question question);
  /// In its scope an answer is owed. Exact to a second, or to a quarter of `silence_max`.
  class Expectation {
   public:
    Expectation(Watchdog& watch, milliseconds silence_max) : watch_(watch) {
      watch_.expect(silence_max);
    }
    ~Expectation() { watch_.due_ = never; }
    Expectation(const Expectation&) = delete;
    Expectation& operator=(const Expectation&) = delete;

   private:
    Watchdog& watch_;
  };
  /// It was this watch that ended the connection.
  [[nodiscard]] bool ended_it() const { return ended_; }

 private:
  friend class Watchdogs;
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::rep never = Clock::duration::max().count();

  void expect(milliseconds silence_max);
  void check();
  void ask_and_judge(Clock::rep due);
  void end();

  int socket_;
  Question question_;
  std::atomic<Clock::rep> due_ = never;
  std::atomic<milliseconds::rep> silence_max_ = 0;
  std::atomic<bool> asking_ = false;
  std::atomic<bool> ended_ = false;
  std::jthread asks_;
};

}  // namespace seriatim::postgres
