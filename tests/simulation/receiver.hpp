#pragma once

#include <map>

#include "seriatim/record.hpp"
#include "simulation/stage.hpp"

namespace seriatim::simulation {

/// The other side: takes rows one by one, writes down each, answers as it pleases.
class Receiver {
 public:
  explicit Receiver(Stage& stage) : stage_(stage) {}

  struct Answer {
    Outcome outcome;
    bool thrown = false;  ///< the handler throws instead of answering
    Micros takes = 0;
  };

  /// Row `place` of a call that `relay` began then.
  Answer take(unsigned relay, Micros call_begun, std::size_t place, const Record& record);

  /// The operator had the row's trouble fixed at the receiver.
  void fix(const std::string& id) { poisonous_[id] = false; }
  [[nodiscard]] bool is_poisonous(const std::string& id);

 private:
  Answer decide(const Record& record);
  Micros duration();

  Stage& stage_;
  std::map<std::string, bool> poisonous_;
};

}  // namespace seriatim::simulation
