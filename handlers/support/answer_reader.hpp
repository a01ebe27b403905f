#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "support/connection.hpp"

namespace seriatim::handlers {

/// How the request went.
struct Sending {
  bool any = false;     ///< a byte of it left
  bool whole = false;   ///< all of it did
  std::string problem;  ///< empty: none, or none that tells more than the reading end does
};

/// The answer to one request after another, whatever carries its bytes; and what became of the
/// exchange. Interim answers are passed over, a body is kept up to 64 KiB.
class AnswerReader {
 public:
  AnswerReader();
  ~AnswerReader();
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  void begin();  ///< of the next answer

  [[nodiscard]] std::span<char> room();  ///< for what arrives next
  void arrived(std::size_t bytes);       ///< so many were put there
  void closed();                         ///< nothing more will come
  void failed(const std::string& why);   ///< the same, and not by the receiver's leave

  /// Whole, cut at the cap, or broken: nothing is to be read any more.
  [[nodiscard]] bool ended() const;
  /// It ended as something that no further byte of the request could turn into success. An early
  /// "no" makes the rest of the request pointless; an early "yes" is not believed yet.
  [[nodiscard]] bool says_no() const;

  [[nodiscard]] Exchange judge(const Sending& sending);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace seriatim::handlers
