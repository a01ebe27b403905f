#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "simulation/receiver.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// People at the command line: pause, resume, retry, skip, rewind, and redrive or discard, each a
/// transaction of its own that waits until no call is in flight, and compares before it writes.
class Operators {
 public:
  Operators(Stage& stage, Server& server, Receiver& receiver)
      : stage_(stage), server_(server), receiver_(receiver) {}

  /// Random acts until the faults are over.
  void start();
  /// One act, as soon as no call is in flight.
  void act_once();
  /// From now on somebody sees to a lane that waits.
  void watch_act();

 private:
  struct Jump;
  using JumpPtr = std::shared_ptr<Jump>;

  void in_turn(std::function<void()> act, Micros deadline);
  void act();
  void pause_or_resume(const Cursor& row);
  void retry_or_skip(const Cursor& row);
  void mend_and_retry(const Cursor& row);
  void skip(const Cursor& row);
  void decide_on_parked();
  void redrive(const ParkedChoice& choice);
  void discard(const ParkedChoice& choice);
  [[nodiscard]] bool is_decided_on(const AsideStore::Row& row) const;
  void rewind(const Cursor& row);
  void go_back(const Position& from);

  // Forwards only once no row at or before the place can still be committed.
  void jump_when_settled(const JumpPtr& jump);
  void read_locks(const JumpPtr& jump);
  void jump(const JumpPtr& jump);
  void next(Micros delay, const JumpPtr& jump, void (Operators::*step)(const JumpPtr&));

  Stage& stage_;
  Server& server_;
  Receiver& receiver_;
  LeaseWatch watch_;
  std::map<std::string, Micros> redriven_at_;  ///< by row
};

}  // namespace seriatim::simulation
