#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace seriatim {

/// What happened to one record. An expected failure is a value, never an exception.
struct Outcome {
  enum class Kind {
    done,         ///< the receiver has it
    retry_later,  ///< it may work later: same row again, nothing overtakes it
    poison,       ///< it will never work as it is: the lane halts (`on_poison`)
    unknown,      ///< sent, but the answer was lost (`on_unknown`)
  };

  Kind kind = Kind::done;
  /// For a person: what the receiver said, e.g. "HTTP 422: number not in service". Kept in the
  /// database and in logs, so it must hold no secret and no payload; cut to `reason_bytes_max`.
  std::string reason;
  /// The receiver's own wish (Retry-After); the lane waits at least this long, up to its cap.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Only with `unknown`: the lane halts (UNKNOWN_OUTCOME), also if `on_unknown` is "retry".
  bool must_halt = false;

  static constexpr std::size_t reason_bytes_max = 500;

  [[nodiscard]] static Outcome done() { return {}; }
  [[nodiscard]] static Outcome retry_later(
      std::string why, std::optional<std::chrono::milliseconds> after = std::nullopt) {
    return {Kind::retry_later, std::move(why), after};
  }
  [[nodiscard]] static Outcome poison(std::string why) {
    return {Kind::poison, std::move(why), {}};
  }
  [[nodiscard]] static Outcome unknown(std::string why) {
    return {Kind::unknown, std::move(why), {}};
  }
  /// For a receiver that seems to get every request but whose answers cannot be read. Another
  /// attempt would only make it act once more.
  [[nodiscard]] static Outcome unknown_and_halt(std::string why) {
    return {Kind::unknown, std::move(why), {}, true};
  }

  [[nodiscard]] bool is_done() const { return kind == Kind::done; }
};

[[nodiscard]] constexpr const char* to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::done: return "done";
    case Outcome::Kind::retry_later: return "retry";
    case Outcome::Kind::poison: return "poison";
    case Outcome::Kind::unknown: return "unknown";
  }
  return "?";
}

/// A handler's answer for a batch: how many leading records are done, and what happened to the
/// next one. If `next` is empty, the other records were not attempted, because a stop or a yield
/// was requested. If none is done either and no stop was requested, the first is tried again later.
/// `done` is at most the number of records. `next` is about a record that is left over, so it needs
/// one, and is never `Kind::done`.
struct BatchOutcome {
  std::size_t done = 0;
  std::optional<Outcome> next;
};

}  // namespace seriatim
