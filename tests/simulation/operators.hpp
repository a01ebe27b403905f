#pragma once

#include "simulation/receiver.hpp"
#include "simulation/server.hpp"

namespace seriatim::simulation {

/// People at the command line: pause, resume, retry, skip, each a transaction of its own that
/// waits for the cursor row and looks at it before it writes.
class Operators {
 public:
  Operators(Stage& stage, Server& server, Receiver& receiver)
      : stage_(stage), server_(server), receiver_(receiver) {}

  /// Random acts until the faults are over.
  void start();
  /// One act, as soon as the cursor row is not locked.
  void act_once();
  /// From now on somebody looks after a lane that stands still.
  void look_after();

 private:
  void act();
  void pause_or_resume(const Cursor& row);
  void retry_or_skip(const Cursor& row);
  void mend_and_retry(const Cursor& row);
  void skip(const std::string& row_id);

  Stage& stage_;
  Server& server_;
  Receiver& receiver_;
};

}  // namespace seriatim::simulation
