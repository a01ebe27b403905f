#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isolation/actors.hpp"
#include "isolation/spec.hpp"
#include "support/choices.hpp"

namespace seriatim::isolation {

/// A database with the spec's table, its sessions and a relay, kept for all permutations of one
/// order: each begins where the last one ended, with everything delivered.
class Stage {
 public:
  Stage(const Spec& spec, OrderBy order);
  ~Stage();

  const Spec& spec;
  const OrderBy order;
  testing::TestDatabase database;
  Gates gates;
  std::vector<std::unique_ptr<Actor>> actors;  ///< as the spec's sessions
  Relay* relay = nullptr;

  void reset();
  /// Delivers until all rows were, or nothing waits any more. Throws when neither comes.
  void drain();
  bool all_delivered();
  /// False when the audit has not found what was lost within its time.
  bool audit_halts();
  std::vector<Row> rows();
  std::vector<int> blockers_of(const Actor& actor);
};

/// One permutation: its steps, begun one after another. A step that has to wait for another session
/// is left waiting, and its session takes no further step before it is done.
class Permutation {
 public:
  explicit Permutation(Stage& stage);

  /// Every way on is one of `choices`; ends when no session has a step left.
  void run(testing::Choices& choices);
  void run(const std::vector<std::string>& steps);

  /// A line a step, with what it said.
  [[nodiscard]] const std::string& log() const { return log_; }
  [[nodiscard]] const std::vector<std::string>& steps() const { return steps_; }

 private:
  struct Place {  ///< of a session in its steps
    std::size_t next = 0;
    std::string step;  ///< in flight
    bool waits = false;
  };

  [[nodiscard]] const Step* next_step(std::size_t session) const;
  [[nodiscard]] bool may_step(std::size_t session) const;
  void step(std::size_t session, std::size_t alternative);
  void begin(Actor& actor, const std::string& work);
  void settle(std::size_t stepping);
  bool is_moving(std::size_t session, bool stepping);
  void say(const std::string& text) { log_ += text; }

  Stage& stage_;
  std::vector<Place> places_;
  std::vector<std::string> steps_;
  std::string log_;
  std::map<std::size_t, std::string> done_;  ///< by session, and not yet said
};

struct Verdict {
  unsigned permutations = 0;
  unsigned losing = 0;                   ///< of them, how many lost a row (blind specs)
  std::optional<std::string> complaint;  ///< what is wrong, where, and how to see it again
};

/// Every permutation of the spec in one order, judged.
[[nodiscard]] Verdict run_spec(const Spec& spec, OrderBy order);

}  // namespace seriatim::isolation
