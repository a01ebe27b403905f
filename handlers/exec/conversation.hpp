#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/child.hpp"
#include "exec/exec_config.hpp"
#include "seriatim/handler.hpp"

namespace seriatim::handlers {

/// A record as the child gets it, without the end of the line. `rest`: how many lines follow at
/// once; in batches only.
[[nodiscard]] std::string input_line(const Record& record, const ExecHandlerConfig& config,
                                     std::string_view rest);

/// One call's records on their way to a child and its answers on their way back.
class Conversation {
 public:
  Conversation(Child& child, const ExecHandlerConfig& config, std::span<const Record> batch,
               const CallContext& context);

  static constexpr std::size_t answer_bytes_max = 64 * 1024;

  /// Until all that was begun is answered, a record has failed, or the child has.
  void run();

  [[nodiscard]] std::size_t done() const { return done_; }
  /// What the child said of the record after these, where it is not done.
  [[nodiscard]] const std::optional<Outcome>& failure() const { return failure_; }
  [[nodiscard]] bool is_all_answered() const { return done_ == begun(); }
  /// Lines were begun behind the record that failed.
  [[nodiscard]] bool has_more_begun() const { return begun() > done_ + 1; }

  /// Why it cannot go on.
  enum class Trouble {
    none,
    gone,      ///< it ended, or closed its standard input or output
    protocol,  ///< it wrote what is no answer
  };
  [[nodiscard]] Trouble trouble() const { return trouble_; }
  /// Time was up: it was asked to end (and may have answered all the same).
  [[nodiscard]] bool is_late() const { return late_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Not late, gone or talking unasked.
  [[nodiscard]] bool is_fit_for_more() const {
    return trouble_ == Trouble::none && !late_ && answers_.empty();
  }
  /// It may have read something of the record after those done; asked once it is dead.
  [[nodiscard]] bool may_know_next() const;

 private:
  using Clock = Child::Clock;

  [[nodiscard]] bool is_over() const;
  [[nodiscard]] std::size_t begun() const { return begins_.size(); }
  [[nodiscard]] bool may_begin_next() const;
  void render();
  void write();
  void read();
  void take_lines();
  void take(std::string_view line);
  void breach(std::string problem);
  void step();
  /// That is, for what a child that has closed its input will never have.
  [[nodiscard]] bool waits_for_the_rest_of_a_line() const;
  void check_deadline();

  Child& child_;
  const ExecHandlerConfig& config_;
  std::span<const Record> batch_;
  const CallContext& context_;
  Clock::time_point terminate_at_;
  Clock::time_point kill_at_;

  std::vector<std::uint64_t> begins_;  ///< where each line begins, counted in bytes
  std::string to_write_;
  std::size_t to_write_at_ = 0;
  std::uint64_t written_ = 0;
  std::string answers_;
  std::size_t done_ = 0;
  std::optional<Outcome> failure_;
  bool late_ = false;
  Trouble trouble_ = Trouble::none;
  std::string problem_;
};

}  // namespace seriatim::handlers
