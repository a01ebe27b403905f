#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace seriatim::testing {

/// Every way through a program that asks `pick` wherever it could go on in more than one way: run
/// it, ask `next`, run it from the start again, until there is no next. A small space is exhausted
/// so, without one line about its shape.
class Choices {
 public:
  /// One of 0 … options - 1. The program asks the same questions as long as the answers are the
  /// same; it is an error (std::logic_error) when it does not.
  std::size_t pick(std::size_t options) {
    if (at_ == path_.size()) path_.push_back({0, options});
    const auto& choice = path_[at_++];
    if (choice.options != options) throw std::logic_error("the same way asked other questions");
    return choice.taken;
  }

  /// Turns to the next way; false when all were gone. Choices the last run did not reach are none.
  bool next() {
    path_.resize(at_);
    while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    at_ = 0;
    return true;
  }

  /// The same way from its start.
  [[nodiscard]] Choices again() const {
    auto same = *this;
    same.at_ = 0;
    return same;
  }

  /// The present way, for a failing test to print.
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& choice : path_) all += (all.empty() ? "" : " ") + std::to_string(choice.taken);
    return all;
  }

 private:
  struct Choice {
    std::size_t taken;
    std::size_t options;
  };
  std::vector<Choice> path_;
  std::size_t at_ = 0;
};

}  // namespace seriatim::testing
