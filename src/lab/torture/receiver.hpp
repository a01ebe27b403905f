#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lab/judge/evidence.hpp"

namespace seriatim::torture {

using lab::Call;
using lab::hash_of;

/// The webhook receiver of a run, on a free loopback port: it notes every call and answers 200
/// mostly, 500 now and then, and sometimes not at all. Path "/N" or "/N/KEY" is stream N.
///
/// A call counts as accepted when it was processed, whether or not its answer is sent: what a
/// receiver did is what is judged.
/// Threads: those of an HttpService; members may be called from any.
class Receiver {
 public:
  struct Options {
    std::uint64_t seed = 1;
    unsigned streams = 1;
    /// Now and then a call is accepted and its answer withheld: repeats are then due.
    bool loses_answers = false;
    bool takes_time = false;    ///< each call some milliseconds, so that several are under way
    bool refuses_keys = false;  ///< some keys for a while, those of paths "/N/KEY"
    std::chrono::milliseconds silence{3'000};  ///< of a call that gets no answer, then it is closed
  };
  explicit Receiver(const Options& options);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  [[nodiscard]] std::uint16_t port() const;

  /// While held, calls are noted and accepted, and their answers wait for the end of the hold.
  void hold(bool held);
  [[nodiscard]] std::size_t held_calls() const;
  /// While so, every call is answered with 500.
  void refuse_all(bool refusing);

  /// Calls of one stream, in the order they began.
  [[nodiscard]] std::vector<Call> calls(unsigned stream) const;
  /// Distinct rows accepted of one stream, repeats not counted.
  [[nodiscard]] std::size_t delivered(unsigned stream) const;
  [[nodiscard]] std::size_t call_count() const;
  /// Calls whose answer was begun.
  [[nodiscard]] std::size_t answered() const;
  /// Accepted calls whose answer was withheld, by lane.
  [[nodiscard]] std::map<unsigned, std::size_t> answers_lost(unsigned stream) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Monotonic nanoseconds, as in Call.
[[nodiscard]] std::int64_t monotonic_now();

}  // namespace seriatim::torture
